// The cube root of m 2^(3 k + j) is that of m, times that of 2^j, times 2^k.
#define SINGLE
#include "common.h"

float cbrtf(float x) {
  float size = __builtin_fabsf(x);
  int is_small = size < 0x1p-126f;
  u32 ix = bits(is_small ? size * 0x1p24f : size);
  // Biased by 150, so that the dividend is not negative.
  u32 e = (ix >> 23) - 127 + 150 - (is_small ? 24 : 0);
  u32 k = e * 43691u >> 17; // a third
  u32 j = e - 3 * k;
  double m = real_of((ix & 0x7fffff) | 0x3f800000u);
  double z = m - 1.5;
  double root = CBRT_30(z) * (j == 0 ? 1.0 : j == 1 ? CBRT_2 : CBRT_4);
  float result = (float)root * real_of((k - 50 + 127) << 23);
  int is_itself = (size == 0.0f) | !(size < INF);
  result = is_itself ? size : result;
  return __builtin_copysignf(result, x);
}
