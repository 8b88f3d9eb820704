// The angle of (x, y), from the quotient of the smaller coordinate by the larger.
#define SINGLE
#include "angle_parts.h"

float atan2f(float y, float x) {
#ifdef FAST
  return quick_angle(y, x);
#endif
  float size_x = __builtin_fabsf(x), size_y = __builtin_fabsf(y);
  int is_steep = size_y > size_x;
  float least = is_steep ? size_x : size_y, most = is_steep ? size_y : size_x;
  double quotient = (double)least / (double)most;
  quotient = most == 0.0f ? 0.0 : quotient;
  quotient = least == INF ? 1.0 : quotient;
  float q = (float)quotient;
  float low = (float)(quotient - (double)q);
  float tail = atan_tail(q, low);
  int is_left = bits(x) >> 31;
  // Steep: pi/2 -+ a. Left half-plane: pi - a.
  float sign = is_steep != is_left ? -1.0f : 1.0f;
  float high = is_steep ? RIGHT_ANGLE_0_F : is_left ? PI_SPLIT_0_F : 0.0f;
  float rest = is_steep ? RIGHT_ANGLE_1_F : is_left ? PI_SPLIT_1_F : 0.0f;
  float result = angle_sum(high, rest, sign * q, sign * tail);
  int is_nan = (x != x) | (y != y);
  result = is_nan ? NOT_A_NUMBER : result;
  return __builtin_copysignf(result, y);
}
