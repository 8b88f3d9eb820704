// Bodies of any control flow: branches, inner loops that diverge, breaks, `goto`, Duff's device, several exits of inner
// loops, `switch`.
#include <stdio.h>

enum { MOST = 75 };

__attribute__((noinline)) void collatz(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    unsigned v = (unsigned)in[i] + 1;
    int steps = 0;
    while (v != 1) {
      v = v & 1 ? 3 * v + 1 : v / 2;
      steps++;
    }
    out[i] = steps;
  }
}

__attribute__((noinline)) void search(int *out, const int *in, const int *table, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int found = -1;
    for (int k = 0; k < 20; k++) {
      if (table[k] == in[i]) {
        found = k;
        break;
      }
      if (table[k] < 0)
        continue;
      if (table[k] > 95) {
        found = -k;
        break;
      }
    }
    out[i] = found;
  }
}

__attribute__((noinline)) void several_ways(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int v = in[i];
    for (;;) {
      if (v > 500)
        goto large;
      if (v % 7 == 3)
        goto seven;
      for (int k = 0; k < v; k += 9)
        if (k * k > v + 40)
          goto square;
      v = v * 2 + 1;
    }
  large:
    out[i] = v;
    continue;
  seven:
    out[i] = -v;
    continue;
  square:
    out[i] = v * 1000;
  }
}

__attribute__((noinline)) void duff(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int count = in[i] % 23 + 1, sum = 0, rounds = (count + 7) / 8;
    switch (count % 8) {
    case 0:
      do {
        sum += 1;
      case 7:
        sum += 20;
      case 6:
        sum ^= 3;
      case 5:
        sum += 5;
      case 4:
        sum *= 3;
      case 3:
        sum -= 7;
      case 2:
        sum += in[i];
      case 1:
        sum += 2;
      } while (--rounds > 0);
    }
    out[i] = sum;
  }
}

__attribute__((noinline)) void two_entries(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int v = in[i], k = 0;
    if (v & 1)
      goto middle;
  top:
    v += 3;
    k++;
  middle:
    v = v * 5 % 97;
    if (k < 10 && v > 20) {
      k++;
      goto top;
    }
    if (k < 5) {
      k += 2;
      goto middle;
    }
    out[i] = v * 100 + k;
  }
}

__attribute__((noinline)) void choose(float *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float v = (float)in[i];
    switch (in[i] % 6) {
    case 0: out[i] = v / 4; break;
    case 1: out[i] = v * v; // falls through
    case 2: out[i] = v + 1; break;
    case 4: continue;
    default: out[i] = -v;
    }
  }
}

// The compiler knows that there is no other case, and adds an exit of the loop that is never taken.
__attribute__((noinline)) void all_cases(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int v = in[i], k = 0;
    do {
      switch (v & 3) {
      case 0:
        v += 5;
        break;
      case 1:
        v = v * 3 + k;
        break;
      case 2:
        v ^= 33;
        break;
      case 3:
        v -= k;
        break;
      default:
        __builtin_unreachable();
      }
      if (v < -100000)
        __builtin_unreachable();
    } while (k++ < (in[i] & 7));
    out[i] = v;
  }
}

int main(void) {
  static int in[MOST], out[MOST], table[20];
  static float real[MOST];
  for (int i = 0; i < MOST; i++)
    in[i] = i * 37 % 101;
  for (int i = 0; i < 20; i++)
    table[i] = i * 29 % 97 - (i % 3 == 0);
  unsigned hash = 0;
  for (int n = 0; n <= MOST; n++) {
#define RUN(call)                                                                                                       \
  call;                                                                                                                \
  for (int i = 0; i < MOST; i++)                                                                                       \
  hash = hash * 31 + (unsigned)out[i]
    RUN(collatz(out, in, n));
    RUN(search(out, in, table, n));
    RUN(several_ways(out, in, n));
    RUN(duff(out, in, n));
    RUN(two_entries(out, in, n));
    choose(real, in, n);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)(int)(real[i] * 4);
    printf("%u\n", hash);
  }
}
