// Vectors in memory.
#include "common.h"

#define ITEMS2 at[0], at[1]
#define ITEMS3 ITEMS2, at[2]
#define ITEMS4 ITEMS3, at[3]
#define ITEMS8 ITEMS4, at[4], at[5], at[6], at[7]
#define ITEMS16 ITEMS8, at[8], at[9], at[10], at[11], at[12], at[13], at[14], at[15]

#define STORE2 at[0] = data.s0; at[1] = data.s1;
#define STORE3 STORE2 at[2] = data.s2;
#define STORE4 STORE3 at[3] = data.s3;
#define STORE8 STORE4 at[4] = data.s4; at[5] = data.s5; at[6] = data.s6; at[7] = data.s7;
#define STORE16 \
  STORE8 at[8] = data.s8; at[9] = data.s9; at[10] = data.sa; at[11] = data.sb; at[12] = data.sc; at[13] = data.sd; \
  at[14] = data.se; at[15] = data.sf;

#define VLOAD(n, T, space) \
  FUNCTION T##n vload##n(size_t offset, const space T *from) { \
    const space T *at = from + n * offset; \
    return (T##n)(ITEMS##n); \
  }
#define VSTORE(n, T, space) \
  FUNCTION void vstore##n(T##n data, size_t offset, space T *to) { \
    space T *at = to + n * offset; \
    STORE##n \
  }
#define VLOADS(T) \
  EACH_WIDTH(VLOAD, T, __constant) \
  EACH_WIDTH(VLOAD, T, __global) \
  EACH_WIDTH(VLOAD, T, __local) \
  EACH_WIDTH(VLOAD, T, __private) \
  EACH_WIDTH(VLOAD, T, __generic)
#define VSTORES(T) \
  EACH_WIDTH(VSTORE, T, __global) \
  EACH_WIDTH(VSTORE, T, __local) \
  EACH_WIDTH(VSTORE, T, __private) \
  EACH_WIDTH(VSTORE, T, __generic)
#define BOTH(X, T) VLOADS(T) VSTORES(T)
NUMBERS(BOTH, _)
