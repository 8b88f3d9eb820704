// Conversions: convert_TYPE, with saturation and rounding modes. Each destination integer type (TO_INTEGER) and the
// floats (TO_FLOATS) are separate modules, since there are many functions.
#include "common.h"

#define LEAST_char CHAR_MIN
#define MOST_char CHAR_MAX
#define LEAST_uchar 0
#define MOST_uchar UCHAR_MAX
#define LEAST_short SHRT_MIN
#define MOST_short SHRT_MAX
#define LEAST_ushort 0
#define MOST_ushort USHRT_MAX
#define LEAST_int INT_MIN
#define MOST_int INT_MAX
#define LEAST_uint 0
#define MOST_uint UINT_MAX
#define LEAST_long LONG_MIN
#define MOST_long LONG_MAX
#define LEAST_ulong 0
#define MOST_ulong ULONG_MAX
#define MODES(X, ...) X(, __VA_ARGS__) X(_rte, __VA_ARGS__) X(_rtz, __VA_ARGS__) X(_rtp, __VA_ARGS__) X(_rtn, __VA_ARGS__)

// Vector conversions from scalar ones.
#define CONVERT_ONE(s, f) f(a.s)
#define CONVERT_VECTOR(n, D, S, name) \
  PURE D##n convert_##D##n##name(S##n a) { return (D##n)(LIST##n(CONVERT_ONE, convert_##D##name)); }
#define CONVERT_VECTORS(D, S, name) EACH_WIDTH(CONVERT_VECTOR, D, S, name)

