// Mathematical functions. Functions of Heddle's math library are called by its own names; the others are built from
// them. Error bounds are those of the full profile; comments sum up the errors.
#include "common.h"

#define OWN(name) \
  __attribute__((overloadable, const, nothrow)) float own_##name(float) __asm("heddle." #name "f"); \
  __attribute__((overloadable, const, nothrow)) double own_##name(double) __asm("heddle." #name);
#define OWN_SINGLE(name) \
  __attribute__((overloadable, const, nothrow)) float own_##name(float) __asm("heddle." #name "f");
#define OWN2(name) \
  __attribute__((overloadable, const, nothrow)) float own_##name(float, float) __asm("heddle." #name "f"); \
  __attribute__((overloadable, const, nothrow)) double own_##name(double, double) __asm("heddle." #name);
// Fast forms, for functions whose bound in the full profile they keep.
#define OWN_FAST(name) \
  __attribute__((overloadable, const, nothrow)) float fast_##name(float) __asm("heddle.fast." #name "f"); \
  __attribute__((overloadable, const, nothrow)) double fast_##name(double) __asm("heddle.fast." #name);
#define OWN2_FAST(name) \
  __attribute__((overloadable, const, nothrow)) float fast_##name(float, float) __asm("heddle.fast." #name "f"); \
  __attribute__((overloadable, const, nothrow)) double fast_##name(double, double) __asm("heddle.fast." #name);
#define UNARY_BOTH(name) \
  UNARY(name, float, float) \
  UNARY(name, double, double)
#define BINARY_BOTH(name) \
  BINARY(name, float, float, float) \
  BINARY(name, double, double, double)

