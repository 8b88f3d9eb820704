// Nests that `collapse` makes one loop of, and loops that divide their counter themselves: rows of all lengths, the last one cut off.
#include <stdio.h>

enum { MOST = 5000 };
static int out[MOST], in[MOST];

__attribute__((noinline)) void fill(int n, int m) {
#pragma omp simd collapse(2)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      out[i * m + j] = in[j] * 100 + i;
}

__attribute__((noinline)) void cube(unsigned n, unsigned m, unsigned k) {
#pragma omp simd collapse(3)
  for (unsigned a = 0; a < n; a++)
    for (unsigned b = 1; b <= m; b++)
      for (unsigned c = 0; c < k; c += 2)
        out[(a * m + b) * k + c] = (int)(a * 10000 + b * 100 + c);
}

__attribute__((noinline)) long sum(int n, int m, int *last) {
  long s = 0;
  int kept = -1;
#pragma omp simd collapse(2) reduction(+ : s) lastprivate(kept)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      kept = in[i + j] - i;
      s += kept ^ j;
    }
  *last = kept;
  return s;
}

__attribute__((noinline)) int divided(int n, int by) {
  int k = 3;
#pragma omp simd linear(k : 2)
  for (int i = 0; i < n; i++) {
    out[i] = i / by * 1000 + i % by + k;
    k += 2;
  }
  return k;
}

__attribute__((noinline)) void fixed(int n) {
#pragma omp simd
  for (unsigned i = 0; i < (unsigned)n; i++)
    out[i] = (int)(i / 48 * 1000 + i % 48);
}

__attribute__((noinline)) void both_signs(int n, int by) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = i % by + (int)((unsigned)i / (unsigned)by) * 3;
}

// Nothing is divided where the divisor is 0.
__attribute__((noinline)) void tested(int n, int by) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = in[i] & 4 && by ? i / by : -i;
}

int main(void) {
  unsigned hash = 0;
  for (int i = 0; i < MOST; i++)
    in[i] = i * 37 % 101;
#define RUN(call)                                                                                                      \
  call;                                                                                                                \
  for (int i = 0; i < MOST; i++)                                                                                       \
  hash = hash * 31 + (unsigned)out[i]
  for (int m = 0; m <= 70; m += 1 + m / 4) {
    for (int n = 0; n < 9; n += 1 + n / 3) {
      int last;
      RUN(fill(n, m));
      RUN(cube((unsigned)n, 3, (unsigned)m));
      long s = sum(n, m, &last);
      RUN(printf("%ld %d %d ", s, last, divided(n * 90 + m, m + 1)));
      RUN(divided(n * 90 + m, -m - 1));
      RUN(fixed(n * 50 + m));
      RUN(both_signs(n * 90 + m, m + 1));
      RUN(tested(n * 90, m - 3));
    }
    printf("%u\n", hash);
  }
}
