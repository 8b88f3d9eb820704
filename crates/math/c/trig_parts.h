// Shared by sine and cosine: x = n pi/2 + r + low, |r + low| slightly above pi/4 at most.
#include "common.h"

struct angle {
  u32 n;
  real r, low;
};

#ifdef SINGLE
#define TABLE 16
#define MOST 1600.0f
static const u32 two_over_pi[TABLE] __asm__("heddle.two_over_pi.f32") = {
#else
#define TABLE 64
#define MOST 0x1p20
static const u32 two_over_pi[TABLE] __asm__("heddle.two_over_pi.f64") = {
#endif
    // The bits of 2/pi after 64 zeros.
    0, 0, K(TWO_OVER_PI_WORDS)};

// Payne-Hanek reduction of huge angles. The bits of 2/pi that contribute whole turns are skipped, so the product is
// formed modulo four quarters.
#ifdef SINGLE
INLINE struct angle great_angle(float x) {
  u32 ix = bits(x);
  u32 m = (ix & 0x7fffff) | 0x800000;           // x = +-m 2^exponent
  u32 first = (ix >> 23 & 0xff) - 150 - 2 + 64; // exponent - 2 bits make whole turns
  u32 at = first >> 5, shift = first & 31;
  u64 top = (u64)two_over_pi[at & 15] << 32 | two_over_pi[(at + 1) & 15];
  u64 bottom = (u64)two_over_pi[(at + 2) & 15] << 32 | two_over_pi[(at + 3) & 15];
  u64 high = top << shift | bottom >> 1 >> (63 - shift);
  u64 low = bottom << shift >> 32;
  u64 quarters = high * m + (low * m >> 32); // with 62 bits after the point
  i64 rest = (i64)(quarters << 2);
  u32 n = (u32)(quarters >> 62) + (rest < 0);
  double r = (double)rest * HALF_PI_OVER_2_64_0;
  int is_negative = ix >> 31;
  r = is_negative ? -r : r;
  r = x - x == 0 ? r : NOT_A_NUMBER;
  struct angle angle = {is_negative ? -n : n, (float)r, (float)(r - (float)r)};
  return angle;
}
#else
INLINE struct angle great_angle(double x) {
  u64 ix = bits(x);
  u64 m = (ix & 0xfffffffffffff) | 0x10000000000000;
  u64 m_high = m >> 32, m_low = m & 0xffffffff;
  u32 first = (u32)(ix >> 52 & 0x7ff) - 1075 - 2 + 64;
  u32 at = first >> 5, shift = first & 31;
  // Product with 192 bits of 2/pi, accumulated from the lowest 32 bits.
  u64 product[6], carry = 0, before = 0;
  for (int i = 5; i >= 0; i--) {
    u64 pair = (u64)two_over_pi[(at + i) & 63] << 32 | two_over_pi[(at + i + 1) & 63];
    u64 piece = pair << shift >> 32;
    u64 sum = m_low * piece + carry;
    u64 upper = m_high * before;
    carry = sum >> 32;
    sum = (sum & 0xffffffff) + (upper & 0xffffffff);
    product[i] = sum & 0xffffffff;
    carry += (sum >> 32) + (upper >> 32);
    before = piece;
  }
  u64 high = product[0] << 32 | product[1], low = product[2] << 32 | product[3];
  u32 n = (u32)(high >> 62);
  high = high << 2 | low >> 62;
  low = low << 2;
  // Round to nearest: the remainder as magnitude and sign.
  int is_over = high >> 63;
  n += is_over;
  high = is_over ? ~high : high;
  low = is_over ? ~low : low;
  double a = (double)(high & ~(u64)0x7ff), b = (double)(high & 0x7ff) + (double)(low >> 11) * 0x1p-53;
  double sum = a + b;
  double rest = b - (sum - a);
  double r = sum * HALF_PI_OVER_2_64_0;
  double lost = fma_of(sum, HALF_PI_OVER_2_64_0, -r);
  double r_low = lost + fma_of(sum, HALF_PI_OVER_2_64_1, rest * HALF_PI_OVER_2_64_0);
  int is_negative = (int)(ix >> 63);
  double sign = is_negative != is_over ? -1.0 : 1.0;
  sign = x - x == 0 ? sign : NOT_A_NUMBER;
#ifdef FAST
  // `r_low` is more than a unit of r at most, which fast forms cannot spare.
  r += r_low;
  r_low = 0;
#endif
  struct angle angle = {is_negative ? -n : n, sign * r, sign * r_low};
  return angle;
}
#endif

INLINE struct angle reduced(real x) {
  struct angle angle;
  real shifted = fma_of(x, K(TWO_OVER_PI), ROUNDER);
  real n = shifted - ROUNDER;
  real first = fma_of(n, -K(HALF_PI_0), x);
  real second = fma_of(n, -K(HALF_PI_1), first);
  angle.n = (u32)bits(shifted);
#ifdef FAST
  angle.r = fma_of(n, -K(HALF_PI_2), second);
  angle.low = 0;
#else
  angle.r = second;
  angle.low = fma_of(n, -K(HALF_PI_2), fma_of(n, -K(HALF_PI_1), first - second));
#endif
  if (!(BUILTIN(fabs)(x) < MOST)) angle = great_angle(x);
  return angle;
}

INLINE real sin_of(struct angle a) {
  real z = a.r * a.r;
#ifdef FAST
  return fma_of(a.r * z, K(SIN_POLY)(z), a.r);
#endif
  return a.r + fma_of(a.r * z, K(SIN_POLY)(z), a.low);
}

INLINE real cos_of(struct angle a) {
  real z = a.r * a.r;
#ifdef FAST
  return fma_of(z * z, K(COS_POLY)(z), fma_of(-HALF, z, ONE));
#endif
  real half = -HALF * a.r;
  real high = fma_of(half, a.r, ONE);
  real low = fma_of(-a.r, a.low, fma_of(half, a.r, ONE - high));
  return high + fma_of(z * z, K(COS_POLY)(z), low);
}

// x - n pi.
INLINE real within_quarter_turn(real x, real n) {
  real r = fma_of(n, -K(PI_1), fma_of(n, -K(PI_0), x));
  return fma_of(n, -K(PI_2), r);
}

// The sine up to a quarter turn, at most 1. It is a product, so that -0 stays.
INLINE real quarter_turn_sin(real r) {
  real z = r * r;
  return r * fma_of(z, K(SIN_QUICK)(z), ONE);
}

// The sine of the angle plus n quarters.
INLINE real turned_sin(struct angle a, u32 n) {
  real sin = sin_of(a), cos = cos_of(a);
  real value = n & 1 ? cos : sin;
  return real_of(bits(value) ^ (word)(n & 2) << (8 * sizeof(real) - 2));
}
