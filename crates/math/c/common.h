// Shared by the mathematical functions: plain scalar C with few branches and no calls; no tables in the common path.
// `FMA` rounds once, so a result has the same bits on every machine.
//
// Files `*.inc` serve both types: `SINGLE` selects f32 as `real`. `FAST` omits the steps that only the last bits
// need.
#ifndef HEDDLE_COMMON_H
#define HEDDLE_COMMON_H

#define FMAF(a, b, c) __builtin_fmaf(a, b, c)
#define FMA(a, b, c) __builtin_fma(a, b, c)

#include "coefficients.h"

// f64 has no shorter forms of these.
#define LOG_QUICK(z) LOG_POLY(z)
#define ATAN_QUICK(z) ATAN_POLY(z)

typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef SINGLE
typedef float real;
typedef u32 word;
typedef i32 signed_word;
#define NAME(name) name##f
#define K(name) name##_F
#define BUILTIN(name) __builtin_##name##f
#define MANTISSA 23
#define BIAS 127
#define LEAST_NORMAL 0x1p-126f
#define ROOT_OF_HALF 0x3f3504f3u
#else
typedef double real;
typedef u64 word;
typedef i64 signed_word;
#define NAME(name) name
#define K(name) name
#define BUILTIN(name) __builtin_##name
#define MANTISSA 52
#define BIAS 1023
#define LEAST_NORMAL 0x1p-1022
#define ROOT_OF_HALF 0x3fe6a09e667f3bcdull
#endif

#define INF ((real)__builtin_inf())
#define NOT_A_NUMBER ((real)__builtin_nan(""))
#define HALF ((real)0.5)
#define ONE ((real)1)
#define SIGN ((word)1 << (8 * sizeof(real) - 1))
// Adding this to a float of moderate size leaves the nearest integer in the lowest bits.
#define ROUNDER ((real)((word)3 << (MANTISSA - 1)))
#define ROUNDER_D 0x1.8p52

// A condition that holds for few numbers: vector code jumps over what it guards.
#define RARE(condition) __builtin_expect(!!(condition), 0)
#define INLINE static inline __attribute__((always_inline))

INLINE word bits(real x) { return __builtin_bit_cast(word, x); }
INLINE real real_of(word x) { return __builtin_bit_cast(real, x); }
INLINE real fma_of(real a, real b, real c) { return BUILTIN(fma)(a, b, c); }
INLINE u64 bits_d(double x) { return __builtin_bit_cast(u64, x); }
INLINE double double_of(u64 x) { return __builtin_bit_cast(double, x); }

// NaN stays NaN.
INLINE real clamp(real x, real least, real most) {
  x = x < least ? least : x;
  return x > most ? most : x;
}
INLINE double clamp_d(double x, double least, double most) {
  x = x < least ? least : x;
  return x > most ? most : x;
}

// 2^n for the n in the lowest bits.
INLINE real power(word n) { return real_of((n + BIAS) << MANTISSA); }

// p * 2^n for the n in the lowest bits of `shifted`, where both p and the result are normal.
INLINE real stepped(real p, real shifted) { return real_of(bits(p) + (bits(shifted) << MANTISSA)); }

// p * 2^n, rounded once, for p near 1 and the n in the lowest bits of `shifted`; two factors keep each in range.
INLINE real scaled(real p, real shifted) {
  word n = bits(shifted), half = n >> 1;
  return p * power(half) * power(n - half);
}

#endif
