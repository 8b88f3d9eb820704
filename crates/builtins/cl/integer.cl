// Integer functions: chapter "Integer Functions" of the specification.
#include "common.h"

#define COMMON(T, U) \
  PURE U abs_diff(T a, T b) { \
    return __builtin_astype(__builtin_elementwise_max(a, b), U) - __builtin_astype(__builtin_elementwise_min(a, b), U); \
  } \
  PURE T add_sat(T a, T b) { return __builtin_elementwise_add_sat(a, b); } \
  PURE T sub_sat(T a, T b) { return __builtin_elementwise_sub_sat(a, b); } \
  PURE T max(T a, T b) { return __builtin_elementwise_max(a, b); } \
  PURE T min(T a, T b) { return __builtin_elementwise_min(a, b); } \
  PURE T clamp(T x, T low, T high) { \
    return __builtin_elementwise_min(__builtin_elementwise_max(x, low), high); \
  } \
  PURE T popcount(T a) { return __builtin_elementwise_popcount(a); } \
  PURE T mad_hi(T a, T b, T c) { return mul_hi(a, b) + c; }

// Elements of mixed vector and scalar arguments: max(vector, scalar).
#define WITH_SCALAR(n, T) \
  PURE T##n max(T##n a, T b) { return __builtin_elementwise_max(a, (T##n)b); } \
  PURE T##n min(T##n a, T b) { return __builtin_elementwise_min(a, (T##n)b); } \
  PURE T##n clamp(T##n x, T low, T high) { \
    return __builtin_elementwise_min(__builtin_elementwise_max(x, (T##n)low), (T##n)high); \
  }

#define ABS_SIGNED(T, U) \
  PURE U abs(T a) { return __builtin_astype(__builtin_elementwise_max(a, (T)((T)0 - a)), U); }
#define ABS_UNSIGNED(T, U) \
  PURE U abs(T a) { return a; }

// Halves the sum without losing the carry.
#define HALVES(T, U) \
  PURE T hadd(T a, T b) { return (a & b) + ((a ^ b) >> (T)1); } \
  PURE T rhadd(T a, T b) { return (a | b) - ((a ^ b) >> (T)1); }

#define MUL_HI(T, W, bits) \
  PURE T mul_hi(T a, T b) { return (T)(((W)a * (W)b) >> bits); } \
  BINARY(mul_hi, T, T, T)
MUL_HI(char, int, 8)
MUL_HI(uchar, uint, 8)
MUL_HI(short, int, 16)
MUL_HI(ushort, uint, 16)
MUL_HI(int, long, 32)
MUL_HI(uint, ulong, 32)
PURE ulong mul_hi(ulong a, ulong b) {
  ulong a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  ulong low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
PURE long mul_hi(long a, long b) {
  ulong high = mul_hi((ulong)a, (ulong)b);
  return (long)(high - (a < 0 ? (ulong)b : 0) - (b < 0 ? (ulong)a : 0));
}
BINARY(mul_hi, long, long, long)
BINARY(mul_hi, ulong, ulong, ulong)

// a * b + c, saturated.
#define MAD_SAT_NARROW(T, W, least, most) \
  PURE T mad_sat(T a, T b, T c) { \
    W exact = (W)a * (W)b + (W)c; \
    return (T)(exact < least ? least : exact > most ? most : exact); \
  } \
  TERNARY(mad_sat, T, T, T, T)
MAD_SAT_NARROW(char, long, -128, 127)
MAD_SAT_NARROW(uchar, long, 0, 255)
MAD_SAT_NARROW(short, long, -32768, 32767)
MAD_SAT_NARROW(ushort, long, 0, 65535)
MAD_SAT_NARROW(int, long, INT_MIN, INT_MAX)
PURE uint mad_sat(uint a, uint b, uint c) {
  ulong exact = (ulong)a * b + c;
  return exact > UINT_MAX ? UINT_MAX : (uint)exact;
}
TERNARY(mad_sat, uint, uint, uint, uint)
PURE ulong mad_sat(ulong a, ulong b, ulong c) {
  ulong low = a * b, sum = low + c;
  return mul_hi(a, b) != 0 || sum < low ? ULONG_MAX : sum;
}
TERNARY(mad_sat, ulong, ulong, ulong, ulong)
PURE long mad_sat(long a, long b, long c) {
  // The exact sum in two words; it fits where the upper one repeats the sign.
  ulong low = (ulong)a * (ulong)b, sum = low + (ulong)c;
  long high = mul_hi(a, b) + (c >> 63) + (sum < low);
  return high == (long)sum >> 63 ? (long)sum : high < 0 ? LONG_MIN : LONG_MAX;
}
TERNARY(mad_sat, long, long, long, long)

#define ROTATE(T, U, bits) \
  PURE T rotate(T a, T by) { \
    U x = __builtin_astype(a, U), n = __builtin_astype(by, U) & (U)(bits - 1); \
    U turned = (U)((x << n) | (x >> (((U)bits - n) & (U)(bits - 1)))); \
    return __builtin_astype(turned, T); \
  }
#define ROTATE8(T, U) ROTATE(T, U, 8)
#define ROTATE16(T, U) ROTATE(T, U, 16)
#define ROTATE32(T, U) ROTATE(T, U, 32)
#define ROTATE64(T, U) ROTATE(T, U, 64)
WIDTHS2(ROTATE8, char, uchar)
WIDTHS2(ROTATE8, uchar, uchar)
WIDTHS2(ROTATE16, short, ushort)
WIDTHS2(ROTATE16, ushort, ushort)
WIDTHS2(ROTATE32, int, uint)
WIDTHS2(ROTATE32, uint, uint)
WIDTHS2(ROTATE64, long, ulong)
WIDTHS2(ROTATE64, ulong, ulong)

#define COUNTS(T, U, bits) \
  PURE T clz(T a) { return (T)__builtin_clzg((U)a, bits); } \
  PURE T ctz(T a) { return (T)__builtin_ctzg((U)a, bits); } \
  UNARY(clz, T, T) \
  UNARY(ctz, T, T)
COUNTS(char, uchar, 8)
COUNTS(uchar, uchar, 8)
COUNTS(short, ushort, 16)
COUNTS(ushort, ushort, 16)
COUNTS(int, uint, 32)
COUNTS(uint, uint, 32)
COUNTS(long, ulong, 64)
COUNTS(ulong, ulong, 64)

#define ALL(T, U) \
  WIDTHS2(COMMON, T, U) \
  WIDTHS2(HALVES, T, U) \
  EACH_WIDTH(WITH_SCALAR, T)
ALL(char, uchar)
ALL(uchar, uchar)
ALL(short, ushort)
ALL(ushort, ushort)
ALL(int, uint)
ALL(uint, uint)
ALL(long, ulong)
ALL(ulong, ulong)
WIDTHS2(ABS_SIGNED, char, uchar)
WIDTHS2(ABS_SIGNED, short, ushort)
WIDTHS2(ABS_SIGNED, int, uint)
WIDTHS2(ABS_SIGNED, long, ulong)
WIDTHS2(ABS_UNSIGNED, uchar, uchar)
WIDTHS2(ABS_UNSIGNED, ushort, ushort)
WIDTHS2(ABS_UNSIGNED, uint, uint)
WIDTHS2(ABS_UNSIGNED, ulong, ulong)

// Callers pass values of at most 24 bits.
#define MUL24(T) \
  PURE T mul24(T a, T b) { return a * b; } \
  PURE T mad24(T a, T b, T c) { return a * b + c; }
WIDTHS(MUL24, int)
WIDTHS(MUL24, uint)

#define UPSAMPLE(n, T, U, R, bits) \
  PURE R##n upsample(T##n high, U##n low) { \
    return (__builtin_convertvector(high, R##n) << (R##n)bits) | __builtin_convertvector(low, R##n); \
  }
#define UPSAMPLES(T, U, R, bits) \
  PURE R upsample(T high, U low) { return (R)((R)((R)high << bits) | (R)low); } \
  EACH_WIDTH(UPSAMPLE, T, U, R, bits)
UPSAMPLES(char, uchar, short, 8)
UPSAMPLES(uchar, uchar, ushort, 8)
UPSAMPLES(short, ushort, int, 16)
UPSAMPLES(ushort, ushort, uint, 16)
UPSAMPLES(int, uint, long, 32)
UPSAMPLES(uint, uint, ulong, 32)
