// x^y = 2^(y log2 |x|), the logarithm and the product in f64, and a sign.
#define SINGLE
#include "log_parts.h"

// |x|^y.
INLINE float power_of_size(float size, float y) {
  float f_f;
  double e = split_any(size, &f_f);
  double f = f_f;
  double log2 = FMA(f, LOG2_33(f), e);
  log2 = size == 0.0f ? -INF : size < INF ? log2 : size;
  double power = clamp_d(y * log2, -151.0, 129.0);
  double n = power + ROUNDER_D - ROUNDER_D;
  float r = (float)(power - n);
  return scaled(FMAF(r, EXP2_POLY_F(r), 1.0f), (float)n + ROUNDER);
}

// The sign, and the numbers whose power does not depend on the other one.
INLINE float with_edges(float result, float x, float y) {
  float size = __builtin_fabsf(x);
  int is_whole = __builtin_truncf(y) == y;
  int is_odd = is_whole & (__builtin_truncf(0.5f * y) != 0.5f * y);
  int is_root_of_negative = (x < 0.0f) & (size != INF) & !is_whole;
  result = is_root_of_negative ? NOT_A_NUMBER : result;
  u32 sign = is_odd ? bits(x) & 0x80000000u : 0;
  result = real_of(bits(result) | sign);
  int is_one = (x == 1.0f) | (y == 0.0f) | ((size == 1.0f) & (__builtin_fabsf(y) == INF));
  return is_one ? 1.0f : result;
}

// |x|^y for normal numbers whose power is normal; `power` is y log |x|, about. The logarithm and the product are sums
// of two floats: log(1 + f) = 2 s + s^3 z(s^2), where s = f / (2 + f).
INLINE float quick_power(float size, float y, float *power) {
  float f;
  float e = split(size, &f);
  float inverse = 1.0f / (2.0f + f);
  float s = f * inverse;
  float s_low = FMAF(-s, f, FMAF(-2.0f, s, f)) * inverse;
  float z = s * s;
  float whole = e * LN2_0_F;
  float high = FMAF(2.0f, s, whole);
  float low = FMAF(e, LN2_1_F, FMAF(2.0f, s, whole - high));
  // The slope at s, 2 / (1 - s^2), counts: without its second term the error is twice as large.
  low = FMAF(s_low, FMAF(2.0f, z, 2.0f), low);
  low = FMAF(s * z, LOG_TAIL_F(z), low);
  float most = y * high;
  float rest = FMAF(y, low, FMAF(y, high, -most));
  *power = most + rest;
  float shifted = FMAF(*power, LOG2E_F, ROUNDER);
  float n = shifted - ROUNDER;
  float r = FMAF(n, -LN2_0_F, most) + FMAF(n, -LN2_1_F, rest);
  return stepped(FMAF(r, FMAF(r, EXP_POLY_F(r), 1.0f), 1.0f), shifted);
}

float powf(float x, float y) {
#ifdef FAST
  float size = __builtin_fabsf(x), power;
  float result = quick_power(size, y, &power);
  int is_far = !(__builtin_fabsf(power) < 87.0f);
  if (RARE(!is_regular(x) | is_far)) {
    if (RARE(!is_regular(size) | is_far)) result = power_of_size(size, y);
    result = with_edges(result, x, y);
  }
  return result;
#endif
  return with_edges(power_of_size(__builtin_fabsf(x), y), x, y);
}
