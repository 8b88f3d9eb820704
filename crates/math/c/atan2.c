// The angle of (x, y), from the quotient of the smaller coordinate by the larger as a sum of two floats.
#include "angle_parts.h"

double atan2(double y, double x) {
#ifdef FAST
  return quick_angle(y, x);
#endif
  double size_x = __builtin_fabs(x), size_y = __builtin_fabs(y);
  int is_steep = size_y > size_x;
  double least = is_steep ? size_x : size_y, most = is_steep ? size_y : size_x;
  double scale = most > 0x1p1000 ? 0x1p-100 : most < 0x1p-900 ? 0x1p100 : 1.0;
  least *= scale;
  most *= scale;
  double q = least / most;
  double low = FMA(-q, most, least) / most;
  int is_plain = (most > 0.0) & (most < INF);
  q = is_plain ? q : least == INF ? 1.0 : 0.0;
  low = is_plain ? low : 0.0;
  double tail = atan_tail(q, low);
  int is_left = (int)(bits(x) >> 63);
  // Steep: pi/2 -+ a. Left half-plane: pi - a.
  double sign = is_steep != is_left ? -1.0 : 1.0;
  double high = is_steep ? RIGHT_ANGLE_0 : is_left ? PI_SPLIT_0 : 0.0;
  double rest = is_steep ? RIGHT_ANGLE_1 : is_left ? PI_SPLIT_1 : 0.0;
  double result = angle_sum(high, rest, sign * q, sign * tail);
  int is_nan = (x != x) | (y != y);
  result = is_nan ? NOT_A_NUMBER : result;
  return __builtin_copysign(result, y);
}
