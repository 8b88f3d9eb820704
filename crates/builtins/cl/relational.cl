// Relational functions: 1 or 0 for scalars, all ones or 0 for vector elements.
#include "common.h"

#define COMPARE(name, operation) \
  PURE int name(half a, half b) { return operation; } \
  PURE int name(float a, float b) { return operation; } \
  PURE int name(double a, double b) { return operation; }
#define COMPARE_VECTORS(n, name, operation) \
  PURE short##n name(half##n a, half##n b) { return operation; } \
  PURE int##n name(float##n a, float##n b) { return operation; } \
  PURE long##n name(double##n a, double##n b) { return operation; }
#define COMPARES(name, operation) \
  COMPARE(name, operation) \
  EACH_WIDTH(COMPARE_VECTORS, name, operation)
COMPARES(isequal, a == b)
COMPARES(isnotequal, a != b)
COMPARES(isgreater, a > b)
COMPARES(isgreaterequal, a >= b)
COMPARES(isless, a < b)
COMPARES(islessequal, a <= b)
COMPARES(islessgreater, (a < b) | (a > b))
COMPARES(isordered, (a == a) & (b == b))
COMPARES(isunordered, (a != a) | (b != b))

// Classification by the bits, which fast-math options do not affect.
#define CLASS(name, test_h, test_f, test_d) \
  PURE int name(half value) { ushort a = __builtin_astype(value, ushort); return test_h; } \
  PURE int name(float value) { uint a = __builtin_astype(value, uint); return test_f; } \
  PURE int name(double value) { ulong a = __builtin_astype(value, ulong); return test_d; }
#define CLASS_VECTORS(n, name, test_h, test_f, test_d) \
  PURE short##n name(half##n value) { ushort##n a = __builtin_astype(value, ushort##n); return test_h; } \
  PURE int##n name(float##n value) { uint##n a = __builtin_astype(value, uint##n); return test_f; } \
  PURE long##n name(double##n value) { ulong##n a = __builtin_astype(value, ulong##n); return test_d; }
#define CLASSES(name, test_h, test_f, test_d) \
  CLASS(name, test_h, test_f, test_d) \
  EACH_WIDTH(CLASS_VECTORS, name, test_h, test_f, test_d)
#define EXPONENT_H (ushort)0x7c00
#define SIZE_H(a) (a & (ushort)0x7fff)
CLASSES(isfinite, SIZE_H(a) < EXPONENT_H, (a & 0x7fffffffu) < 0x7f800000u,
        (a & 0x7ffffffffffffffful) < 0x7ff0000000000000ul)
CLASSES(isinf, SIZE_H(a) == EXPONENT_H, (a & 0x7fffffffu) == 0x7f800000u,
        (a & 0x7ffffffffffffffful) == 0x7ff0000000000000ul)
CLASSES(isnan, SIZE_H(a) > EXPONENT_H, (a & 0x7fffffffu) > 0x7f800000u,
        (a & 0x7ffffffffffffffful) > 0x7ff0000000000000ul)
CLASSES(isnormal, ((a & EXPONENT_H) != (ushort)0) & ((a & EXPONENT_H) != EXPONENT_H),
        ((a & 0x7f800000u) - 0x800000u) < 0x7f000000u,
        ((a & 0x7ff0000000000000ul) - 0x10000000000000ul) < 0x7fe0000000000000ul)
CLASSES(signbit, a > (ushort)0x7fff, a > 0x7fffffffu, a > 0x7ffffffffffffffful)

#define ANY_ALL(T, U) \
  PURE int any(T a) { return a < 0; } \
  PURE int all(T a) { return a < 0; } \
  PURE int any(T##2 a) { return (T)(a.s0 | a.s1) < 0; } \
  PURE int all(T##2 a) { return (T)(a.s0 & a.s1) < 0; } \
  PURE int any(T##3 a) { return (T)(a.s0 | a.s1 | a.s2) < 0; } \
  PURE int all(T##3 a) { return (T)(a.s0 & a.s1 & a.s2) < 0; } \
  PURE int any(T##4 a) { return any(a.lo | a.hi); } \
  PURE int all(T##4 a) { return all(a.lo & a.hi); } \
  PURE int any(T##8 a) { return any(a.lo | a.hi); } \
  PURE int all(T##8 a) { return all(a.lo & a.hi); } \
  PURE int any(T##16 a) { return any(a.lo | a.hi); } \
  PURE int all(T##16 a) { return all(a.lo & a.hi); }
ANY_ALL(char, uchar)
ANY_ALL(short, ushort)
ANY_ALL(int, uint)
ANY_ALL(long, ulong)

#define BITSELECT(T, U) \
  PURE T bitselect(T a, T b, T c) { \
    U x = __builtin_astype(a, U), y = __builtin_astype(b, U), z = __builtin_astype(c, U); \
    U chosen = (U)((x & ~z) | (y & z)); \
    return __builtin_astype(chosen, T); \
  }
WIDTHS2(BITSELECT, char, uchar)
WIDTHS2(BITSELECT, uchar, uchar)
WIDTHS2(BITSELECT, short, ushort)
WIDTHS2(BITSELECT, ushort, ushort)
WIDTHS2(BITSELECT, int, uint)
WIDTHS2(BITSELECT, uint, uint)
WIDTHS2(BITSELECT, long, ulong)
WIDTHS2(BITSELECT, ulong, ulong)
WIDTHS2(BITSELECT, half, ushort)
WIDTHS2(BITSELECT, float, uint)
WIDTHS2(BITSELECT, double, ulong)

// A scalar condition is true if nonzero, a vector element if its highest bit is set.
#define SELECT(T, S, U) \
  PURE T select(T a, T b, S c) { return c ? b : a; } \
  PURE T select(T a, T b, U c) { return c ? b : a; }
#define SELECT_VECTORS(n, T, S, U) \
  PURE T##n select(T##n a, T##n b, S##n c) { return c ? b : a; } \
  PURE T##n select(T##n a, T##n b, U##n c) { return c ? b : a; }
#define SELECTS(T, S, U) SELECT(T, S, U) EACH_WIDTH(SELECT_VECTORS, T, S, U)
SELECTS(char, char, uchar)
SELECTS(uchar, char, uchar)
SELECTS(short, short, ushort)
SELECTS(ushort, short, ushort)
SELECTS(int, int, uint)
SELECTS(uint, int, uint)
SELECTS(long, long, ulong)
SELECTS(ulong, long, ulong)
SELECTS(half, short, ushort)
SELECTS(float, int, uint)
SELECTS(double, long, ulong)
