#include "hyperbolic_parts.h"

float tanhf(float x) {
  struct hyperbolic both = hyperbolic(clamp(x, -10.0f, 10.0f));
  return __builtin_copysignf((float)(both.sinh / both.cosh), x);
}
