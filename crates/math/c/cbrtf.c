// The cube root by an inverse one, r: a guess from the bits, one step of fourth order, and one Newton step of the root.
#define SINGLE
#include "common.h"

// Of numbers whose residues are normal.
INLINE float root_of(float size) {
  float r = real_of((u32)(i32)FMAF((float)(i32)bits(size), -THIRD_F, CBRT_GUESS_F));
  float h = FMAF(-size * r, r * r, 1.0f);
  r = FMAF(r * h, CBRT_STEP_F(h), r);
  float square = r * r;
  float y = size * square;
  float rest = FMAF(-y * y, y, size);
  return FMAF(rest * THIRD_F, square, y);
}

float cbrtf(float x) {
  float size = __builtin_fabsf(x);
  float result = root_of(size);
  if (RARE(!((size > 0x1p-80f) & (size < INF)))) {
    result = root_of(size * 0x1p60f) * 0x1p-20f;
    int is_itself = (size == 0.0f) | !(size < INF);
    result = is_itself ? size : result;
  }
  return __builtin_copysignf(result, x);
}
