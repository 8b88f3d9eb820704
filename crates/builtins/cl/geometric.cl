// Common and geometric functions.
#include "common.h"

#define COMMON(T) \
  PURE T degrees(T x) { return x * (T)57.295779513082320876798; } \
  PURE T radians(T x) { return x * (T)0.017453292519943295769237; } \
  PURE T mix(T x, T y, T by) { return x + (y - x) * by; }
WIDTHS(COMMON, float)
WIDTHS(COMMON, double)

#define ORDERED(T) \
  PURE T max(T x, T y) { return x < y ? y : x; } \
  PURE T min(T x, T y) { return y < x ? y : x; } \
  PURE T clamp(T x, T low, T high) { \
    T raised = x < low ? low : x; \
    return high < raised ? high : raised; \
  } \
  PURE T step(T edge, T x) { return x < edge ? (T)0 : (T)1; } \
  PURE T smoothstep(T low, T high, T x) { \
    T way = (x - low) / (high - low); \
    T t = clamp(way, (T)0, (T)1); \
    return t * t * (3 - 2 * t); \
  } \
  PURE T sign(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0; }
ORDERED(float)
ORDERED(double)

#define FIRST(s, f) f(a.s, b)
#define MIDDLE(s, f) f(a.s, b, c)
#define LAST(s, f) f(a, b.s)
#define LAST_OF_THREE(s, f) f(a, b, c.s)
#define BY(s, f) f(a.s, b.s, c)
#define MIXED(n, T) \
  PURE T##n max(T##n a, T b) { return (T##n)(LIST##n(FIRST, max)); } \
  PURE T##n min(T##n a, T b) { return (T##n)(LIST##n(FIRST, min)); } \
  PURE T##n clamp(T##n a, T b, T c) { return (T##n)(LIST##n(MIDDLE, clamp)); } \
  PURE T##n step(T a, T##n b) { return (T##n)(LIST##n(LAST, step)); } \
  PURE T##n smoothstep(T a, T b, T##n c) { return (T##n)(LIST##n(LAST_OF_THREE, smoothstep)); } \
  PURE T##n mix(T##n a, T##n b, T c) { return (T##n)(LIST##n(BY, mix)); }
#define ELEMENTS(T) \
  BINARY(max, T, T, T) \
  BINARY(min, T, T, T) \
  BINARY(step, T, T, T) \
  UNARY(sign, T, T) \
  TERNARY(clamp, T, T, T, T) \
  TERNARY(smoothstep, T, T, T, T) \
  EACH_WIDTH(MIXED, T)
ELEMENTS(float)
ELEMENTS(double)

#define DOT(T) \
  PURE T dot(T a, T b) { return a * b; } \
  PURE T dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; } \
  PURE T dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; } \
  PURE T dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; } \
  PURE T##3 cross(T##3 a, T##3 b) { \
    return (T##3)(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); \
  } \
  PURE T##4 cross(T##4 a, T##4 b) { return (T##4)(cross(a.xyz, b.xyz), 0); }
DOT(float)
DOT(double)

// Squares of floats neither overflow nor underflow in doubles. Doubles are scaled near 1 first.
PURE float length(float a) { return __builtin_elementwise_abs(a); }
PURE double length(double a) { return __builtin_elementwise_abs(a); }
PURE float normalize(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
PURE double normalize(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }

static PURE double greatest(double2 a) { return __builtin_fmax(__builtin_fabs(a.x), __builtin_fabs(a.y)); }
static PURE double greatest(double3 a) { return __builtin_fmax(greatest(a.xy), __builtin_fabs(a.z)); }
static PURE double greatest(double4 a) { return __builtin_fmax(greatest(a.xy), greatest(a.zw)); }
// The power of two that scales a number near 1, or 1 where none does.
static PURE double scale_of(double greatest) {
  long e = __builtin_astype(greatest, long) >> 52;
  return e >= 0x7ff || greatest == 0 ? 1.0 : __builtin_astype((2045 - (e < 1 ? 1 : e > 2044 ? 2044 : e)) << 52, double);
}

#define SIZES(n) \
  PURE float length(float##n a) { \
    double##n wide = __builtin_convertvector(a, double##n); \
    return (float)__builtin_elementwise_sqrt(dot(wide, wide)); \
  } \
  PURE float distance(float##n a, float##n b) { return length(a - b); } \
  PURE float##n normalize(float##n a) { \
    double##n wide = __builtin_convertvector(a, double##n); \
    double square = dot(wide, wide); \
    if (square == 0) { \
      return a; \
    } \
    if (square == (double)__builtin_inff()) { \
      int##n is_infinite = __builtin_elementwise_abs(a) == (float##n)__builtin_inff(); \
      wide = __builtin_convertvector(is_infinite ? __builtin_elementwise_copysign((float##n)1, a) \
                                                 : __builtin_elementwise_copysign((float##n)0, a), double##n); \
      square = dot(wide, wide); \
    } \
    return __builtin_convertvector(wide / __builtin_elementwise_sqrt(square), float##n); \
  } \
  PURE double length(double##n a) { \
    double most = greatest(a), scale = scale_of(most); \
    double##n near = a * scale; \
    return most == __builtin_inf() ? most : __builtin_elementwise_sqrt(dot(near, near)) / scale; \
  } \
  PURE double distance(double##n a, double##n b) { return length(a - b); } \
  PURE double##n normalize(double##n a) { \
    double most = greatest(a); \
    if (most == 0) { \
      return a; \
    } \
    double##n near = a * scale_of(most); \
    if (most == __builtin_inf()) { \
      long##n is_infinite = __builtin_elementwise_abs(a) == (double##n)__builtin_inf(); \
      near = is_infinite ? __builtin_elementwise_copysign((double##n)1, a) \
                         : __builtin_elementwise_copysign((double##n)0, a); \
    } \
    return near / __builtin_elementwise_sqrt(dot(near, near)); \
  } \
  PURE float fast_length(float##n a) { return __builtin_elementwise_sqrt(dot(a, a)); } \
  PURE float fast_distance(float##n a, float##n b) { return fast_length(a - b); } \
  PURE float##n fast_normalize(float##n a) { \
    float square = dot(a, a); \
    return square == 0 ? a : a * (1.0f / __builtin_elementwise_sqrt(square)); \
  }
PURE float distance(float a, float b) { return length(a - b); }
PURE double distance(double a, double b) { return length(a - b); }
PURE float fast_length(float a) { return __builtin_elementwise_abs(a); }
PURE float fast_distance(float a, float b) { return __builtin_elementwise_abs(a - b); }
PURE float fast_normalize(float a) { return normalize(a); }
SIZES(2)
SIZES(3)
SIZES(4)
