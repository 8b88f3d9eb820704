// Shuffles.
#include "common.h"

// Only the low bits of an index count. A constant mask lets LLVM eliminate the element array.
#define CHOOSE(s, m) from[mask.s & (m - 1)]
#define CHOOSE_OF_TWO(s, m) from[mask.s & (2 * m - 1)]
#define LAY2(x) x.s0, x.s1
#define LAY4(x) LAY2(x), x.s2, x.s3
#define LAY8(x) LAY4(x), x.s4, x.s5, x.s6, x.s7
#define LAY16(x) LAY8(x), x.s8, x.s9, x.sa, x.sb, x.sc, x.sd, x.se, x.sf
#define SHUFFLE(n, m, T, U) \
  PURE T##n shuffle(T##m x, U##n mask) { \
    T from[m] = {LAY##m(x)}; \
    return (T##n)(LIST##n(CHOOSE, m)); \
  } \
  PURE T##n shuffle2(T##m x, T##m y, U##n mask) { \
    T from[2 * m] = {LAY##m(x), LAY##m(y)}; \
    return (T##n)(LIST##n(CHOOSE_OF_TWO, m)); \
  }
#define SHUFFLES_OF(m, T, U) SHUFFLE(2, m, T, U) SHUFFLE(4, m, T, U) SHUFFLE(8, m, T, U) SHUFFLE(16, m, T, U)
#define SHUFFLES(T, U) SHUFFLES_OF(2, T, U) SHUFFLES_OF(4, T, U) SHUFFLES_OF(8, T, U) SHUFFLES_OF(16, T, U)
SHUFFLES(char, uchar)
SHUFFLES(uchar, uchar)
SHUFFLES(short, ushort)
SHUFFLES(ushort, ushort)
SHUFFLES(int, uint)
SHUFFLES(uint, uint)
SHUFFLES(long, ulong)
SHUFFLES(ulong, ulong)
SHUFFLES(half, ushort)
SHUFFLES(float, uint)
SHUFFLES(double, ulong)
