#include "hyperbolic_parts.h"

float sinhf(float x) {
  float result = (float)hyperbolic(clamp(x, -91.0f, 91.0f)).sinh;
  return __builtin_copysignf(result, x);
}
