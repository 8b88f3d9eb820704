// The root of a sum of squares, both as sums of two floats; scales squares that would overflow or underflow.
#include "common.h"

double hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  double most = a > b ? a : b, least = a > b ? b : a;
  double scale = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1.0;
  double back = most > 0x1p500 ? 0x1p600 : most < 0x1p-400 ? 0x1p-600 : 1.0;
  most *= scale;
  least *= scale;
  double p = most * most, q = least * least;
  double sum = p + q;
  double low = (q - (sum - p)) + (FMA(most, most, -p) + FMA(least, least, -q));
  double root = __builtin_sqrt(sum);
  double rest = (FMA(-root, root, sum) + low) * (0.5 / root);
  rest = root == 0.0 ? 0.0 : rest;
  double result = (root + rest) * back;
  int is_infinite = (a == INF) | (b == INF);
  int is_nan = (x != x) | (y != y);
  result = is_nan ? NOT_A_NUMBER : result;
  return is_infinite ? INF : result;
}
