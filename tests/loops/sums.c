// Sums of floats in another order: of partial sums, so off by no more than the loop may be, (n - 1) eps times the sum of sizes.
#include <float.h>
#include <math.h>
#include <stdio.h>

enum { MOST = 5000 };

__attribute__((noinline)) float sum(const float *a, int n) {
  float s = 0;
#pragma omp simd reduction(+ : s)
  for (int i = 0; i < n; i++)
    s += a[i];
  return s;
}

__attribute__((noinline)) double product_sum(const double *a, const double *b, int n) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}

__attribute__((noinline)) float some_difference(const float *a, int n) {
  float s = 0;
#pragma omp simd reduction(- : s)
  for (int i = 0; i < n; i++)
    if (a[i] > 0)
      s -= a[i];
  return s;
}

__attribute__((noinline)) float product(const float *a, int n) {
  float p = 1;
#pragma omp simd reduction(* : p)
  for (int i = 0; i < n; i++)
    p *= 1 + a[i] / 4096;
  return p;
}

static void judge(const char *what, int n, long double found, long double truth, long double bound) {
  if (fabsl(found - truth) > bound)
    printf("%s of %d: %.20Lg, should be %.20Lg\n", what, n, found, truth);
}

int main(void) {
  static float a[MOST];
  static double b[MOST], c[MOST];
  unsigned state = 1;
  for (int i = 0; i < MOST; i++) {
    state = state * 1664525 + 1013904223;
    a[i] = (float)(int)state * 0x1p-31f * (float)(1 << state % 11);
    b[i] = (double)(int)(state * 747796405) * 0x1p-31;
    c[i] = 1 / (double)(i + 1);
  }
  for (int n = 1; n <= MOST; n += 1 + n / 7) {
    long double all = 0, sizes = 0, products = 0, product_sizes = 0, positive = 0, factors = 1;
    for (int i = 0; i < n; i++) {
      all += a[i];
      sizes += fabsl(a[i]);
      products += (long double)b[i] * c[i];
      product_sizes += fabsl((long double)b[i] * c[i]);
      positive += a[i] > 0 ? a[i] : 0;
      factors *= 1 + a[i] / 4096;
    }
    judge("sum", n, sum(a, n), all, n * (long double)FLT_EPSILON * sizes);
    judge("sum of products", n, product_sum(b, c, n), products, (n + 1) * (long double)DBL_EPSILON * product_sizes);
    judge("difference", n, some_difference(a, n), -positive, n * (long double)FLT_EPSILON * positive);
    judge("product", n, product(a, n), factors, n * (long double)FLT_EPSILON * fabsl(factors) * 1.01L);
  }
  printf("all is within bounds\n");
}
