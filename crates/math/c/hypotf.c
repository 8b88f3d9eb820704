// Squares and their sum fit in f64.
#define SINGLE
#include "common.h"

float hypotf(float x, float y) {
  double a = x, b = y;
  float result = (float)__builtin_sqrt(FMA(a, a, b * b));
  int is_infinite = (__builtin_fabsf(x) == INF) | (__builtin_fabsf(y) == INF);
  return is_infinite ? INF : result;
}