#define FROM_OWN(name) \
  OWN(name) \
  PURE float name(float x) { return own_##name(x); } \
  PURE double name(double x) { return own_##name(x); } \
  UNARY_BOTH(name)
#define FROM_OWN2(name) \
  OWN2(name) \
  PURE float name(float x, float y) { return own_##name(x, y); } \
  PURE double name(double x, double y) { return own_##name(x, y); } \
  BINARY_BOTH(name)
#define FROM_FAST(name) \
  OWN(name) \
  OWN_FAST(name) \
  PURE float name(float x) { return fast_##name(x); } \
  PURE double name(double x) { return fast_##name(x); } \
  UNARY_BOTH(name)
#define FROM_FAST2(name) \
  OWN2(name) \
  OWN2_FAST(name) \
  PURE float name(float x, float y) { return fast_##name(x, y); } \
  PURE double name(double x, double y) { return fast_##name(x, y); } \
  BINARY_BOTH(name)
FROM_FAST(acos)
FROM_FAST(asin)
FROM_FAST(atan)
FROM_OWN(cbrt)
FROM_FAST(cos)
FROM_OWN(cosh)
FROM_OWN(exp)
FROM_OWN(exp10)
FROM_OWN(exp2)
FROM_OWN(expm1)
FROM_FAST(log)
FROM_FAST(log10)
FROM_FAST(log1p)
FROM_FAST(log2)
FROM_FAST(sin)
FROM_OWN(sinh)
FROM_FAST(tan)
FROM_FAST(tanh)
FROM_OWN2(fmod)
FROM_FAST2(atan2)
FROM_OWN2(hypot)
FROM_FAST2(pow)

// Hardware instructions.
#define MACHINE(name, builtin) \
  PURE float name(float x) { return builtin(x); } \
  PURE double name(double x) { return builtin(x); } \
  UNARY_BOTH(name)
#define MACHINE2(name, builtin) \
  PURE float name(float x, float y) { return builtin(x, y); } \
  PURE double name(double x, double y) { return builtin(x, y); } \
  BINARY_BOTH(name)
MACHINE(fabs, __builtin_elementwise_abs)
MACHINE(ceil, __builtin_elementwise_ceil)
MACHINE(floor, __builtin_elementwise_floor)
MACHINE(rint, __builtin_elementwise_roundeven)
MACHINE(round, __builtin_elementwise_round)
MACHINE(sqrt, __builtin_elementwise_sqrt)
MACHINE(trunc, __builtin_elementwise_trunc)
MACHINE2(copysign, __builtin_elementwise_copysign)
// As specified, one instruction and a select; the sign of a zero result is unspecified.
#define GREATER(x, y) ((x) != (x) ? (y) : (x) < (y) ? (y) : (x))
#define LESSER(x, y) ((x) != (x) ? (y) : (y) < (x) ? (y) : (x))
MACHINE2(fmax, GREATER)
MACHINE2(fmin, LESSER)

#define FIRST(s, f) f(a.s, b)
#define WITH_SCALAR(n, T) \
  PURE T##n fmax(T##n a, T b) { return (T##n)(LIST##n(FIRST, fmax)); } \
  PURE T##n fmin(T##n a, T b) { return (T##n)(LIST##n(FIRST, fmin)); }
EACH_WIDTH(WITH_SCALAR, float)
EACH_WIDTH(WITH_SCALAR, double)

#define FUSED(T) \
  PURE T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); } \
  PURE T mad(T a, T b, T c) { \
    _Pragma("clang fp contract(on)") \
    return a * b + c; \
  }
WIDTHS(FUSED, float)
WIDTHS(FUSED, double)

// --- both float types ---
//
// T with integers I and U of its size; `bits` mantissa bits below the exponent, whose bias is `bias`.

#define HALF_PI(T) ((T)1.57079632679489661923)
#define PI(T) ((T)3.14159265358979323846)
#define PER_PI(T) ((T)0.318309886183790671538)
#define LN_2(T) ((T)0.693147180559945309417)
#define INFINITE(T) ((T)__builtin_inf())
#define NO_NUMBER(T) ((T)__builtin_nan(""))

// A quarter turn is 1/2 here. The remainder of x after whole half turns is exact, so the product with pi adds the
// only error before that of sin and cos: 2 units in all. From 2^54 on all numbers are even.
#define TURNS(T) \
  static PURE T sin_pi_near(T x) { return own_sin(PI(T) * x); } \
  static PURE T cos_pi_near(T x) { return own_cos(PI(T) * x); } \
  PURE T sinpi(T x) { \
    T size = fabs(x), near = size < (T)0x1p54 ? size : (T)0; \
    T whole = rint(2 * near), rest = near - (T)0.5 * whole; \
    T turn = whole - 4 * floor((T)0.25 * whole); \
    T value = turn == 1 || turn == 3 ? cos_pi_near(rest) : sin_pi_near(rest); \
    value = turn >= 2 ? -value : value; \
    value = floor(size) == size ? (T)0 : value; \
    return size == INFINITE(T) ? NO_NUMBER(T) : x != x ? x : x < 0 || 1 / x < 0 ? -value : value; \
  } \
  PURE T cospi(T x) { \
    T size = fabs(x), near = size < (T)0x1p54 ? size : (T)0; \
    T whole = rint(2 * near), rest = near - (T)0.5 * whole; \
    T turn = whole - 4 * floor((T)0.25 * whole); \
    T value = turn == 1 || turn == 3 ? sin_pi_near(rest) : cos_pi_near(rest); \
    value = turn == 1 || turn == 2 ? -value : value; \
    value = value == 0 ? (T)0 : value; \
    return size == INFINITE(T) ? NO_NUMBER(T) : x != x ? x : value; \
  } \
  PURE T tanpi(T x) { \
    T size = fabs(x), whole = rint(size), rest = size - whole, part = fabs(rest); \
    int is_odd = whole != 2 * floor((T)0.5 * whole); \
    int is_steep = part > (T)0.25; \
    T near = own_tan(PI(T) * (is_steep ? (T)0.5 - part : part)); \
    T value = is_steep ? 1 / near : near; \
    int is_negative = rest < 0 || (rest == 0 && is_odd); \
    value = is_negative ? -value : value; \
    value = copysign((T)1, x) < 0 ? -value : value; \
    return size == INFINITE(T) ? NO_NUMBER(T) : x != x ? x : value; \
  } \
  PURE T acospi(T x) { return own_acos(x) * PER_PI(T); } \
  PURE T asinpi(T x) { return own_asin(x) * PER_PI(T); } \
  PURE T atanpi(T x) { return own_atan(x) * PER_PI(T); } \
  PURE T atan2pi(T y, T x) { \
    int are_infinite = fabs(x) == INFINITE(T) && fabs(y) == INFINITE(T); \
    T value = own_atan2(y, x) * PER_PI(T); \
    return are_infinite ? copysign(x < 0 ? (T)0.75 : (T)0.25, y) : value; \
  }

// The inverse hyperbolic functions, by log1p of expressions without cancellation: 3 units. Beyond `great` the 1 under
// the root is negligible.
#define INVERSE_HYPERBOLIC(T, great) \
  PURE T asinh(T x) { \
    T size = fabs(x); \
    T square = size * size; \
    T near = own_log1p(size + square / (1 + sqrt(square + 1))); \
    T far = own_log(size) + LN_2(T); \
    return copysign(size > great ? far : near, x); \
  } \
  PURE T acosh(T x) { \
    T t = x - 1; \
    T near = own_log1p(t + sqrt(2 * t + t * t)); \
    T far = own_log(x) + LN_2(T); \
    return x > great ? far : x < 1 ? NO_NUMBER(T) : near; \
  } \
  PURE T atanh(T x) { \
    T size = fabs(x); \
    T value = (T)0.5 * own_log1p(2 * size / (1 - size)); \
    value = size < (T)0x1p-30 ? size : value; \
    return copysign(value, x); \
  }

#define PARTS(T, I, U, bits, bias) \
  PURE T fdim(T x, T y) { return x != x || y != y ? x + y : x > y ? x - y : (T)0; } \
  PURE T maxmag(T x, T y) { T a = fabs(x), b = fabs(y); return a > b ? x : b > a ? y : fmax(x, y); } \
  PURE T minmag(T x, T y) { T a = fabs(x), b = fabs(y); return a < b ? x : b < a ? y : fmin(x, y); } \
  PURE T rsqrt(T x) { return 1 / sqrt(x); } \
  PURE T nan(U code) { \
    U quiet = (((U)2 * bias + 1) << bits) | ((U)1 << (bits - 1)); \
    return __builtin_astype(quiet | (code & (((U)1 << (bits - 1)) - 1)), T); \
  } \
  PURE T nextafter(T x, T y) { \
    I ix = __builtin_astype(x, I); \
    I least = 1 | (__builtin_astype(y, I) & ((I)1 << (sizeof(T) * 8 - 1))); \
    T next = x == 0 ? __builtin_astype(least, T) : __builtin_astype(ix + ((x < y) == (ix >= 0) ? 1 : -1), T); \
    return x != x || y != y ? x + y : x == y ? y : next; \
  } \
  /* The exponent of x as of a float that is normal, and how much it was raised for that. */ \
  static PURE int exponent_of(T x) { \
    int is_small = fabs(x) < __builtin_astype((U)1 << bits, T); \
    T normal = is_small ? x * (T)((U)1 << bits) : x; \
    int field = (int)(__builtin_astype(fabs(normal), U) >> bits); \
    return field - bias - (is_small ? bits : 0); \
  } \
  PURE int ilogb(T x) { \
    return x != x ? FP_ILOGBNAN : x == 0 ? FP_ILOGB0 : fabs(x) == INFINITE(T) ? INT_MAX : exponent_of(x); \
  } \
  PURE T logb(T x) { \
    return x != x ? x : x == 0 ? -INFINITE(T) : fabs(x) == INFINITE(T) ? INFINITE(T) : (T)exponent_of(x); \
  } \
  PURE T ldexp(T x, int by) { return __builtin_elementwise_ldexp(x, by); } \
  static FUNCTION T mantissa_of(T x, int *e) { \
    int is_plain = x == x && x != 0 && fabs(x) != INFINITE(T); \
    int exponent = exponent_of(x) + 1; \
    T half_scaled = ldexp(x, -exponent); \
    *e = is_plain ? exponent : 0; \
    return is_plain ? half_scaled : x; \
  } \
  /* Eight bits of the quotient and the rest, which is exact in each step. */ \
  static FUNCTION T divide_near(T x, T y, int *quotient) { \
    T a = fabs(x), b = fabs(y); \
    T rest = b < __builtin_astype((U)(2 * bias - 8) << bits, T) ? fmod(a, 128 * b) : a; \
    int q = 0; \
    /* Quotients by large y are not reduced before; they are less than 2^9. */ \
    for (int k = 8; k >= 0; --k) { \
      T part = b * (T)(1 << k); \
      int fits = rest >= part; \
      rest = fits ? rest - part : rest; \
      q += fits ? 1 << k : 0; \
    } \
    T other = b - rest; \
    int is_up = rest > other || (rest == other && (q & 1)); \
    rest = is_up ? rest - b : rest; \
    q = (q + is_up) & 0x7f; \
    *quotient = (x < 0) != (y < 0) ? -q : q; \
    T value = x < 0 || (x == 0 && 1 / x < 0) ? -rest : rest; \
    int is_none = x != x || y != y || a == INFINITE(T) || b == 0; \
    *quotient = is_none || b == INFINITE(T) ? 0 : *quotient; \
    return is_none ? NO_NUMBER(T) : b == INFINITE(T) ? x : value; \
  } \
  PURE T remainder(T x, T y) { \
    int quotient; \
    return divide_near(x, y, &quotient); \
  } \
  PURE T powr(T x, T y) { \
    T value = own_pow(x, y); \
    int is_none = x < 0 || x != x || y != y || (x == 0 && y == 0) || (x == INFINITE(T) && y == 0) || \
                  (x == 1 && fabs(y) == INFINITE(T)); \
    T at_zero = y < 0 ? INFINITE(T) : (T)0; \
    return is_none ? NO_NUMBER(T) : x == 0 ? at_zero : value; \
  }

TURNS(float)
TURNS(double)
INVERSE_HYPERBOLIC(float, 0x1p14f)
INVERSE_HYPERBOLIC(double, 0x1p28)
PARTS(float, int, uint, 23, 127)
PARTS(double, long, ulong, 52, 1023)
UNARY_BOTH(sinpi)
UNARY_BOTH(cospi)
UNARY_BOTH(tanpi)
UNARY_BOTH(acospi)
UNARY_BOTH(asinpi)
UNARY_BOTH(atanpi)
BINARY_BOTH(atan2pi)
UNARY_BOTH(asinh)
UNARY_BOTH(acosh)
UNARY_BOTH(atanh)
BINARY_BOTH(fdim)
BINARY_BOTH(maxmag)
BINARY_BOTH(minmag)
UNARY_BOTH(rsqrt)
UNARY(nan, float, uint)
UNARY(nan, double, ulong)
BINARY_BOTH(nextafter)
UNARY(ilogb, int, float)
UNARY(ilogb, int, double)
UNARY_BOTH(logb)
BINARY(ldexp, float, float, int)
BINARY(ldexp, double, double, int)
#define LDEXP(n, T) \
  PURE T##n ldexp(T##n a, int b) { return (T##n)(LIST##n(FIRST, ldexp)); }
EACH_WIDTH(LDEXP, float)
EACH_WIDTH(LDEXP, double)
BINARY_BOTH(remainder)
BINARY_BOTH(powr)

// Integer powers and roots of floats use doubles, which hold every int.
PURE float pown(float x, int n) { return (float)own_pow((double)x, (double)n); }
PURE double pown(double x, int n) { return own_pow(x, (double)n); }
BINARY(pown, float, float, int)
BINARY(pown, double, double, int)

static PURE double root_of_size(double a, int n) {
  double count = fabs((double)n);
  // 1 / n errs by half a unit, which the power multiplies by its logarithm: a Newton step corrects that where the
  // root is not nearly 1. Scaling by powers of two keeps the step in range.
  double lift = ceil(120 / count);
  lift = a < 0x1p-800 ? lift : a > 0x1p800 ? -lift : 0;
  double scaled = count > 64 ? a : ldexp(a, (int)(lift * (count > 64 ? 0 : count)));
  double root = own_pow(scaled, 1 / count);
  double off = own_pow(root, count) / scaled - 1;
  double better = root - root * (off / count);
  root = count > 64 || a == 0 || a == INFINITE(double) ? own_pow(a, 1 / count) : ldexp(better, (int)-lift);
  return n < 0 ? 1 / root : root;
}
#define ROOTN(T) \
  PURE T rootn(T x, int n) { \
    T root = (T)root_of_size(fabs((double)x), n); \
    T value = n & 1 ? copysign(root, x) : root; \
    return n == 0 || x != x || (x < 0 && !(n & 1)) ? NO_NUMBER(T) : value; \
  } \
  BINARY(rootn, T, T, int)
ROOTN(float)
ROOTN(double)

// --- functions with a second result ---

#define WITH_SECOND(T, below_one) \
  static FUNCTION T fract_of(T x, T *whole) { \
    *whole = floor(x); \
    T value = x - *whole; \
    value = value < below_one ? value : below_one; \
    return x != x ? x : fabs(x) == INFINITE(T) ? copysign((T)0, x) : x == 0 ? x : value; \
  } \
  static FUNCTION T modf_of(T x, T *whole) { \
    *whole = trunc(x); \
    return copysign(fabs(x) == INFINITE(T) ? (T)0 : x - *whole, x); \
  } \
  static FUNCTION T sincos_of(T x, T *cosine) { \
    *cosine = own_cos(x); \
    return own_sin(x); \
  } \
  static FUNCTION T frexp_of(T x, int *e) { return mantissa_of(x, e); } \
  SECONDS(fract, T, T) \
  SECONDS(modf, T, T) \
  SECONDS(sincos, T, T) \
  SECONDS(frexp, T, int)
WITH_SECOND(float, 0x1.fffffep-1f)
WITH_SECOND(double, 0x1.fffffffffffffp-1)

#define REMQUO_SPACES(_, T) \
  REMQUO_SPACE(T, __global) REMQUO_SPACE(T, __local) REMQUO_SPACE(T, __private) REMQUO_SPACE(T, __generic)
FLOATS(REMQUO_SPACES, _)

// --- erf and gamma ---
#include "special.h"

// --- fast functions ---

#define fast_exp(x) own_exp(x)
#define fast_exp2(x) own_exp2(x)
#define fast_exp10(x) own_exp10(x)
#define fast_sqrt(x) __builtin_elementwise_sqrt(x)
#define fast_rsqrt(x) (1 / __builtin_elementwise_sqrt(x))
#define fast_recip(x) (1 / (x))
#define FAST(name) \
  PURE float native_##name(float x) { return fast_##name(x); } \
  PURE float half_##name(float x) { return fast_##name(x); } \
  UNARY(native_##name, float, float) \
  UNARY(half_##name, float, float)
FAST(cos)
FAST(sin)
FAST(tan)
FAST(exp)
FAST(exp2)
FAST(exp10)
FAST(log)
FAST(log2)
FAST(log10)
FAST(sqrt)
FAST(rsqrt)
FAST(recip)
#define FAST2(prefix) \
  PURE float prefix##_divide(float x, float y) { return x / y; } \
  PURE float prefix##_powr(float x, float y) { return powr(x, y); } \
  BINARY(prefix##_divide, float, float, float) \
  BINARY(prefix##_powr, float, float, float)
FAST2(native)
FAST2(half)
