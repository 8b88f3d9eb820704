// x^y = 2^(y log2 |x|), the logarithm and the product in f64, and a sign.
#define SINGLE
#include "log_parts.h"

float powf(float x, float y) {
  float size = __builtin_fabsf(x);
  float f_f;
  double e = split(size, &f_f);
  double f = f_f;
  double log2 = FMA(f, LOG2_33(f), e);
  log2 = size == 0.0f ? -INF : size < INF ? log2 : size;
  double power = clamp_d(y * log2, -151.0, 129.0);
  double n = power + ROUNDER_D - ROUNDER_D;
  float r = (float)(power - n);
  float result = scaled(FMAF(r, EXP2_POLY_F(r), 1.0f), (float)n + ROUNDER);
  int is_whole = __builtin_truncf(y) == y;
  int is_odd = is_whole & (__builtin_truncf(0.5f * y) != 0.5f * y);
  int is_root_of_negative = (x < 0.0f) & (size != INF) & !is_whole;
  result = is_root_of_negative ? NOT_A_NUMBER : result;
  u32 sign = is_odd ? bits(x) & 0x80000000u : 0;
  result = real_of(bits(result) | sign);
  int is_one = (x == 1.0f) | (y == 0.0f) | ((size == 1.0f) & (__builtin_fabsf(y) == INF));
  return is_one ? 1.0f : result;
}
