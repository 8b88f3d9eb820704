// Mathematical, common and geometric functions of halves.
//
// Most call the function of floats and round its result. A float has 24 bits, so that rounding twice is rounding once for
// sums, products, quotients and roots of halves (2 * 11 + 2 bits suffice); remainders, exponents and powers of two are
// exact in floats. Elsewhere the float errs by a few of its own units, 2^-13 of a half's, so results err by less than
// 0.51 units. `fma` is rounded once where it is emitted.
#include "common.h"

#define BY_FLOAT(name) \
  PURE half name(half a) { return (half)name((float)a); } \
  UNARY(name, half, half)
#define BY_FLOAT2(name) \
  PURE half name(half a, half b) { return (half)name((float)a, (float)b); } \
  BINARY(name, half, half, half)
#define BY_FLOAT_INT(name) \
  PURE half name(half a, int b) { return (half)name((float)a, b); } \
  BINARY(name, half, half, int)

BY_FLOAT(acos)
BY_FLOAT(acosh)
BY_FLOAT(acospi)
BY_FLOAT(asin)
BY_FLOAT(asinh)
BY_FLOAT(asinpi)
BY_FLOAT(atan)
BY_FLOAT(atanh)
BY_FLOAT(atanpi)
BY_FLOAT(cbrt)
BY_FLOAT(cos)
BY_FLOAT(cosh)
BY_FLOAT(cospi)
BY_FLOAT(erf)
BY_FLOAT(erfc)
BY_FLOAT(exp)
BY_FLOAT(exp10)
BY_FLOAT(exp2)
BY_FLOAT(expm1)
BY_FLOAT(lgamma)
BY_FLOAT(log)
BY_FLOAT(log10)
BY_FLOAT(log1p)
BY_FLOAT(log2)
BY_FLOAT(logb)
BY_FLOAT(rsqrt)
BY_FLOAT(sin)
BY_FLOAT(sinh)
BY_FLOAT(sinpi)
BY_FLOAT(tan)
BY_FLOAT(tanh)
BY_FLOAT(tanpi)
BY_FLOAT(tgamma)
BY_FLOAT(degrees)
BY_FLOAT(radians)
BY_FLOAT(sign)
BY_FLOAT2(atan2)
BY_FLOAT2(atan2pi)
BY_FLOAT2(fdim)
BY_FLOAT2(fmod)
BY_FLOAT2(hypot)
BY_FLOAT2(pow)
BY_FLOAT2(powr)
BY_FLOAT2(remainder)
BY_FLOAT_INT(ldexp)
BY_FLOAT_INT(pown)
BY_FLOAT_INT(rootn)
PURE int ilogb(half x) { return ilogb((float)x); }
UNARY(ilogb, int, half)

// Operations of the processor, on halves where it has them.
#define MACHINE(name, builtin) \
  PURE half name(half x) { return builtin(x); } \
  UNARY(name, half, half)
#define PLAIN2(name, value) \
  PURE half name(half x, half y) { return value; } \
  BINARY(name, half, half, half)
MACHINE(fabs, __builtin_elementwise_abs)
MACHINE(ceil, __builtin_elementwise_ceil)
MACHINE(floor, __builtin_elementwise_floor)
MACHINE(rint, __builtin_elementwise_roundeven)
MACHINE(round, __builtin_elementwise_round)
MACHINE(sqrt, __builtin_elementwise_sqrt)
MACHINE(trunc, __builtin_elementwise_trunc)
PLAIN2(copysign, __builtin_elementwise_copysign(x, y))
PLAIN2(fmax, x != x ? y : x < y ? y : x)
PLAIN2(fmin, x != x ? y : y < x ? y : x)
PLAIN2(max, x < y ? y : x)
PLAIN2(min, y < x ? y : x)
PLAIN2(step, y < x ? (half)0 : (half)1)
PLAIN2(maxmag, fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y))
PLAIN2(minmag, fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y))
#define FUSED(T) \
  PURE T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); } \
  PURE T mad(T a, T b, T c) { return a * b + c; }
WIDTHS(FUSED, half)

PURE half nan(ushort code) { return __builtin_astype((ushort)(0x7e00 | (code & 0x1ff)), half); }
UNARY(nan, half, ushort)
PURE half nextafter(half x, half y) {
  short bits = __builtin_astype(x, short), sign = __builtin_astype(y, short) & SHRT_MIN;
  half least = __builtin_astype((short)(1 | sign), half);
  half next = x == 0 ? least : __builtin_astype((short)(bits + ((x < y) == (bits >= 0) ? 1 : -1)), half);
  return x != x || y != y ? x + y : x == y ? y : next;
}
BINARY(nextafter, half, half, half)

