// Loops that nobody says to be free of dependences: proofs, questions before the loop, refusals.
#include <stdio.h>
#include <string.h>

enum { MOST = 200 };

__attribute__((noinline)) int overlap(int *out, const int *in, int n) {
  int s = 0;
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++) {
    out[i] = in[i] * 2;
    s += in[i];
  }
  return s;
}

__attribute__((noinline)) void behind(int *a, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 1; i < n; i++)
    a[i] = a[i - 1] + 3;
}

__attribute__((noinline)) void far_behind(int *a, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 5; i < n; i++)
    a[i] = a[i - 5] + 3;
}

__attribute__((noinline)) void ahead(int *a, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    a[i] = a[i + 1] * 2;
}

__attribute__((noinline)) void histogram(int *counts, const int *in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    counts[in[i]]++;
}

__attribute__((noinline)) void one_place(int *at, const int *in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++) {
    *at = in[i];
    if (in[i] & 4)
      *at = -in[i];
  }
}

__attribute__((noinline)) int recurrence(const int *in, int n) {
  int v = 1;
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    v = v * 3 + in[i];
  return v;
}

__attribute__((noinline)) int first(const int *in, int n) {
#pragma clang loop vectorize(assume_safety)
  for (int i = 0; i < n; i++)
    if (in[i] == 77)
      return i;
  return -1;
}

__attribute__((noinline)) void unknown_count(int *a) {
#pragma clang loop vectorize(assume_safety)
  for (int i = 0; a[i] > 0; i++)
    a[i] -= 1;
}

__attribute__((noinline)) void volatile_store(volatile int *a, int n) {
#pragma clang loop vectorize(assume_safety)
  for (int i = 0; i < n; i++)
    a[i] = i;
}

int main(void) {
  static int a[MOST + 8], b[MOST + 8], counts[MOST];
  unsigned hash = 0;
  for (int n = 0; n < MOST; n += 1 + n / 9) {
    for (int i = 0; i < MOST + 8; i++) {
      a[i] = i * 37 % 101;
      b[i] = i * 11 % 89;
    }
    memset(counts, 0, sizeof counts);
    int s = overlap(b, a, n) + overlap(a + 1, a, n > 100 ? 100 : n) + overlap(a, a + 3, n);
    behind(b, n), far_behind(b, n), ahead(a, n);
    for (int i = 0; i < MOST; i++)
      a[i] &= 127;
    histogram(counts, a, n);
    one_place(&counts[3], b, n);
    s += recurrence(b, n) + first(a, n);
    a[MOST - 1] = 0;
    unknown_count(a);
    volatile_store(b + 3, n);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)(a[i] + b[i] * 7 + counts[i] * 49);
    printf("%d %u\n", s, hash);
  }
}
