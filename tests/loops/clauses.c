// Each clause of `omp simd`, with trip counts around whole numbers of vectors.
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 70 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

__attribute__((noinline)) void plain(float *restrict out, const float *in, int n) {
#pragma omp simd // PLAIN
  for (int i = 0; i < n; i++)
    out[i] = in[i] * 2 + out[i];
}

__attribute__((noinline)) void simdlen_4(double *out, const float *in, int n) {
#pragma omp simd simdlen(4)
  for (int i = 0; i < n; i++)
    out[i] = in[i] + i;
}

__attribute__((noinline)) void simdlen_16(short *out, const int *in, int n) {
#pragma omp simd simdlen(16)
  for (int i = 0; i < n; i++)
    out[i] = (short)(in[i] * 3);
}

__attribute__((noinline)) void safelen_4(int *out, int n) {
#pragma omp simd safelen(4)
  for (int i = 4; i < n; i++)
    out[i] = out[i - 4] + i;
}

__attribute__((noinline)) void linear_step(int *out, int n) {
  int k = 5;
#pragma omp simd linear(k : 3)
  for (int i = 0; i < n; i++) {
    out[i] = k * i;
    k += 3;
  }
  out[n] = k;
}

__attribute__((noinline)) void linear_pointer(int *out, const int *in, int n) {
  const int *p = in;
#pragma omp simd linear(p : 1)
  for (int i = 0; i < n; i++) {
    out[i] = *p + 7;
    p++;
  }
}

__attribute__((noinline)) int private_and_last(int *out, const int *in, int n) {
  int t = 0, last = -1;
#pragma omp simd private(t) lastprivate(last)
  for (int i = 0; i < n; i++) {
    t = in[i] * 3;
    last = t - i;
    out[i] = t ^ i;
  }
  return last;
}

__attribute__((noinline)) void private_array(int *out, const int *in, int n) {
  int t[8];
#pragma omp simd private(t)
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 8; k++)
      t[k] = in[i] * k;
    out[i] = t[in[i] & 7] + t[(in[i] >> 3) & 7];
  }
}

__attribute__((noinline)) void own_array(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    unsigned char digits[16];
    int count = 0;
    for (unsigned v = (unsigned)in[i]; v; v /= 10)
      digits[count++] = (unsigned char)(v % 10);
    int back = 0;
    while (count)
      back = back * 3 + digits[--count];
    out[i] = back;
  }
}

__attribute__((noinline)) void collapsed(int *out, int n, int m) {
#pragma omp simd collapse(2)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      out[i * m + j] = i * 100 + j;
}

__attribute__((noinline)) void guarded(int *out, const int *in, int n, int is_long) {
#pragma omp simd if (is_long)
  for (int i = 0; i < n; i++)
    out[i] = in[i] - i;
}

__attribute__((noinline)) void aligned_to(float *out, const float *in, int n) {
#pragma omp simd aligned(out, in : 64)
  for (int i = 0; i < n; i++)
    out[i] = in[i] * in[i];
}

__attribute__((noinline)) void nontemporal_store(int *out, const int *in, int n) {
#pragma omp simd nontemporal(out)
  for (int i = 0; i < n; i++)
    out[i] = in[i] * 5;
}

__attribute__((noinline)) void assumed_safe(int *out, const int *in, const int *where, int n) {
#pragma clang loop vectorize(assume_safety)
  for (int i = 0; i < n; i++)
    out[where[i]] += in[i];
}

int main(void) {
  static float f[MOST + 8] __attribute__((aligned(64))), g[MOST + 8] __attribute__((aligned(64)));
  static double d[MOST + 8];
  static int a[MOST + 8], b[MOST * 8], where[MOST + 8];
  static short s[MOST + 8];
  for (int n = 0; n <= MOST; n++) {
    for (int i = 0; i < MOST; i++) {
      f[i] = (float)(i % 13);
      g[i] = (float)(i % 7) - 3;
      a[i] = i * 37 % 101;
      where[i] = (i * 3) % MOST;
    }
    plain(f, g, n), eat(f, sizeof f);
    simdlen_4(d, g, n), eat(d, sizeof d);
    simdlen_16(s, a, n), eat(s, sizeof s);
    safelen_4(a, n), eat(a, sizeof a);
    linear_step(b, n), eat(b, sizeof b);
    linear_pointer(b, a, n), eat(b, sizeof b);
    printf("%d ", private_and_last(b, a, n)), eat(b, sizeof b);
    private_array(b, a, n), eat(b, sizeof b);
    own_array(b, a, n), eat(b, sizeof b);
    collapsed(b, n / 8, 5), eat(b, sizeof b);
    guarded(b, a, n, n > 20), eat(b, sizeof b);
    aligned_to(g, f, n), eat(g, sizeof g);
    nontemporal_store(b, a, n), eat(b, sizeof b);
    assumed_safe(b, a, where, n), eat(b, sizeof b);
    printf("%u\n", hash);
  }
}