// Integer to integer: exact.
#define INT_MODE(mode, D, S) \
  PURE D convert_##D##mode(S x) { return (D)x; } \
  PURE D convert_##D##_sat##mode(S x) { return (D)SATURATE_##S(D, x); } \
  CONVERT_VECTORS(D, S, mode) \
  CONVERT_VECTORS(D, S, _sat##mode)
#define SATURATE_SIGNED(D, x) \
  ((long)x < (long)LEAST_##D                                 ? (long)LEAST_##D \
   : x > 0 && (ulong)x > (ulong)MOST_##D ? (long)MOST_##D \
                                                             : (long)x)
#define SATURATE_UNSIGNED(D, x) ((ulong)x > (ulong)MOST_##D ? (ulong)MOST_##D : (ulong)x)
#define SATURATE_char SATURATE_SIGNED
#define SATURATE_short SATURATE_SIGNED
#define SATURATE_int SATURATE_SIGNED
#define SATURATE_long SATURATE_SIGNED
#define SATURATE_uchar SATURATE_UNSIGNED
#define SATURATE_ushort SATURATE_UNSIGNED
#define SATURATE_uint SATURATE_UNSIGNED
#define SATURATE_ulong SATURATE_UNSIGNED
#define INT_INT(D, S) MODES(INT_MODE, D, S)
#define FROM_INTEGERS(X, D) \
  X(D, char) X(D, uchar) X(D, short) X(D, ushort) X(D, int) X(D, uint) X(D, long) X(D, ulong)

// Float to integer: towards zero unless another mode is named. Always saturates, so that every float has a defined
// result.
#define WHOLE(x) x
#define WHOLE_rtz(x) x
#define WHOLE_rte(x) __builtin_elementwise_roundeven(x)
#define WHOLE_rtp(x) __builtin_elementwise_ceil(x)
#define WHOLE_rtn(x) __builtin_elementwise_floor(x)
#define BITS_char i8
#define BITS_uchar i8
#define BITS_short i16
#define BITS_ushort i16
#define BITS_int i32
#define BITS_uint i32
#define BITS_long i64
#define BITS_ulong i64
#define TO_SIGNED fptosi
#define TO_UNSIGNED fptoui
#define KIND_char TO_SIGNED
#define KIND_uchar TO_UNSIGNED
#define KIND_short TO_SIGNED
#define KIND_ushort TO_UNSIGNED
#define KIND_int TO_SIGNED
#define KIND_uint TO_UNSIGNED
#define KIND_long TO_SIGNED
#define KIND_ulong TO_UNSIGNED
#define WORD_float f32
#define WORD_double f64
#define TEXT(x) #x
#define INTRINSIC(kind, bits, word) TEXT(llvm.kind.sat.bits.word)
#define SATURATING(S, D) \
  __attribute__((overloadable, const, nothrow)) D saturated_##D(S) __asm(INTRINSIC(KIND_##D, BITS_##D, WORD_##S));
#define SATURATINGS(_, D) SATURATING(float, D) SATURATING(double, D)
INTEGERS(SATURATINGS, _)
#define FLOAT_INT_MODE(mode, D, S) \
  PURE D convert_##D##_sat##mode(S x) { return saturated_##D(WHOLE##mode(x)); } \
  PURE D convert_##D##mode(S x) { return saturated_##D(WHOLE##mode(x)); } \
  CONVERT_VECTORS(D, S, mode) \
  CONVERT_VECTORS(D, S, _sat##mode)
// Floats hold every half.
#define HALF_INT_MODE(mode, D, S) \
  PURE D convert_##D##_sat##mode(S x) { return convert_##D##_sat##mode((float)x); } \
  PURE D convert_##D##mode(S x) { return convert_##D##mode((float)x); } \
  CONVERT_VECTORS(D, S, mode) \
  CONVERT_VECTORS(D, S, _sat##mode)
#define FLOAT_INT(_, D) MODES(FLOAT_INT_MODE, D, float) MODES(FLOAT_INT_MODE, D, double) MODES(HALF_INT_MODE, D, half)

#ifdef TO_INTEGER
#define ALL_TO(D) FROM_INTEGERS(INT_INT, D) FLOAT_INT(_, D)
ALL_TO(TO_INTEGER)
#endif

// The adjacent floats, by the bits.
#define STEPS(T, I, sign) \
  static PURE T above(T x) { \
    I bits = __builtin_astype(x, I); \
    return (bits & ~sign) == 0 ? __builtin_astype((I)1, T) : __builtin_astype((I)(bits + (bits < 0 ? -1 : 1)), T); \
  } \
  static PURE T below(T x) { return -above(-x); }
STEPS(half, short, SHRT_MIN)
STEPS(float, int, INT_MIN)
STEPS(double, long, LONG_MIN)

// The float nearest to an integer, and the order of integer and float: below, equal, above.
#define ORDER(x, y) ((x) < (y) ? -1 : (x) > (y) ? 1 : 0)
#define NEAR_SMALL(F, S) \
  static PURE int side(S x, F near) { return ORDER((double)x, (double)near); }
#define NEAR_LONG(F) \
  static PURE int side(long x, F near) { return near >= (F)0x1p63 ? -1 : ORDER(x, (long)near); } \
  static PURE int side(ulong x, F near) { return near >= (F)0x1p64 ? -1 : ORDER(x, (ulong)near); }
#define NEAR_HALF(_, S) NEAR_SMALL(half, S)
#define NEAR(F) \
  NEAR_SMALL(F, char) NEAR_SMALL(F, uchar) NEAR_SMALL(F, short) NEAR_SMALL(F, ushort) NEAR_SMALL(F, int) \
  NEAR_SMALL(F, uint) NEAR_LONG(F)
NEAR(float)
NEAR(double)
// Numbers that a half cannot hold are far below those that a double cannot.
INTEGERS(NEAR_HALF, _)
static PURE int side(float x, half near) { return ORDER(x, (float)near); }
static PURE int side(double x, half near) { return ORDER(x, (double)near); }
static PURE int side(double x, float near) { return ORDER(x, (double)near); }
#define EXACT(S, D) \
  static PURE int side(S x, D near) { return 0; }
EXACT(half, half)
EXACT(half, float)
EXACT(half, double)
EXACT(float, float)
EXACT(float, double)
EXACT(double, double)

// To float: to nearest unless another mode is named.
#define TO_FLOAT(D, S) \
  PURE D convert_##D(S x) { return (D)x; } \
  PURE D convert_##D##_rte(S x) { return (D)x; } \
  PURE D convert_##D##_rtp(S x) { \
    D near = (D)x; \
    return side(x, near) > 0 ? above(near) : near; \
  } \
  PURE D convert_##D##_rtn(S x) { \
    D near = (D)x; \
    return side(x, near) < 0 ? below(near) : near; \
  } \
  PURE D convert_##D##_rtz(S x) { return x < 0 ? convert_##D##_rtp(x) : convert_##D##_rtn(x); } \
  CONVERT_VECTORS(D, S, ) \
  CONVERT_VECTORS(D, S, _rte) \
  CONVERT_VECTORS(D, S, _rtp) \
  CONVERT_VECTORS(D, S, _rtn) \
  CONVERT_VECTORS(D, S, _rtz)
#ifdef TO_FLOATS
#define ALL_FLOATS(_, S) TO_FLOAT(half, S) TO_FLOAT(float, S) TO_FLOAT(double, S)
NUMBERS(ALL_FLOATS, _)
#endif
