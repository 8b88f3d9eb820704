// Shared by inverse functions: a quotient or root as a sum of two floats, and angles as such sums.
#include "common.h"

// atan(q + low) - q, for |q| <= 1: the slope, 1 / (1 + q^2), is nearly 1 - q^2 / 2.
INLINE real atan_tail(real q, real low) {
  real z = q * q;
  real slope = q * K(ATAN_POLY)(z);
  real rest = fma_of(fma_of(q, q, -z), slope, fma_of(z, -HALF * low, low));
  return fma_of(z, slope, rest);
}

// (base_high + base_low) + (a + tail), where |base| >= |a| or it is 0.
INLINE real angle_sum(real base_high, real base_low, real a, real tail) {
  real sum = base_high + a;
  return sum + ((a - (sum - base_high)) + (base_low + tail));
}

// The angle of (x, y) without the steps that only the last bits need.
INLINE real quick_angle(real y, real x) {
  real size_x = BUILTIN(fabs)(x), size_y = BUILTIN(fabs)(y);
  int is_steep = size_y > size_x;
  real least = is_steep ? size_x : size_y, most = is_steep ? size_y : size_x;
  real q = least / most;
  // Two zeros or infinities, or a NaN.
  if (RARE(q != q)) q = least == most ? (most == 0 ? 0 : ONE) : q;
  real z = q * q;
  real a = fma_of(q * z, K(ATAN_QUICK)(z), q);
  a = is_steep ? K(RIGHT_ANGLE_0) - a : a;
  a = bits(x) >= SIGN ? K(PI_SPLIT_0) - a : a;
  return BUILTIN(copysign)(a, y);
}

// The root of (1 - |x|) / 2, and the correction from the rounded to the exact root's arc sine.
struct half_angle {
  real root, tail;
};

INLINE struct half_angle half_angle(real size) {
  struct half_angle half;
  real z = fma_of(-HALF, size, HALF);
  half.root = BUILTIN(sqrt)(z);
#ifdef FAST
  half.tail = half.root * z * K(ASIN_POLY)(z);
  return half;
#endif
  real low = fma_of(-half.root, half.root, z) * (HALF / half.root);
  low = half.root == 0 ? 0 : low;
  half.tail = fma_of(half.root * z, K(ASIN_POLY)(z), low);
  return half;
}
