// Reductions of each kind. Floats are small integers, so any order of additions gives the same.
#include <stdio.h>

enum { MOST = 70 };

#define REDUCE(name, type, op, start, body)                                                                            \
  __attribute__((noinline)) type name(const int *a, const float *f, int n) {                                            \
    type s = start;                                                                                                    \
    _Pragma(op) for (int i = 0; i < n; i++) { body; }                                                                  \
    return s;                                                                                                          \
  }

REDUCE(sum, int, "omp simd reduction(+ : s)", 11, s += a[i] * 3)
REDUCE(long_sum, long, "omp simd reduction(+ : s)", 11, s += a[i])
REDUCE(float_sum, float, "omp simd reduction(+ : s)", 2, s += f[i])
REDUCE(double_sum, double, "omp simd reduction(+ : s)", 2, s += f[i] * f[i])
REDUCE(difference, int, "omp simd reduction(- : s)", 11, s -= a[i])
REDUCE(product, unsigned, "omp simd reduction(* : s)", 3, s *= (unsigned)a[i] | 1)
REDUCE(least, int, "omp simd reduction(min : s)", 50, s = a[i] < s ? a[i] : s)
REDUCE(greatest, int, "omp simd reduction(max : s)", -5, s = a[i] > s ? a[i] : s)
REDUCE(least_unsigned, unsigned, "omp simd reduction(min : s)", 99, s = (unsigned)a[i] < s ? (unsigned)a[i] : s)
REDUCE(least_float, float, "omp simd reduction(min : s)", 50, s = f[i] < s ? f[i] : s)
REDUCE(greatest_float, double, "omp simd reduction(max : s)", -50, if (f[i] > s) s = f[i])
REDUCE(bits_and, unsigned, "omp simd reduction(& : s)", ~0u, s &= (unsigned)a[i] | 0x80)
REDUCE(bits_or, unsigned, "omp simd reduction(| : s)", 1, s |= (unsigned)a[i])
REDUCE(bits_xor, unsigned, "omp simd reduction(^ : s)", 1, s ^= (unsigned)a[i] << (i & 7))
REDUCE(all, int, "omp simd reduction(&& : s)", 1, s = s && a[i] < 90)
REDUCE(some, int, "omp simd reduction(|| : s)", 0, s = s || a[i] == 77)
REDUCE(some_sum, int, "omp simd reduction(+ : s)", 0, if (a[i] & 1) s += a[i]; else if (a[i] & 2) s -= 5)
REDUCE(nested_sum, int, "omp simd reduction(+ : s)", 0, for (int k = a[i] & 7; k; k--) s += k * i)
REDUCE(count, long, "clang loop vectorize(enable)", 0, s += a[i] > 20)

__attribute__((noinline)) void two(const int *a, int n, int *sums) {
  int s = 0, most = 0;
#pragma omp simd reduction(+ : s) reduction(max : most)
  for (int i = 0; i < n; i++) {
    s += a[i];
    most = most > a[i] ? most : a[i];
  }
  sums[0] = s;
  sums[1] = most;
}

int main(void) {
  static int a[MOST], sums[2];
  static float f[MOST];
  for (int i = 0; i < MOST; i++) {
    a[i] = i * 37 % 101;
    f[i] = (float)(i * 7 % 23) - 9;
  }
  for (int n = 0; n <= MOST; n++) {
    printf("%d %ld %g %g %d ", sum(a, f, n), long_sum(a, f, n), float_sum(a, f, n), double_sum(a, f, n),
           difference(a, f, n));
    printf("%u %d %d %u %g %g ", product(a, f, n), least(a, f, n), greatest(a, f, n), least_unsigned(a, f, n),
           least_float(a, f, n), greatest_float(a, f, n));
    printf("%x %x %x %d %d ", bits_and(a, f, n), bits_or(a, f, n), bits_xor(a, f, n), all(a, f, n), some(a, f, n));
    printf("%d %d %ld ", some_sum(a, f, n), nested_sum(a, f, n), count(a, f, n));
    two(a, n, sums);
    printf("%d %d\n", sums[0], sums[1]);
  }
}
