#include "hyperbolic_parts.h"

float coshf(float x) { return (float)hyperbolic(clamp(x, -91.0f, 91.0f)).cosh; }
