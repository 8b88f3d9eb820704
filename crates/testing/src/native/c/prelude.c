#include <stdint.h>
float sqrtf(float), fabsf(float), fmaf(float, float, float);
double sqrt(double), fabs(double), fma(double, double, double);
struct S { int32_t a; uint8_t b[4]; double c; uint16_t d; int64_t e; };
#define DIVISION(name, type, is_wrong) \
  static inline type div_##name(type x, type y) { return is_wrong ? x : x / y; } \
  static inline type rem_##name(type x, type y) { return is_wrong ? y : x % y; }
DIVISION(u32, uint32_t, y == 0)
DIVISION(u64, uint64_t, y == 0)
DIVISION(s32, int32_t, (y == 0 || (x == INT32_MIN && y == -1)))
DIVISION(s64, int64_t, (y == 0 || (x == INT64_MIN && y == -1)))
static inline int32_t to_s32(double x) { return x > -2e9 && x < 2e9 ? (int32_t)x : 7; }
static inline uint64_t to_u64(double x) { return x >= 0 && x < 1e19 ? (uint64_t)x : 9; }
static inline uint64_t bits64(double x) {
  uint64_t bits;
  if (x != x) return 0x7ff8000000000000u;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
static inline uint32_t bits32(float x) {
  uint32_t bits;
  if (x != x) return 0x7fc00000u;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
