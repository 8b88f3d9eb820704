// Halves in memory, floats in registers.
#include "common.h"

#define HALVES2 (float)at[0], (float)at[1]
#define HALVES3 HALVES2, (float)at[2]
#define HALVES4 HALVES3, (float)at[3]
#define HALVES8 HALVES4, (float)at[4], (float)at[5], (float)at[6], (float)at[7]
#define HALVES16 \
  HALVES8, (float)at[8], (float)at[9], (float)at[10], (float)at[11], (float)at[12], (float)at[13], (float)at[14], \
      (float)at[15]
// Aligned vectors of three have a stride of four.
#define STEP2 2
#define STEP3 4
#define STEP4 4
#define STEP8 8
#define STEP16 16

#define VLOAD_HALF(n, space) \
  FUNCTION float##n vload_half##n(size_t offset, const space half *from) { \
    const space half *at = from + n * offset; \
    return (float##n)(HALVES##n); \
  } \
  FUNCTION float##n vloada_half##n(size_t offset, const space half *from) { \
    const space half *at = from + STEP##n * offset; \
    return (float##n)(HALVES##n); \
  }
#define VLOAD_HALVES(space) \
  FUNCTION float vload_half(size_t offset, const space half *from) { return (float)from[offset]; } \
  EACH_WIDTH(VLOAD_HALF, space)
VLOAD_HALVES(__constant)
VLOAD_HALVES(__global)
VLOAD_HALVES(__local)
VLOAD_HALVES(__private)
VLOAD_HALVES(__generic)

// The adjacent half below or above, by the bits.
static PURE half half_step(half x, int up) {
  short bits = __builtin_astype(x, short);
  if ((bits & 0x7fff) == 0) {
    return __builtin_astype((short)(up ? 1 : 0x8001), half);
  }
  return __builtin_astype((short)(bits + ((bits < 0) == up ? -1 : 1)), half);
}

#define ROUND_HALF(T) \
  static PURE half to_half(T x) { return (half)x; } \
  static PURE half to_half_rte(T x) { return (half)x; } \
  static PURE half to_half_rtp(T x) { \
    half near = (half)x; \
    return (T)near < x ? half_step(near, 1) : near; \
  } \
  static PURE half to_half_rtn(T x) { \
    half near = (half)x; \
    return (T)near > x ? half_step(near, 0) : near; \
  } \
  static PURE half to_half_rtz(T x) { return x < 0 ? to_half_rtp(x) : to_half_rtn(x); }
ROUND_HALF(float)
ROUND_HALF(double)

#define PUT2(r) at[0] = to_half##r(data.s0); at[1] = to_half##r(data.s1);
#define PUT3(r) PUT2(r) at[2] = to_half##r(data.s2);
#define PUT4(r) PUT3(r) at[3] = to_half##r(data.s3);
#define PUT8(r) \
  PUT4(r) at[4] = to_half##r(data.s4); at[5] = to_half##r(data.s5); at[6] = to_half##r(data.s6); \
  at[7] = to_half##r(data.s7);
#define PUT16(r) \
  PUT8(r) at[8] = to_half##r(data.s8); at[9] = to_half##r(data.s9); at[10] = to_half##r(data.sa); \
  at[11] = to_half##r(data.sb); at[12] = to_half##r(data.sc); at[13] = to_half##r(data.sd); \
  at[14] = to_half##r(data.se); at[15] = to_half##r(data.sf);

#define VSTORE_HALF(n, T, space, r) \
  FUNCTION void vstore_half##n##r(T##n data, size_t offset, space half *to) { \
    space half *at = to + n * offset; \
    PUT##n(r) \
  } \
  FUNCTION void vstorea_half##n##r(T##n data, size_t offset, space half *to) { \
    space half *at = to + STEP##n * offset; \
    PUT##n(r) \
  }
#define VSTORE_ROUNDED(T, space, r) \
  FUNCTION void vstore_half##r(T data, size_t offset, space half *to) { to[offset] = to_half##r(data); } \
  VSTORE_HALF(2, T, space, r) VSTORE_HALF(3, T, space, r) VSTORE_HALF(4, T, space, r) \
  VSTORE_HALF(8, T, space, r) VSTORE_HALF(16, T, space, r)
#define VSTORE_HALVES(T, space) \
  VSTORE_ROUNDED(T, space, ) VSTORE_ROUNDED(T, space, _rte) VSTORE_ROUNDED(T, space, _rtz) \
  VSTORE_ROUNDED(T, space, _rtp) VSTORE_ROUNDED(T, space, _rtn)
#define VSTORE_SPACES(X, T) \
  VSTORE_HALVES(T, __global) VSTORE_HALVES(T, __local) VSTORE_HALVES(T, __private) VSTORE_HALVES(T, __generic)
FLOATS(VSTORE_SPACES, _)
