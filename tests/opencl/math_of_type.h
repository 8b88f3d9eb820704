// Mathematical functions of one type: references, arguments, and the comparison. `math.c` includes this file for each type, with
//   NAME(x)   x with the type's name behind it
//   STORED    the type in memory
//   TYPE, T   a type of C's library that holds STORED, and the suffix of its functions
//   REAL, R   a type with more bits, in which true values are computed, and the suffix of its functions
//   DIGITS, LEAST, MOST   bits of the mantissa, exponents of the least normal and of the greatest number
//   BITS      an unsigned integer of the size of STORED

enum { NAME(BIAS) = MOST };
static const REAL NAME(HALF_TURN) = 3.14159265358979323846264338327950288L;

// --- conversions ---

#if DIGITS == 11
static inline REAL NAME(real)(STORED x) { return half_number(x); }
static inline STORED NAME(stored)(REAL x) { return half_rounded(x); }
#else
static inline REAL NAME(real)(STORED x) { return x; }
static inline STORED NAME(stored)(REAL x) { return (STORED)x; }
#endif

static inline STORED NAME(of_bits)(BITS bits) {
  STORED x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline BITS NAME(bits_of)(STORED x) {
  BITS bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// --- references ---

struct NAME(call) {
  REAL x, y, z;
  int n;
  // Expected second result: a number (`modf`, `sincos`), or a count (`frexp`, `lgamma_r`).
  REAL other;
  int count;
  // The integer that was found, for arguments where it is free.
  int found;
};

static inline REAL NAME(sin_pi)(REAL x) {
  REAL rest = R(remainder)(x, 1);
  if (isnan(rest)) return NAN;
  int is_odd = R(fabs)(R(fmod)(x - rest, 2)) == 1;
  if (rest == 0) return R(copysign)(0, x);
  REAL value = R(sin)(NAME(HALF_TURN) * rest);
  return is_odd ? -value : value;
}
static inline REAL NAME(cos_pi)(REAL x) {
  REAL rest = R(remainder)(x, 1), size = R(fabs)(rest);
  if (isnan(rest)) return NAN;
  int is_odd = R(fabs)(R(fmod)(x - rest, 2)) == 1;
  if (size == 0.5) return 0;
  REAL value = size > 0.25 ? R(sin)(NAME(HALF_TURN) * ((REAL)0.5 - size)) : R(cos)(NAME(HALF_TURN) * size);
  return is_odd ? -value : value;
}
static inline REAL NAME(tan_pi)(REAL x) {
  if (isinf(x) || isnan(x)) return NAN;
  // Whole turns by the number below: n + 1/2 is a pole whose sign is that of an even or odd n.
  REAL below = R(floor)(x), rest = x - below;
  int is_odd = R(fabs)(R(fmod)(below, 2)) == 1;
  if (rest == 0) return R(copysign)(0, is_odd ? -x : x);
  if (rest == 0.5) return is_odd ? -INFINITY : INFINITY;
  REAL near = R(remainder)(x, 1), size = R(fabs)(near);
  REAL value = size > 0.25 ? 1 / R(tan)(NAME(HALF_TURN) * ((REAL)0.5 - size)) : R(tan)(NAME(HALF_TURN) * size);
  return near < 0 ? -value : value;
}
static inline REAL NAME(root)(REAL x, int n) {
  if (isnan(x) || n == 0 || (x < 0 && n % 2 == 0)) return NAN;
  REAL size = R(fabs)(x), root = R(pow)(size, 1 / R(fabs)((REAL)n));
  // A step of Newton's method: 1 / n is rounded.
  if (size != 0 && !isinf(size)) root -= root * (R(pow)(root, R(fabs)((REAL)n)) / size - 1) / R(fabs)((REAL)n);
  root = n < 0 ? 1 / root : root;
  return n % 2 != 0 ? R(copysign)(root, x) : root;
}
static inline REAL NAME(positive_power)(REAL x, REAL y) {
  int is_none = x < 0 || isnan(x) || isnan(y) || (x == 0 && y == 0) || (isinf(x) && y == 0) || (x == 1 && isinf(y));
  return is_none ? NAN : R(pow)(R(fabs)(x), y);
}
static inline REAL NAME(log_gamma)(struct NAME(call) *c) {
  int sign = 1;
#if DIGITS == 53
  REAL value = lgammal_r(c->x, &sign);
#else
  REAL value = lgamma_r(c->x, &sign);
#endif
  int is_pole = c->x <= 0 && !isinf(c->x) && c->x == R(floor)(c->x);
  // The specification leaves it open for NaN and the negative infinity.
  c->count = is_pole ? 0 : isnan(c->x) || (isinf(c->x) && c->x < 0) ? c->found : sign;
  return value;
}
static inline REAL NAME(fraction)(struct NAME(call) *c) {
  c->other = R(floor)(c->x);
  if (isnan(c->x)) return NAN;
  if (isinf(c->x) || c->x == 0) return R(copysign)(0, c->x);
  // Rounded once, but never up to 1; differences of halves are exact.
  REAL rest = (TYPE)c->x - (TYPE)c->other, greatest = 1 - R(ldexp)(1, -DIGITS);
  return rest < greatest ? rest : greatest;
}
static inline REAL NAME(after_point)(struct NAME(call) *c) {
  c->other = R(trunc)(c->x);
  return R(copysign)(isinf(c->x) ? 0 : c->x - c->other, c->x);
}
static inline REAL NAME(mantissa)(struct NAME(call) *c) {
  c->count = 0;
  return isnan(c->x) || isinf(c->x) ? c->x : R(frexp)(c->x, &c->count);
}
static inline REAL NAME(divided)(struct NAME(call) *c) {
  REAL x = c->x, y = c->y, value = R(remainder)(x, y);
  c->count = 0;
  if (!isnan(value) && !isinf(y)) {
    // Seven bits of the quotient, by an exact rest.
    REAL size = R(fabs)(y), near = R(fmod)(R(fabs)(x), 128 * size);
    int count = (int)((near - R(remainder)(near, size)) / size + (REAL)0.5) & 127;
    c->count = (x < 0) != (y < 0) ? -count : count;
  }
  return value;
}
static inline REAL NAME(exponent)(struct NAME(call) *c) {
  c->count = isnan(c->x)   ? ILOGB_OF_NAN
             : c->x == 0   ? ILOGB_OF_ZERO
             : isinf(c->x) ? CL_INT_MAX
                           : R(ilogb)(c->x);
  return 0;
}
static inline REAL NAME(fused)(REAL x, REAL y, REAL z) {
#if DIGITS == 11
  // The product is exact; the sum is rounded to an odd mantissa, so that rounding again is rounding once.
  double product = x * y, sum = product + z, back = sum - product, lost = (product - (sum - back)) + (z - back);
  cl_ulong bits;
  memcpy(&bits, &sum, sizeof bits);
  return isfinite(sum) && lost != 0 && !isnan(lost) && !(bits & 1) ? nextafter(sum, lost > 0 ? INFINITY : -INFINITY) : sum;
#else
  return T(fma)((TYPE)x, (TYPE)y, (TYPE)z);
#endif
}
static inline REAL NAME(product_and_sum)(struct NAME(call) *c) {
  c->other = NAME(real)(NAME(stored)(c->x * c->y)) + c->z;
  // Sums of more bits would be rounded twice.
#if DIGITS == 53
  volatile double product = (double)c->x * (double)c->y;
  c->other = product + (double)c->z;
#endif
  return NAME(fused)(c->x, c->y, c->z);
}
static inline REAL NAME(next)(REAL x, REAL y) {
#if DIGITS == 11
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return y;
  if (x == 0) return copysign(0x1p-24, y);
  STORED bits = half_rounded(x);
  return half_number((STORED)((x < y) == (x > 0) ? bits + 1 : bits - 1));
#else
  return T(nextafter)((TYPE)x, (TYPE)y);
#endif
}
static inline REAL NAME(greater)(REAL x, REAL y) { return isnan(x) ? y : isnan(y) ? x : x < y ? y : x; }
static inline REAL NAME(lesser)(REAL x, REAL y) { return isnan(x) ? y : isnan(y) ? x : y < x ? y : x; }
static inline REAL NAME(greater_size)(REAL x, REAL y) {
  REAL a = R(fabs)(x), b = R(fabs)(y);
  return a > b ? x : b > a ? y : NAME(greater)(x, y);
}
static inline REAL NAME(lesser_size)(REAL x, REAL y) {
  REAL a = R(fabs)(x), b = R(fabs)(y);
  return a < b ? x : b < a ? y : NAME(lesser)(x, y);
}
static inline REAL NAME(smooth)(REAL x) {
  REAL t = x < 0 ? 0 : x > 1 ? 1 : x;
  return t * t * (3 - 2 * t);
}
static inline REAL NAME(size)(REAL x, REAL y, REAL z) { return R(hypot)(R(hypot)(x, y), z); }
// The second element of a normalized vector. Infinite elements count as 1, finite ones next to such as 0.
static inline REAL NAME(direction)(REAL x, REAL y, REAL z) {
  if (isinf(x) || isinf(y) || isinf(z)) {
    x = isinf(x) ? R(copysign)(1, x) : 0 * x, y = isinf(y) ? R(copysign)(1, y) : 0 * y, z = isinf(z) ? R(copysign)(1, z) : 0 * z;
  }
  REAL size = NAME(size)(x, y, z);
  return size == 0 ? y : y / size;
}
static inline REAL NAME(order)(struct NAME(call) *c) {
  REAL x = c->x, y = c->y;
  int is_ordered = !isnan(x) && !isnan(y);
  c->count = (x == y) + 2 * (x != y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x < y) + 32 * (x <= y) + 64 * (x < y || x > y) + 128 * is_ordered +
             256 * !is_ordered;
  return 0;
}
static inline REAL NAME(kind)(struct NAME(call) *c) {
  REAL x = c->x;
  c->count = !!isfinite(x) + 2 * !!isinf(x) + 4 * !!isnan(x) + 8 * (isfinite(x) && R(fabs)(x) >= R(ldexp)(1, LEAST)) + 16 * !!signbit(x);
  return 0;
}
// Sums, products and quotients are rounded once: halves and floats in doubles do, doubles in more bits would not.
#define ROUNDED(value) ((REAL)(TYPE)(value))

#define OF(id, value) \
  static REAL NAME(of_##id)(struct NAME(call) *c) { return (value); }
#define OF_LIBRARY(id) OF(id, R(id)(c->x))
OF_LIBRARY(acos)
OF_LIBRARY(acosh)
OF_LIBRARY(asin)
OF_LIBRARY(asinh)
OF_LIBRARY(atan)
OF_LIBRARY(atanh)
OF_LIBRARY(cbrt)
OF_LIBRARY(ceil)
OF_LIBRARY(cos)
OF_LIBRARY(cosh)
OF_LIBRARY(erf)
OF_LIBRARY(erfc)
OF_LIBRARY(exp)
OF_LIBRARY(exp10)
OF_LIBRARY(exp2)
OF_LIBRARY(expm1)
OF_LIBRARY(fabs)
OF_LIBRARY(floor)
OF_LIBRARY(log)
OF_LIBRARY(log10)
OF_LIBRARY(log1p)
OF_LIBRARY(log2)
OF_LIBRARY(logb)
OF_LIBRARY(rint)
OF_LIBRARY(round)
OF_LIBRARY(sin)
OF_LIBRARY(sinh)
OF_LIBRARY(tan)
OF_LIBRARY(tanh)
OF_LIBRARY(tgamma)
OF_LIBRARY(trunc)
OF(acospi, R(acos)(c->x) / NAME(HALF_TURN))
OF(asinpi, R(asin)(c->x) / NAME(HALF_TURN))
OF(atanpi, R(atan)(c->x) / NAME(HALF_TURN))
OF(cospi, NAME(cos_pi)(c->x))
OF(sinpi, NAME(sin_pi)(c->x))
OF(tanpi, NAME(tan_pi)(c->x))
OF(sqrt, T(sqrt)((TYPE)c->x))
OF(rsqrt, 1 / R(sqrt)(c->x))
OF(reciprocal, ROUNDED(1 / (TYPE)c->x))
OF(degrees, c->x * (180 / NAME(HALF_TURN)))
OF(radians, c->x * (NAME(HALF_TURN) / 180))
OF(sign, isnan(c->x) ? 0 : c->x == 0 ? c->x : R(copysign)(1, c->x))
OF(negative, -c->x)
OF(no_number, c->x * NAN)
OF(lgamma, NAME(log_gamma)(c))
OF(fract, NAME(fraction)(c))
OF(modf, NAME(after_point)(c))
OF(sincos, (c->other = R(cos)(c->x), R(sin)(c->x)))
OF(frexp, NAME(mantissa)(c))
OF(ilogb, NAME(exponent)(c))
OF(atan2, R(atan2)(c->x, c->y))
OF(atan2pi, R(atan2)(c->x, c->y) / NAME(HALF_TURN))
OF(copysign, R(copysign)(c->x, c->y))
OF(fdim, isnan(c->x) || isnan(c->y) ? NAN : c->x > c->y ? (REAL)((TYPE)c->x - (TYPE)c->y) : 0)
OF(fmax, NAME(greater)(c->x, c->y))
OF(fmin, NAME(lesser)(c->x, c->y))
OF(fmod, R(fmod)(c->x, c->y))
OF(hypot, R(hypot)(c->x, c->y))
OF(maxmag, NAME(greater_size)(c->x, c->y))
OF(minmag, NAME(lesser_size)(c->x, c->y))
OF(nextafter, NAME(next)(c->x, c->y))
OF(pow, R(pow)(c->x, c->y))
OF(powr, NAME(positive_power)(c->x, c->y))
OF(remainder, R(remainder)(c->x, c->y))
OF(remquo, NAME(divided)(c))
OF(sum, ROUNDED((TYPE)c->x + (TYPE)c->y))
OF(difference, ROUNDED((TYPE)c->x - (TYPE)c->y))
OF(product, ROUNDED((TYPE)c->x * (TYPE)c->y))
OF(quotient, ROUNDED((TYPE)c->x / (TYPE)c->y))
OF(ldexp, R(ldexp)(c->x, c->n > 99999 ? 99999 : c->n < -99999 ? -99999 : c->n))
OF(pown, R(pow)(c->x, (REAL)c->n))
OF(rootn, NAME(root)(c->x, c->n))
OF(fma, NAME(fused)(c->x, c->y, c->z))
OF(mad, NAME(product_and_sum)(c))
OF(step, c->y >= c->x)
OF(clamp, NAME(lesser)(NAME(greater)(c->x, c->y), c->z))
OF(mix, c->x + (c->y - c->x) * c->z)
OF(smoothstep, NAME(smooth)((c->x - c->y) / (c->z - c->y)))
OF(length, NAME(size)(c->x, c->y, c->z))
OF(direction, NAME(direction)(c->x, c->y, c->z))
OF(order, NAME(order)(c))
OF(kind, NAME(kind)(c))
OF(chosen, c->x < c->y ? c->y : c->x)
OF(narrowed, DIGITS == 53 ? (REAL)(float)c->x : c->x)
OF(same, c->x)
#if DIGITS == 11
OF(difference_of_squares, c->x * c->x - c->y * c->y)
#endif

// A function to check: an expression of x, y, z, n, `other` and `count`.
static const struct NAME(function) {
  const char *text;
  REAL (*of)(struct NAME(call) *);
  int params, flags;
  // The specification's bound; where it gives none, `OPEN` of our own.
  double bound;
} NAME(functions)[] = {
    {"acos(x)", NAME(of_acos), 1, 0, 4},
    {"acosh(x)", NAME(of_acosh), 1, 0, 4},
    {"acospi(x)", NAME(of_acospi), 1, 0, 5},
    {"asin(x)", NAME(of_asin), 1, 0, 4},
    {"asinh(x)", NAME(of_asinh), 1, 0, 4},
    {"asinpi(x)", NAME(of_asinpi), 1, 0, 5},
    {"atan(x)", NAME(of_atan), 1, 0, 5},
    {"atanh(x)", NAME(of_atanh), 1, 0, 5},
    {"atanpi(x)", NAME(of_atanpi), 1, 0, 5},
    {"cbrt(x)", NAME(of_cbrt), 1, 0, 2},
    {"ceil(x)", NAME(of_ceil), 1, IS_EXACT, 0},
    {"cos(x)", NAME(of_cos), 1, 0, 4},
    {"cosh(x)", NAME(of_cosh), 1, 0, 4},
    {"cospi(x)", NAME(of_cospi), 1, 0, 4},
    {"degrees(x)", NAME(of_degrees), 1, 0, 2},
    {"erf(x)", NAME(of_erf), 1, 0, 16},
    {"erfc(x)", NAME(of_erfc), 1, 0, 16},
    {"exp(x)", NAME(of_exp), 1, 0, 3},
    {"exp10(x)", NAME(of_exp10), 1, 0, 3},
    {"exp2(x)", NAME(of_exp2), 1, 0, 3},
    {"expm1(x)", NAME(of_expm1), 1, 0, 3},
    {"fabs(x)", NAME(of_fabs), 1, IS_EXACT, 0},
    {"floor(x)", NAME(of_floor), 1, IS_EXACT, 0},
    {"log(x)", NAME(of_log), 1, 0, 3},
    {"log10(x)", NAME(of_log10), 1, 0, 3},
    {"log1p(x)", NAME(of_log1p), 1, 0, 2},
    {"log2(x)", NAME(of_log2), 1, 0, 3},
    {"logb(x)", NAME(of_logb), 1, IS_EXACT, 0},
    {"radians(x)", NAME(of_radians), 1, 0, 2},
    {"rint(x)", NAME(of_rint), 1, IS_EXACT, 0},
    {"round(x)", NAME(of_round), 1, IS_EXACT, 0},
    {"rsqrt(x)", NAME(of_rsqrt), 1, 0, 2},
    {"sign(x)", NAME(of_sign), 1, IS_EXACT, 0},
    {"sin(x)", NAME(of_sin), 1, 0, 4},
    {"sinh(x)", NAME(of_sinh), 1, 0, 4},
    {"sinpi(x)", NAME(of_sinpi), 1, 0, 4},
    {"sqrt(x)", NAME(of_sqrt), 1, IS_EXACT, 0},
    {"tan(x)", NAME(of_tan), 1, 0, 5},
    {"tanh(x)", NAME(of_tanh), 1, 0, 5},
    {"tanpi(x)", NAME(of_tanpi), 1, 0, 6},
    {"tgamma(x)", NAME(of_tgamma), 1, 0, 16},
    {"trunc(x)", NAME(of_trunc), 1, IS_EXACT, 0},
    {"nan(BITS(x))", NAME(of_no_number), 1, IS_EXACT, 0},
    {"1 / x", NAME(of_reciprocal), 1, IS_EXACT, 0},
    {"-x", NAME(of_negative), 1, IS_EXACT, 0},
    // In units of 1 where the result is smaller.
    {"lgamma(x)", NAME(of_lgamma), 1, UNIT_OF_ONE, OPEN(450)},
    {"lgamma_r(x, &count)", NAME(of_lgamma), 1, UNIT_OF_ONE | HAS_COUNT, OPEN(450)},
    {"fract(x, &other)", NAME(of_fract), 1, IS_EXACT | HAS_OTHER, 0},
    {"modf(x, &other)", NAME(of_modf), 1, IS_EXACT | HAS_OTHER, 0},
    {"sincos(x, &other)", NAME(of_sincos), 1, HAS_OTHER, 4},
    {"frexp(x, &count)", NAME(of_frexp), 1, IS_EXACT | HAS_COUNT, 0},
    {"ilogb(x)", NAME(of_ilogb), 1, IS_EXACT | HAS_COUNT | IS_INT, 0},
    {"atan2(x, y)", NAME(of_atan2), 2, 0, 6},
    {"atan2pi(x, y)", NAME(of_atan2pi), 2, 0, 6},
    {"copysign(x, y)", NAME(of_copysign), 2, IS_EXACT, 0},
    {"fdim(x, y)", NAME(of_fdim), 2, IS_EXACT, 0},
    {"fmax(x, y)", NAME(of_fmax), 2, IS_EXACT | ANY_ZERO, 0},
    {"fmin(x, y)", NAME(of_fmin), 2, IS_EXACT | ANY_ZERO, 0},
    {"fmod(x, y)", NAME(of_fmod), 2, IS_EXACT, 0},
    {"hypot(x, y)", NAME(of_hypot), 2, 0, 4},
    {"maxmag(x, y)", NAME(of_maxmag), 2, IS_EXACT | ANY_ZERO, 0},
    {"minmag(x, y)", NAME(of_minmag), 2, IS_EXACT | ANY_ZERO, 0},
    {"nextafter(x, y)", NAME(of_nextafter), 2, IS_EXACT, 0},
    {"pow(x, y)", NAME(of_pow), 2, 0, 16},
    {"powr(x, y)", NAME(of_powr), 2, 0, 16},
    {"remainder(x, y)", NAME(of_remainder), 2, IS_EXACT, 0},
    {"remquo(x, y, &count)", NAME(of_remquo), 2, IS_EXACT | HAS_COUNT | SEVEN_BITS, 0},
    {"x + y", NAME(of_sum), 2, IS_EXACT, 0},
    {"x - y", NAME(of_difference), 2, IS_EXACT, 0},
    {"x * y", NAME(of_product), 2, IS_EXACT, 0},
    {"x / y", NAME(of_quotient), 2, IS_EXACT, 0},
    {"ldexp(x, n)", NAME(of_ldexp), 1, IS_EXACT | TAKES_INT, 0},
    {"pown(x, n)", NAME(of_pown), 1, TAKES_INT, 16},
    {"rootn(x, n)", NAME(of_rootn), 1, TAKES_INT, 16},
    {"fma(x, y, z)", NAME(of_fma), 3, IS_EXACT, 0},
    {"mad(x, y, z)", NAME(of_mad), 3, IS_EXACT | HAS_EITHER, 0},
    // Common functions; those of NaN are open.
    {"max(x, y)", NAME(of_fmax), 2, IS_EXACT | NO_NAN, 0},
    {"min(x, y)", NAME(of_fmin), 2, IS_EXACT | NO_NAN, 0},
    {"step(x, y)", NAME(of_step), 2, IS_EXACT | NO_NAN, 0},
    {"clamp(x, y, z)", NAME(of_clamp), 3, IS_EXACT | NO_NAN | IS_RANGE | ANY_ZERO, 0},
    {"mix(x, y, z)", NAME(of_mix), 3, UNIT_OF_ONE | IS_SMALL, OPEN(16)},
    {"smoothstep(y, z, x)", NAME(of_smoothstep), 3, UNIT_OF_ONE | IS_SMALL | IS_RANGE, OPEN(16)},
    // Geometric functions of scalars in vectors: once as they are, since the vectors of a kernel hold several arguments.
    {"length((T2)(x, y))", NAME(of_length), 2, NO_NAN | ONLY_SCALAR, 3.75},
    {"length((T3)(x, y, z))", NAME(of_length), 3, NO_NAN | ONLY_SCALAR, 4.25},
    {"distance((T2)(x, 0), (T2)(0, y))", NAME(of_length), 2, NO_NAN | ONLY_SCALAR, 6.5},
    {"normalize((T3)(x, y, z)).y", NAME(of_direction), 3, NO_NAN | ONLY_SCALAR, 5},
    // Relational functions, of which vectors have other values.
    {"isequal(x, y) + 2 * isnotequal(x, y) + 4 * isgreater(x, y) + 8 * isgreaterequal(x, y) + 16 * isless(x, y) +\n"
     "    32 * islessequal(x, y) + 64 * islessgreater(x, y) + 128 * isordered(x, y) + 256 * isunordered(x, y)",
     NAME(of_order), 2, IS_EXACT | HAS_COUNT | IS_INT | ONLY_SCALAR, 0},
    {"isfinite(x) + 2 * isinf(x) + 4 * isnan(x) + 8 * isnormal(x) + 16 * signbit(x)", NAME(of_kind), 1,
     IS_EXACT | HAS_COUNT | IS_INT | ONLY_SCALAR, 0},
    {"select(x, y, (INT)isless(x, y))", NAME(of_chosen), 2, IS_EXACT | ONLY_SCALAR, 0},
    {"bitselect(x, y, (T)-0.0f)", NAME(of_copysign), 2, IS_EXACT | ONLY_SCALAR, 0},
    {"(T)(float)x", NAME(of_narrowed), 1, IS_EXACT | ONLY_SCALAR, 0},
    {"(T)(double)x", NAME(of_same), 1, IS_EXACT | ONLY_SCALAR, 0},
#if DIGITS == 11
    // In other types its bound is absolute.
    {"cross((T3)(x, y, 0), (T3)(y, x, 0)).z", NAME(of_difference_of_squares), 2, ONLY_SCALAR, OPEN(HALF_BOUND)},
#elif DIGITS == 24
    {"half_cos(x)", NAME(of_cos), 1, IS_NEAR, 8192},
    {"half_divide(x, y)", NAME(of_quotient), 2, 0, 8192},
    {"half_exp(x)", NAME(of_exp), 1, 0, 8192},
    {"half_exp10(x)", NAME(of_exp10), 1, 0, 8192},
    {"half_exp2(x)", NAME(of_exp2), 1, 0, 8192},
    {"half_log(x)", NAME(of_log), 1, 0, 8192},
    {"half_log10(x)", NAME(of_log10), 1, 0, 8192},
    {"half_log2(x)", NAME(of_log2), 1, 0, 8192},
    {"half_powr(x, y)", NAME(of_powr), 2, 0, 8192},
    {"half_recip(x)", NAME(of_reciprocal), 1, 0, 8192},
    {"half_rsqrt(x)", NAME(of_rsqrt), 1, 0, 8192},
    {"half_sin(x)", NAME(of_sin), 1, IS_NEAR, 8192},
    {"half_sqrt(x)", NAME(of_sqrt), 1, 0, 8192},
    {"half_tan(x)", NAME(of_tan), 1, IS_NEAR, 8192},
    {"native_cos(x)", NAME(of_cos), 1, 0, OPEN(16)},
    {"native_divide(x, y)", NAME(of_quotient), 2, 0, OPEN(16)},
    {"native_exp(x)", NAME(of_exp), 1, 0, OPEN(16)},
    {"native_exp10(x)", NAME(of_exp10), 1, 0, OPEN(16)},
    {"native_exp2(x)", NAME(of_exp2), 1, 0, OPEN(16)},
    {"native_log(x)", NAME(of_log), 1, 0, OPEN(16)},
    {"native_log10(x)", NAME(of_log10), 1, 0, OPEN(16)},
    {"native_log2(x)", NAME(of_log2), 1, 0, OPEN(16)},
    {"native_powr(x, y)", NAME(of_powr), 2, 0, OPEN(16)},
    {"native_recip(x)", NAME(of_reciprocal), 1, 0, OPEN(16)},
    {"native_rsqrt(x)", NAME(of_rsqrt), 1, 0, OPEN(16)},
    {"native_sin(x)", NAME(of_sin), 1, 0, OPEN(16)},
    {"native_sqrt(x)", NAME(of_sqrt), 1, 0, OPEN(16)},
    {"native_tan(x)", NAME(of_tan), 1, 0, OPEN(16)},
#endif
};
enum { NAME(FUNCTIONS) = sizeof NAME(functions) / sizeof *NAME(functions) };

// --- arguments ---

static STORED NAME(moved)(STORED x, int steps) { return NAME(of_bits)(NAME(bits_of)(x) + (BITS)steps); }

// A list of special values, each also with the other sign; with neighbours where they are of interest.
static STORED NAME(list)[1 << 17];
static int NAME(listed);

static void NAME(take)(REAL x, int neighbours) {
  for (int step = -neighbours; step <= neighbours; step++) {
    STORED near = NAME(moved)(NAME(stored)(x), step);
    NAME(list)[NAME(listed)++] = near;
    NAME(list)[NAME(listed)++] = NAME(of_bits)(NAME(bits_of)(near) ^ (BITS)1 << (sizeof(STORED) * 8 - 1));
  }
}

// Values at which functions of two or three numbers change what they do.
static void NAME(few)(int is_small) {
  REAL least = R(ldexp)(1, LEAST - DIGITS + 1), normal = R(ldexp)(1, LEAST), greatest = R(ldexp)(2 - R(ldexp)(1, 1 - DIGITS), MOST);
  NAME(take)(0, 0);
  NAME(take)(INFINITY, 0);
  NAME(take)(NAN, 0);
  NAME(take)(least, 0);
  NAME(take)(normal, !is_small);
  NAME(take)(normal - least, 0);
  NAME(take)(greatest, 0);
  NAME(take)(1, 1);
  static const double some[] = {0.5, 2, 3, 1.5, 1.0 / 3};
  for (int i = 0; i < 5; i++) NAME(take)(some[i], 0);
  if (is_small) return;
  NAME(take)(R(ldexp)(1, LEAST + DIGITS), 1);
  NAME(take)(normal / 2, 0);
  NAME(take)(2 * least, 0);
  NAME(take)(3 * least, 0);
  NAME(take)(greatest / 2, 1);
  NAME(take)(NAME(real)(NAME(moved)(NAME(stored)(greatest), -1)), 0);
  static const double more[] = {0.25, 2.5, 4, 5, 7, 10, 16, 33, 1e-3, 100.5, 2147483647.0, 2147483648.0, 9.2e18, 0.7071067811865476, 1.4142135623730951};
  for (int i = 0; i < 15; i++) NAME(take)(more[i], 0);
  for (int bits = DIGITS - 1; bits <= DIGITS + 1; bits++) NAME(take)(R(ldexp)(1, bits), 1);
  NAME(take)(NAME(HALF_TURN), 0);
  NAME(take)(NAME(HALF_TURN) / 2, 0);
  static const int limits[] = {MOST, MOST + 1, -LEAST, DIGITS - LEAST - 1, DIGITS - LEAST};
  for (int i = 0; i < 5; i++) NAME(take)(limits[i], 0);
}

// Values at which functions of one number change what they do.
static void NAME(many)(void) {
#if DIGITS == 11
  for (int bits = 0; bits < 1 << 16; bits++) NAME(list)[NAME(listed)++] = (STORED)bits;
#else
  NAME(few)(0);
  for (int exponent = LEAST - DIGITS + 1; exponent <= MOST; exponent++) {
    NAME(take)(R(ldexp)(1, exponent), 1);
    NAME(take)(R(ldexp)(1.5L, exponent), 0);
  }
  for (int quarter = 1; quarter < 1200; quarter++) NAME(take)(quarter / (REAL)4, 1);
  for (int quarter = 1; quarter < 400; quarter++) NAME(take)(quarter * NAME(HALF_TURN) / 4, 1);
  // Where exponentials overflow, become subnormal and zero, or indistinguishable from -1.
  static const int ends[] = {MOST + 1, LEAST, LEAST - DIGITS + 1, LEAST - DIGITS, -DIGITS, -DIGITS - 1, (MOST + 1) / 2, DIGITS / 2};
  for (int i = 0; i < 8; i++) {
    NAME(take)(ends[i] * (REAL)0.693147180559945309417232121458176568L, 4);
    NAME(take)(ends[i] * (REAL)0.301029995663981195213738894724493027L, 4);
    NAME(take)((ends[i] + 1) * (REAL)0.693147180559945309417232121458176568L, 4);
    NAME(take)(ends[i] - (REAL)0.5, 1);
  }
  static const double more[] = {35.04,  171.6243769563027, 177.7, 184, 1755, 27.2260, 26.5432, 10.0545, 9.19,   5.9215871957945083, 3.832,
                                -0.2846681370407554, 0.46163214496836236, 1.4616321449683622, 2.4570247382208006, 2.7476826467274127, 0.4142135623730951,
                                0.6744897501960817, 0.2408964, 19.0615, 22, 9.01, 44.014845, 104, 709.8, 745.14, 710.4758, 89.4159, 308.26, 323.3, 38.5318, 45.1545};
  for (int i = 0; i < (int)(sizeof more / sizeof *more); i++) NAME(take)(more[i], 2);
#endif
}

// A random number in one of eight distributions.
static STORED NAME(random)(int way) {
  cl_ulong r = next();
  BITS sign = (BITS)(r >> 63) << (sizeof(STORED) * 8 - 1), fraction = (BITS)(r & (((cl_ulong)1 << (DIGITS - 1)) - 1));
  switch (way & 7) {
    case 0:
    case 1: return NAME(of_bits)((BITS)r);
    // Nearly whole numbers and halves of such.
    case 2: {
      int bits = 2 + (int)(next() % (DIGITS - 1));
      REAL whole = (REAL)(r >> 1 & (((cl_ulong)1 << bits) - 1)) / 2;
      STORED x = NAME(moved)(NAME(stored)(whole + 1), (int)(next() % 5) - 2);
      return NAME(of_bits)(NAME(bits_of)(x) | sign);
    }
    // Nearly multiples of a quarter turn.
    case 3: {
      REAL turns = (REAL)(r >> 1 & (((cl_ulong)1 << (1 + next() % (DIGITS == 11 ? 14 : 30))) - 1));
      STORED x = NAME(moved)(NAME(stored)((turns + 1) * NAME(HALF_TURN) / 2), (int)(next() % 5) - 2);
      return NAME(of_bits)(NAME(bits_of)(x) | sign);
    }
    // Nearly 1.
    case 4: {
      BITS off = fraction >> next() % (DIGITS - 1), one = (BITS)NAME(BIAS) << (DIGITS - 1);
      return NAME(of_bits)((r >> 62 & 1 ? one + off : one - off) | sign);
    }
    // Sizes near 1.
    default: {
      int most = DIGITS == 11 ? 8 : 12, exponent = (int)(next() % (2 * most + 1)) - most;
      return NAME(of_bits)((BITS)(NAME(BIAS) + exponent) << (DIGITS - 1) | fraction | sign);
    }
  }
}

// log2(|x|), nearly.
static double NAME(size_of)(STORED x) {
  double size = log2(fabs((double)NAME(real)(x)));
  return isfinite(size) && size != 0 ? size : 1;
}
// A power for which that of x is near the ends of the type's range, or has any other size within it.
static double NAME(power_for)(STORED x) {
  double limit = (double)(next() >> 11) * 0x1p-53 * (MOST + DIGITS - LEAST + 8) - (DIGITS - LEAST + 4);
  return limit / NAME(size_of)(x);
}

enum { NAME(WIDEST) = CHUNK };
static STORED NAME(xs)[CHUNK] ALIGNED, NAME(ys)[CHUNK] ALIGNED, NAME(zs)[CHUNK] ALIGNED, NAME(outs)[CHUNK] ALIGNED, NAME(others)[CHUNK] ALIGNED;

static void NAME(fill_random)(int params, int flags) {
  for (int i = 0; i < CHUNK; i++) {
    STORED x = NAME(random)(i), y = 0, z = 0;
    if (flags & TAKES_INT) {
      cl_ulong r = next();
      switch (r & 3) {
        case 0: counts_in[i] = (cl_int)(r >> 32); break;
        case 1: counts_in[i] = (cl_int)((r >> 32) % 81) - 40; break;
        case 2: counts_in[i] = (cl_int)((r >> 32) % (2 * (MOST - LEAST + DIGITS))) - (MOST - LEAST + DIGITS); break;
        default: {
          double power = NAME(power_for)(x);
          counts_in[i] = fabs(power) < 2e9 ? (cl_int)power : 7;
        }
      }
    }
    if (params > 1) {
      cl_ulong r = next();
      switch (r & 3) {
        // Sizes like that of x.
        case 0: {
          int field = (int)(NAME(bits_of)(x) >> (DIGITS - 1) & (2 * MOST + 1)) + (int)(r >> 32) % 33 - 16;
          field = field < 0 ? 0 : field > 2 * MOST ? 2 * MOST : field;
          y = NAME(of_bits)((BITS)field << (DIGITS - 1) | (BITS)(next() & (((cl_ulong)1 << (DIGITS - 1)) - 1)) |
                            (BITS)(r >> 63) << (sizeof(STORED) * 8 - 1));
          break;
        }
        case 1: y = r & 4 ? NAME(moved)(x, (int)(r >> 40) % 9 - 4) : NAME(stored)(NAME(power_for)(x)); break;
        default: y = NAME(random)((int)(r >> 8));
      }
    }
    if (params > 2) {
      cl_ulong r = next();
      REAL product = -NAME(real)(x) * NAME(real)(y);
      z = r & 1 ? NAME(moved)(NAME(stored)(product), (int)(r >> 40) % 9 - 4) : NAME(random)((int)(r >> 8));
    }
    NAME(xs)[i] = x, NAME(ys)[i] = y, NAME(zs)[i] = z;
  }
}

// Fills in combinations of special values from an index on; returns how many there are.
static cl_ulong NAME(fill_special)(int params, int flags, cl_ulong first) {
  cl_ulong count = NAME(listed), all = count;
  if (params > 1) all *= count;
  if (params > 2) all *= count;
  if (flags & TAKES_INT) all *= COUNTS;
  for (int i = 0; i < CHUNK; i++) {
    cl_ulong index = first + i < all ? first + i : all - 1;
    if (flags & TAKES_INT) counts_in[i] = special_counts[index % COUNTS], index /= COUNTS;
    NAME(xs)[i] = NAME(list)[index % count], index /= count;
    if (params > 1) NAME(ys)[i] = NAME(list)[index % count], index /= count;
    if (params > 2) NAME(zs)[i] = NAME(list)[index % count];
  }
  return all;
}

// --- comparison ---

// The error of a result in units in the last place; infinity where the kind or the sign of a zero differs.
static inline double NAME(units)(REAL result, REAL truth, int flags) {
  if (isnan(truth) || isnan(result)) return isnan(truth) && isnan(result) ? 0 : INFINITY;
  if (result == truth && result != 0) return 0;
  if (result == 0 && !(flags & ANY_ZERO) && !signbit(result) != !signbit(truth)) {
    // Near its zeros, the logarithm of gamma may have either sign.
    if (!(flags & UNIT_OF_ONE)) return INFINITY;
  }
  if (truth == 0) return result == 0 ? 0 : flags & UNIT_OF_ONE && !isinf(result) ? (double)R(fabs)(R(ldexp)(result, DIGITS - 1)) : INFINITY;
  if (isinf(truth)) return INFINITY;
  int exponent;
  // The lesser unit counts at a power of two.
  if (R(fabs)(R(frexp)(truth, &exponent)) == 0.5) exponent--;
  exponent--;
  if (flags & UNIT_OF_ONE && exponent < 0) exponent = 0;
  exponent = exponent < LEAST ? LEAST : exponent > MOST ? MOST : exponent;
  if (isinf(result)) {
    // Instead of infinity counts what would be next to the greatest number.
    REAL beyond = R(ldexp)(1, MOST + 1);
    if ((result < 0) != (truth < 0)) return INFINITY;
    if (R(fabs)(truth) >= beyond) return 0;
    result = R(copysign)(beyond, result);
  }
  return (double)R(ldexp)(R(fabs)(result - truth), DIGITS - 1 - exponent);
}

static inline double NAME(off)(STORED found, REAL truth, int flags) {
  REAL result = NAME(real)(found);
  if (!(flags & IS_EXACT)) return NAME(units)(result, truth, flags);
  REAL rounded = NAME(real)(NAME(stored)(truth));
  if (isnan(rounded) ? isnan(result) : result == rounded && (result != 0 || flags & ANY_ZERO || !signbit(result) == !signbit(rounded))) return 0;
  double units = NAME(units)(result, truth, flags);
  return units < 1 ? 1 : units;
}

static inline int NAME(has_count)(int found, int truth, int flags) {
  if (!(flags & SEVEN_BITS)) return found == truth;
  unsigned size = (found < 0 ? -(unsigned)found : (unsigned)found) & 127, expected = truth < 0 ? -truth : truth;
  return size == expected && (expected == 0 || (found < 0) == (truth < 0));
}

struct NAME(worst) {
  double units;
  STORED x, y, z, found, other;
  int n, count;
};

// False where the specification leaves the result open.
static inline int NAME(is_defined)(const struct NAME(call) *c, int flags) {
  if (flags & IS_NEAR && R(fabs)(c->x) > 65536) return 0;
  if (flags & NO_NAN && (isnan(c->x) || isnan(c->y) || isnan(c->z))) return 0;
  if (flags & IS_SMALL && !(R(fabs)(c->x) <= 4 && R(fabs)(c->y) <= 4 && c->z >= 0 && c->z <= 1)) return 0;
  return !(flags & IS_RANGE) || (flags & IS_SMALL ? c->y < c->z : c->y <= c->z);
}

static void NAME(compare)(const struct NAME(function) *f, int count, struct NAME(worst) *worst) {
  struct NAME(call) c = {0};
  for (int i = 0; i < count; i++) {
    c.x = NAME(real)(NAME(xs)[i]);
    if (f->params > 1) c.y = NAME(real)(NAME(ys)[i]);
    if (f->params > 2) c.z = NAME(real)(NAME(zs)[i]);
    if (!NAME(is_defined)(&c, f->flags)) continue;
    if (f->flags & TAKES_INT) c.n = counts_in[i];
    if (f->flags & HAS_COUNT) c.found = counts_out[i];
    REAL truth = f->of(&c);
    double units = f->flags & IS_INT ? 0 : NAME(off)(NAME(outs)[i], truth, f->flags);
    if (f->flags & HAS_EITHER && units > 0) units = NAME(off)(NAME(outs)[i], c.other, f->flags);
    if (f->flags & HAS_OTHER) units = fmax(units, NAME(off)(NAME(others)[i], c.other, f->flags));
    if (f->flags & HAS_COUNT && !NAME(has_count)(counts_out[i], c.count, f->flags)) units = INFINITY;
    if (units > worst->units) {
      *worst = (struct NAME(worst)){units, NAME(xs)[i], NAME(ys)[i], NAME(zs)[i], NAME(outs)[i], NAME(others)[i], c.n, counts_out[i]};
    }
  }
}

// Checks a function; returns its largest error.
static int NAME(check)(struct setting s, const struct NAME(function) *f, const struct plan *plan, const char *text) {
  char source[4096];
  int width = plan->width;
  kernel_source(source, TYPE_NAME, text, width);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "f", &error);
  CHECK(error);
  void *memory[] = {NAME(xs), NAME(ys), NAME(zs), counts_in, NAME(outs), NAME(others), counts_out};
  cl_mem buffers[7];
  for (int i = 0; i < 7; i++) {
    size_t bytes = CHUNK * (i == 3 || i == 6 ? sizeof(cl_int) : sizeof(STORED));
    buffers[i] = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, bytes, memory[i], &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, i, sizeof *buffers, &buffers[i]));
  }
  NAME(listed) = 0;
  if (f->params == 1 && !(f->flags & TAKES_INT)) NAME(many)();
  else NAME(few)(f->params == 3);
  state = plan->seed;
  struct NAME(worst) worst = {.units = -1};
  cl_ulong specials = NAME(fill_special)(f->params, f->flags, 0), tried = 0, all = specials + plan->numbers;
  double began = seconds(), shown = began;
  while (tried < all) {
    int is_special = tried < specials;
    cl_ulong rest = is_special ? specials - tried : all - tried;
    if (is_special) NAME(fill_special)(f->params, f->flags, tried);
    else NAME(fill_random)(f->params, f->flags);
    size_t global = CHUNK / width;
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    int count = rest < CHUNK ? (int)rest : CHUNK;
    NAME(compare)(f, count, &worst);
    tried += count;
    if (seconds() - shown > 10) {
      shown = seconds();
      fprintf(stderr, "%s of %s: %llu of %llu numbers\n", text, TYPE_NAME, (unsigned long long)tried, (unsigned long long)all);
    }
  }
  double took = seconds() - began;
  for (int i = 0; i < 7; i++) CHECK(clReleaseMemObject(buffers[i]));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  double bound = DIGITS == 11 && !(f->flags & IS_EXACT) ? HALF_BOUND : fabs(f->bound);
  int is_right = worst.units <= bound;
  if (plan->is_quiet) return is_right;
  print_line(f->text, TYPE_NAME, width, tried, worst.units, bound, f->bound < 0, is_right, tried / took);
  if (worst.units > 0) {
    struct NAME(call) c = {NAME(real)(worst.x), NAME(real)(worst.y), NAME(real)(worst.z), worst.n, 0, 0, worst.count};
    REAL truth = f->of(&c);
    printf("  at x = %a", (double)c.x);
    if (f->params > 1) printf(", y = %a", (double)c.y);
    if (f->params > 2) printf(", z = %a", (double)c.z);
    if (f->flags & TAKES_INT) printf(", n = %d", worst.n);
    if (!is_right) {
      printf(": %a", (double)NAME(real)(worst.found));
      if (f->flags & HAS_OTHER) printf(" and %a", (double)NAME(real)(worst.other));
      if (f->flags & HAS_COUNT) printf(" and %d", worst.count);
      printf(", true is %La", (long double)truth);
      if (f->flags & HAS_OTHER) printf(" and %La", (long double)c.other);
      if (f->flags & HAS_COUNT) printf(" and %d", c.count);
    }
    printf("\n");
  }
  fflush(stdout);
  return is_right;
}

