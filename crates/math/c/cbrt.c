// The cube root of m 2^(3 k): a polynomial for m^(-1/3), one Newton step for it, and one for the root itself.
#include "common.h"

double cbrt(double x) {
  double size = __builtin_fabs(x);
  int is_small = size < LEAST_NORMAL;
  u64 ix = bits(is_small ? size * 0x1p54 : size);
  // Biased by 1200, so that the dividend is not negative.
  u32 e = (u32)(ix >> 52) - 1023 + 1200 - (is_small ? 54 : 0);
  u32 k = e * 43691u >> 17; // a third
  u32 j = e - 3 * k;
  double m = real_of((ix & 0xfffffffffffff) | 0x3ff0000000000000);
  double z = m - 1.5;
  double root = INVERSE_CBRT(z) * (j == 0 ? 1.0 : j == 1 ? INVERSE_CBRT_2 : INVERSE_CBRT_4);
  m *= (double)(1u << j);
  root = FMA(root * THIRD, FMA(-m * root, root * root, 1.0), root);
  double y = m * root * root;
  double square = y * y;
  double rest = FMA(-square, y, m) - FMA(y, y, -square) * y;
  y = FMA(rest * THIRD, root * root, y);
  double result = y * real_of((u64)(k - 400 + 1023) << 52);
  int is_itself = (size == 0.0) | !(size < INF);
  result = is_itself ? size : result;
  return __builtin_copysign(result, x);
}
