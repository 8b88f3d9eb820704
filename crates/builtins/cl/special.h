// erf, erfc and the gamma function: in doubles, which floats use too.

#include "special_coefficients.h"

#define NEXT_TERM(c) sum = __builtin_elementwise_fma(sum, at, c);

static PURE double erf_near(double x) {
  double at = x * x, sum = 0;
  ERF_NEAR(NEXT_TERM)
  return x * sum;
}

// erfc of x >= 0.5: exp(-x^2) with the square in two parts, since its error would be multiplied by x^2.
static PURE double erfc_far(double x) {
  double at = (x - 3) / (x + 3), sum = 0;
  ERFC_FAR(NEXT_TERM)
  double square = x * x, rest = __builtin_elementwise_fma(x, x, -square);
  // Two factors, so that only the last multiplication rounds a subnormal.
  double root = own_exp(-0.5 * square);
  double value = root * (sum / (1 + 2 * x)) * (1 - rest) * root;
  return x > 27.5 ? 0 : value;
}

PURE double erf(double x) {
  double size = fabs(x);
  double far = size > 6 ? 1 : 1 - erfc_far(size);
  double value = size < 1 ? erf_near(size) : far;
  return x != x ? x : copysign(value, x);
}
PURE double erfc(double x) {
  double far = erfc_far(fabs(x));
  double value = fabs(x) < 0.5 ? 1 - erf_near(x) : x < 0 ? 2 - far : far;
  return x != x ? x : value;
}
OWN_SINGLE(erf)
PURE float erf(float x) { return own_erf(x); }
PURE float erfc(float x) {
  float size = fabs(x);
  float inverse = 1 / (size + 3), at = __builtin_elementwise_fma(-6.0f, inverse, 1.0f), sum = 0;
  ERFC_SINGLE(NEXT_TERM)
  float square = size * size, rest = __builtin_elementwise_fma(size, size, -square);
  // Two factors, as above.
  float root = own_exp(-0.5f * square);
  float far = size > 10.1f ? 0 : root * (sum * inverse) * (1 - rest) * root;
  return x < 0 ? 2 - far : far;
}
UNARY_BOTH(erf)
UNARY_BOTH(erfc)

static PURE double stirling_rest(double x) {
  double inverse = 1 / x, at = inverse * inverse, sum = 0;
  STIRLING(NEXT_TERM)
  return inverse * sum;
}

// Gamma of x >= 0 as a product of two numbers, whose range exceeds that of a float.
static LONG_PURE double2 gamma_parts(double x) {
  if (x < 12) {
    // The argument is reduced to [1, 2) by steps of 1, which are exact downwards.
    double down = x >= 2 ? floor(x) - 1 : 0;
    double product = 1;
    for (int k = 1; k <= 10; ++k) {
      product = (double)k <= down ? product * (x - (double)k) : product;
    }
    double base = x - down;
    double at = (base < 1 ? base : base - 1) - 0.5, sum = 0;
    GAMMA_NEAR(NEXT_TERM)
    return (double2)(product, base < 1 ? sum / base : sum);
  }
  double near = x > 200 ? 200 : x;
  double root = own_pow(near, 0.5 * near - 0.25);
  return (double2)(root * 2.5066282746310005024, root * (own_exp(-near) * own_exp(stirling_rest(near))));
}

// The sign of gamma(x).
static PURE int gamma_sign(double x) {
  int is_odd = floor(x) != 2 * floor(0.5 * x);
  return x < 0 && is_odd && floor(x) != x ? -1 : x == 0 && 1 / x < 0 ? -1 : 1;
}

PURE double tgamma(double x) {
  double2 parts = gamma_parts(fabs(x));
  if (x > 0) {
    return x > 171.7 ? INFINITE(double) : parts.x * parts.y;
  }
  if (x == 0) {
    return copysign(INFINITE(double), x);
  }
  // gamma(-x) gamma(x) = -pi / (x sin(pi x))
  double value = -PI(double) / (x * sinpi(x)) / parts.x / parts.y;
  value = x < -184 ? 0.0 * gamma_sign(x) : value;
  return x != x ? x : floor(x) == x ? NO_NUMBER(double) : fabs(x) < 0x1p-60 ? 1 / x : value;
}

// The second result of lgamma_r, which is 0 at the poles.
static PURE int gamma_sign_or_pole(double x) { return x <= 0 && floor(x) == x ? 0 : gamma_sign(x); }

// The logarithm of |gamma(x)|.
static LONG_PURE double lgamma_size(double x) {
  double size = fabs(x);
  double value;
  if (size < 12) {
    double2 parts = gamma_parts(size);
    value = own_log(parts.x * parts.y);
  } else {
    value = (size - 0.5) * (own_log(size) - 1) + (0.41893853320467274178 + stirling_rest(size));
  }
  if (size < 0x1p-60) {
    value = -own_log(size);
  } else if (x < 0) {
    value = own_log(PI(double) / (size * fabs(sinpi(size)))) - value;
  }
  int is_pole = x <= 0 && floor(x) == x;
  return x != x ? x : size == INFINITE(double) || is_pole ? INFINITE(double) : value;
}
PURE double lgamma(double x) { return lgamma_size(x); }
PURE float tgamma(float x) { return (float)tgamma((double)x); }
PURE float lgamma(float x) { return (float)lgamma_size((double)x); }
UNARY_BOTH(tgamma)
UNARY_BOTH(lgamma)
static FUNCTION double lgamma_r_of(double x, int *sign) {
  *sign = gamma_sign_or_pole(x);
  return lgamma_size(x);
}
static FUNCTION float lgamma_r_of(float x, int *sign) {
  *sign = gamma_sign_or_pole((double)x);
  return (float)lgamma_size((double)x);
}
SECONDS(lgamma_r, float, int)
SECONDS(lgamma_r, double, int)
