// Shared by logarithms: x = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2).
#include "common.h"

INLINE real split(real x, real *f) {
  int is_small = x < LEAST_NORMAL;
  word ix = bits(is_small ? x * (real)((word)1 << (MANTISSA + 1)) : x) - ROOT_OF_HALF;
  real e = (real)(i32)((signed_word)ix >> MANTISSA) - (is_small ? (real)(MANTISSA + 1) : 0);
  *f = real_of((ix & (((word)1 << MANTISSA) - 1)) + ROOT_OF_HALF) - ONE;
  return e;
}

// The logarithm of zero, negative numbers and NaN; infinity returns itself.
INLINE real log_edges(real x, real result) {
  result = x > 0 ? result : x == 0 ? -INF : NOT_A_NUMBER;
  return x == INF ? x : result;
}
