// Shared by logarithms: x = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2).
#include "common.h"

// Of a positive normal number.
INLINE real split(real x, real *f) {
  word ix = bits(x) - ROOT_OF_HALF;
  *f = real_of((ix & (((word)1 << MANTISSA) - 1)) + ROOT_OF_HALF) - ONE;
  return (real)(i32)((signed_word)ix >> MANTISSA);
}

// Of a positive number.
INLINE real split_any(real x, real *f) {
  int is_small = x < LEAST_NORMAL;
  real e = split(is_small ? x * (real)((word)1 << (MANTISSA + 1)) : x, f);
  return e - (is_small ? (real)(MANTISSA + 1) : 0);
}

// True for positive normal numbers.
INLINE int is_regular(real x) {
  word least = (word)1 << MANTISSA;
  return bits(x) - least < (word)(2 * BIAS) * least;
}

// The logarithm of zero, negative numbers and NaN; infinity returns itself.
INLINE real log_edges(real x, real result) {
  result = x > 0 ? result : x == 0 ? -INF : NOT_A_NUMBER;
  return x == INF ? x : result;
}

// Defines a logarithm by one of positive normal numbers, `of(x, steps)`, the logarithm of x 2^-steps.
#define LOGARITHM(name, of) \
  real NAME(name)(real x) { \
    real result = of(x, 0); \
    if (RARE(!is_regular(x))) { \
      result = log_edges(x, of(x * (real)((word)1 << (MANTISSA + 1)), (real)(MANTISSA + 1))); \
    } \
    return result; \
  }
