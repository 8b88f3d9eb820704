// Shared by all parts of the library: patterns over types, widths and address spaces.
//
// A library function has the types of its OpenCL C builtin, and thus its mangled name. Names with the prefix
// `heddle.` are Heddle's own: mathematical functions and horizontal operations.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma clang diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"

#define FUNCTION __attribute__((overloadable, always_inline, nothrow))
#define PURE __attribute__((overloadable, always_inline, nothrow, const))
// Too large to inline at each call.
#define LONG_PURE __attribute__((overloadable, noinline, nothrow, const))

// X(type, …) for all widths; types that follow have the same width.
#define VECTORS(X, T) X(T##2) X(T##3) X(T##4) X(T##8) X(T##16)
#define VECTORS2(X, T, U) X(T##2, U##2) X(T##3, U##3) X(T##4, U##4) X(T##8, U##8) X(T##16, U##16)
#define VECTORS3(X, T, U, V) \
  X(T##2, U##2, V##2) X(T##3, U##3, V##3) X(T##4, U##4, V##4) X(T##8, U##8, V##8) X(T##16, U##16, V##16)
#define WIDTHS(X, T) X(T) VECTORS(X, T)
#define WIDTHS2(X, T, U) X(T, U) VECTORS2(X, T, U)
#define WIDTHS3(X, T, U, V) X(T, U, V) VECTORS3(X, T, U, V)

#define SIGNED(EACH, X) EACH(X, char) EACH(X, short) EACH(X, int) EACH(X, long)
#define UNSIGNED(EACH, X) EACH(X, uchar) EACH(X, ushort) EACH(X, uint) EACH(X, ulong)
#define INTEGERS(EACH, X) SIGNED(EACH, X) UNSIGNED(EACH, X)
#define FLOATS(EACH, X) EACH(X, float) EACH(X, double)
#define NUMBERS(EACH, X) INTEGERS(EACH, X) EACH(X, half) FLOATS(EACH, X)

// E(element, …) for the elements of a vector, as a list.
#define LIST2(E, ...) E(s0, __VA_ARGS__), E(s1, __VA_ARGS__)
#define LIST3(E, ...) LIST2(E, __VA_ARGS__), E(s2, __VA_ARGS__)
#define LIST4(E, ...) LIST3(E, __VA_ARGS__), E(s3, __VA_ARGS__)
#define LIST8(E, ...) \
  LIST4(E, __VA_ARGS__), E(s4, __VA_ARGS__), E(s5, __VA_ARGS__), E(s6, __VA_ARGS__), E(s7, __VA_ARGS__)
#define LIST16(E, ...) \
  LIST8(E, __VA_ARGS__), E(s8, __VA_ARGS__), E(s9, __VA_ARGS__), E(sa, __VA_ARGS__), E(sb, __VA_ARGS__), \
      E(sc, __VA_ARGS__), E(sd, __VA_ARGS__), E(se, __VA_ARGS__), E(sf, __VA_ARGS__)

// X(width, …) for all widths of vectors.
#define EACH_WIDTH(X, ...) \
  X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(16, __VA_ARGS__)

// Defines a vector function by its element function.
#define ONE(s, f) f(a.s)
#define TWO(s, f) f(a.s, b.s)
#define THREE(s, f) f(a.s, b.s, c.s)
#define UNARY_AT(n, f, R, A) \
  PURE R##n f(A##n a) { return (R##n)(LIST##n(ONE, f)); }
#define BINARY_AT(n, f, R, A, B) \
  PURE R##n f(A##n a, B##n b) { return (R##n)(LIST##n(TWO, f)); }
#define TERNARY_AT(n, f, R, A, B, C) \
  PURE R##n f(A##n a, B##n b, C##n c) { return (R##n)(LIST##n(THREE, f)); }
#define UNARY(f, R, A) EACH_WIDTH(UNARY_AT, f, R, A)
#define BINARY(f, R, A, B) EACH_WIDTH(BINARY_AT, f, R, A, B)
#define TERNARY(f, R, A, B, C) EACH_WIDTH(TERNARY_AT, f, R, A, B, C)

// Defines functions with a second result, in each address space that it can lie in, by a function with the suffix `_of`.
#define SECOND(name, T, R, space) \
  FUNCTION T name(T x, space R *second) { \
    R other; \
    T value = name##_of(x, &other); \
    *second = other; \
    return value; \
  }
#define SECOND_VECTOR(n, name, T, R, space) \
  FUNCTION T##n name(T##n x, space R##n *second) { \
    R##n other; \
    T##n value; \
    for (int i = 0; i < n; ++i) { \
      R one; \
      value[i] = name##_of(x[i], &one); \
      other[i] = one; \
    } \
    *second = other; \
    return value; \
  }
#define SECOND_SPACE(name, T, R, space) \
  SECOND(name, T, R, space) \
  EACH_WIDTH(SECOND_VECTOR, name, T, R, space)
#define SECONDS(name, T, R) \
  SECOND_SPACE(name, T, R, __global) \
  SECOND_SPACE(name, T, R, __local) \
  SECOND_SPACE(name, T, R, __private) \
  SECOND_SPACE(name, T, R, __generic)
// Defines `remquo` in one address space of its second result, by `divide_near`.
#define REMQUO(n, T, space) \
  FUNCTION T##n remquo(T##n x, T##n y, space int##n *quotient) { \
    int##n other; \
    T##n value; \
    for (int i = 0; i < n; ++i) { \
      int one; \
      value[i] = divide_near(x[i], y[i], &one); \
      other[i] = one; \
    } \
    *quotient = other; \
    return value; \
  }
#define REMQUO_SPACE(T, space) \
  FUNCTION T remquo(T x, T y, space int *quotient) { \
    int one; \
    T value = divide_near(x, y, &one); \
    *quotient = one; \
    return value; \
  } \
  EACH_WIDTH(REMQUO, T, space)

#define as_signed_float as_int
#define SPLAT(T, value) ((T)(value))