// --- common functions ---

PURE half clamp(half x, half low, half high) {
  half raised = x < low ? low : x;
  return high < raised ? high : raised;
}
PURE half mix(half x, half y, half by) { return (half)mix((float)x, (float)y, (float)by); }
PURE half smoothstep(half low, half high, half x) { return (half)smoothstep((float)low, (float)high, (float)x); }
TERNARY(clamp, half, half, half, half)
TERNARY(mix, half, half, half, half)
TERNARY(smoothstep, half, half, half, half)
#define FIRST(s, f) f(a.s, b)
#define MIDDLE(s, f) f(a.s, b, c)
#define LAST(s, f) f(a, b.s)
#define LAST_OF_THREE(s, f) f(a, b, c.s)
#define BY(s, f) f(a.s, b.s, c)
#define MIXED(n, _) \
  PURE half##n fmax(half##n a, half b) { return (half##n)(LIST##n(FIRST, fmax)); } \
  PURE half##n fmin(half##n a, half b) { return (half##n)(LIST##n(FIRST, fmin)); } \
  PURE half##n ldexp(half##n a, int b) { return (half##n)(LIST##n(FIRST, ldexp)); } \
  PURE half##n max(half##n a, half b) { return (half##n)(LIST##n(FIRST, max)); } \
  PURE half##n min(half##n a, half b) { return (half##n)(LIST##n(FIRST, min)); } \
  PURE half##n clamp(half##n a, half b, half c) { return (half##n)(LIST##n(MIDDLE, clamp)); } \
  PURE half##n step(half a, half##n b) { return (half##n)(LIST##n(LAST, step)); } \
  PURE half##n smoothstep(half a, half b, half##n c) { return (half##n)(LIST##n(LAST_OF_THREE, smoothstep)); } \
  PURE half##n mix(half##n a, half##n b, half c) { return (half##n)(LIST##n(BY, mix)); }
EACH_WIDTH(MIXED, _)

// --- geometric functions ---

#define WIDE(n, x) __builtin_convertvector(x, float##n)
#define NARROW(n, x) __builtin_convertvector(x, half##n)
PURE half dot(half a, half b) { return a * b; }
PURE half length(half a) { return fabs(a); }
PURE half distance(half a, half b) { return (half)distance((float)a, (float)b); }
PURE half normalize(half a) { return (half)normalize((float)a); }
#define SIZES(n) \
  PURE half dot(half##n a, half##n b) { return (half)dot(WIDE(n, a), WIDE(n, b)); } \
  PURE half length(half##n a) { return (half)length(WIDE(n, a)); } \
  PURE half distance(half##n a, half##n b) { return (half)distance(WIDE(n, a), WIDE(n, b)); } \
  PURE half##n normalize(half##n a) { return NARROW(n, normalize(WIDE(n, a))); }
SIZES(2)
SIZES(3)
SIZES(4)
PURE half3 cross(half3 a, half3 b) { return NARROW(3, cross(WIDE(3, a), WIDE(3, b))); }
PURE half4 cross(half4 a, half4 b) { return NARROW(4, cross(WIDE(4, a), WIDE(4, b))); }

// --- functions with a second result ---

static FUNCTION half fract_of(half x, half *whole) {
  *whole = floor(x);
  half below_one = (half)0x1.ffcp-1, value = x - *whole;
  value = value < below_one ? value : below_one;
  return x != x ? x : fabs(x) == (half)__builtin_inff() ? copysign((half)0, x) : x == 0 ? x : value;
}
static FUNCTION half modf_of(half x, half *whole) {
  *whole = trunc(x);
  return copysign(fabs(x) == (half)__builtin_inff() ? (half)0 : x - *whole, x);
}
static FUNCTION half sincos_of(half x, half *cosine) {
  *cosine = cos(x);
  return sin(x);
}
static FUNCTION half frexp_of(half x, int *e) { return (half)frexp((float)x, e); }
static FUNCTION half lgamma_r_of(half x, int *sign) { return (half)lgamma_r((float)x, sign); }
static FUNCTION half divide_near(half x, half y, int *quotient) { return (half)remquo((float)x, (float)y, quotient); }
SECONDS(fract, half, half)
SECONDS(modf, half, half)
SECONDS(sincos, half, half)
SECONDS(frexp, half, int)
SECONDS(lgamma_r, half, int)
REMQUO_SPACE(half, __global)
REMQUO_SPACE(half, __local)
REMQUO_SPACE(half, __private)
REMQUO_SPACE(half, __generic)