// Checks the functions that are named, or all; returns the number of wrong ones.
static int NAME(check_all)(struct setting s, const struct plan *plan) {
  int wrong = 0;
  for (int i = 0; i < NAME(FUNCTIONS); i++) {
    const struct NAME(function) *f = &NAME(functions)[i];
    if (!is_named(f->text, plan)) continue;
    struct plan own = *plan;
    if (f->flags & ONLY_SCALAR) {
      own.width = 1;
      wrong += plan->width < 2 && !NAME(check)(s, f, &own, f->text);
      continue;
    }
    static const int widths[] = {2, 3, 4, 8, 16};
    if (!plan->width) {
      // Scalars, and vectors of one width, which differs from function to function.
      own.width = 1;
      wrong += !NAME(check)(s, f, &own, f->text);
      own.width = widths[i % 5];
      own.numbers = plan->numbers < CHUNK ? plan->numbers : CHUNK;
    }
    wrong += !NAME(check)(s, f, &own, f->text);
  }
  return wrong;
}

#undef OF
#undef OF_LIBRARY
#undef ROUNDED
#undef NAME
#undef STORED
#undef TYPE
#undef T
#undef REAL
#undef R
#undef DIGITS
#undef LEAST
#undef MOST
#undef BITS
#undef TYPE_NAME
