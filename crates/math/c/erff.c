// Two polynomials in f64: up to 1, and up to 4, above which 1 is accurate enough.
#define SINGLE
#include "common.h"

float erff(float x) {
  double size = clamp_d(__builtin_fabs((double)x), 0.0, 4.0);
  double z = size <= 1.0 ? size * size : size - 2.5;
  double near = size * ERF_30(z);
  double far = ERF_TAIL(z);
  return __builtin_copysignf((float)(size <= 1.0 ? near : far), x);
}
