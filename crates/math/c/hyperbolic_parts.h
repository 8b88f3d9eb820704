// Shared by hyperbolic functions: for x = n log 2 + r, A and B are the sum and difference of 2^n / 4 and 2^-n / 4,
// sinh x / 2 = A sinh r + B cosh r and cosh x / 2 = A cosh r + B sinh r, each as a sum of two floats.
#include "common.h"

struct two {
  real high, low;
};

struct hyperbolic {
  struct two sinh, cosh;
  // sinh x where n is 0.
  real near;
  int is_near;
};

// a + (r + t) b + w a, where a is greater than r b, and both are sums of two floats.
INLINE struct two combined(struct two a, struct two b, real r, real t, real w) {
  real high = fma_of(r, b.high, a.high);
  real low = fma_of(r, b.high, a.high - high) + fma_of(r, b.low, a.low + fma_of(t, b.high, w * a.high));
  struct two sum = {high + low, low - ((high + low) - high)};
  return sum;
}

INLINE struct hyperbolic hyperbolic(real size) {
  real shifted = fma_of(size, K(LOG2E), ROUNDER);
  real n = shifted - ROUNDER;
  real first = fma_of(n, -K(LN2_0), size);
  real r = fma_of(n, -K(LN2_1), first);
  real z = r * r;
  real t = fma_of(r * z, K(SINH_POLY)(z), fma_of(n, -K(LN2_1), first - r));
  real w = z * K(COSH_POLY)(z);
  real p = power(bits(shifted) - 2);
  real q = n > 2 * MANTISSA ? 0 : power(0 - bits(shifted) - 2);
  struct two a = {p + q, (p - (p + q)) + q}, b = {p - q, (p - (p - q)) - q};
  struct hyperbolic both = {
      combined(b, a, r, t, w),
      combined(a, b, r, t, w),
      r + t,
      n == 0,
  };
  return both;
}
