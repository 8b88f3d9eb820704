// x^y = e^(y log |x|) and a sign; the logarithm, the product and the argument of the exponential are sums of two floats.
#include "log_parts.h"

struct two {
  double high, low;
};

// log(1 + f) = 2 s + s^3 (2/3 + s^2 z(s^2)), where s = f / (2 + f).
INLINE struct two log_of_two(double f, double e) {
  double d = 2.0 + f;
  double d_low = f - (d - 2.0);
  double inverse = 1.0 / d;
  double s = f * inverse;
  double s_low = (FMA(-s, d, f) - s * d_low) * inverse;
  double z = s * s;
  double z_low = FMA(s, s, -z) + 2.0 * s * s_low;
  double t = z * LOG_RATIO(z);
  double w = TWO_THIRDS_0 + t;
  double w_low = (t - (w - TWO_THIRDS_0)) + TWO_THIRDS_1;
  double v = z * w;
  double v_low = FMA(z, w, -v) + FMA(z, w_low, z_low * w);
  double u = s * v;
  double u_low = FMA(s, v, -u) + FMA(s, v_low, s_low * v);
  double h = 2.0 * s + u;
  double l = (u - (h - 2.0 * s)) + FMA(2.0, s_low, u_low);
  double whole = e * LN2_0;
  double high = whole + h;
  double low = (h - (high - whole)) + FMA(e, LN2_1, l);
  struct two log = {high + low, low - ((high + low) - high)};
  return log;
}

double pow(double x, double y) {
  double size = __builtin_fabs(x);
  double f;
  double e = split_any(size, &f);
  struct two log = log_of_two(f, e);
  log.high = size == 0.0 ? -INF : size < INF ? log.high : size;
  double exact = y * log.high;
  double power = clamp(exact, -746.0, 710.0);
  double power_low = FMA(y, log.high, -exact) + y * log.low;
  power_low = power == exact ? power_low : 0.0;
  double shifted = FMA(power, LOG2E, ROUNDER);
  double n = shifted - ROUNDER;
  double first = FMA(n, -LN2_0, power);
  double second = FMA(n, -LN2_1, power_low);
  double r = first + second;
  double r_low = (first - r) + second;
  double sum = 1.0 + r;
  double rest = r - (sum - 1.0);
  double p = sum + (rest + FMA(r * r, EXP_POLY(r), FMA(r_low, r, r_low)));
  // A NaN power gives a NaN result.
  p = power == power ? p : power;
  double result = scaled(p, shifted);
  int is_whole = __builtin_trunc(y) == y;
  int is_odd = is_whole & (__builtin_trunc(0.5 * y) != 0.5 * y);
  int is_root_of_negative = (x < 0.0) & (size != INF) & !is_whole;
  result = is_root_of_negative ? NOT_A_NUMBER : result;
  u64 sign = is_odd ? bits(x) & SIGN : 0;
  result = real_of(bits(result) | sign);
  int is_one = (x == 1.0) | (y == 0.0) | ((size == 1.0) & (__builtin_fabs(y) == INF));
  return is_one ? 1.0 : result;
}
