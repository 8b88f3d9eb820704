// Numbers: bits, overflow, floats, short vectors.
#include <stdint.h>

typedef float Four __attribute__((ext_vector_type(4)));
typedef int32_t Ints __attribute__((ext_vector_type(4)));

uint64_t bits(uint64_t a, uint64_t b, int32_t *mem) {
  uint64_t x = (uint64_t)__builtin_popcountll(a) + (uint64_t)__builtin_clzll(b | 1) * 3 + (uint64_t)__builtin_ctz((uint32_t)a | 256);
  x ^= __builtin_bswap64(a) + __builtin_bitreverse32((uint32_t)b);
  uint32_t r = (uint32_t)a;
  for (int i = 1; i < 8; i++) r = r << i | r >> (32 - i);
  mem[0] = __builtin_abs(mem[0] / 2);
  return x + r;
}

uint64_t overflow(uint64_t a, uint64_t b, int32_t *mem) {
  int32_t s, d, p;
  uint64_t u;
  uint64_t flags = __builtin_add_overflow(mem[0], (int32_t)a, &s);
  flags = flags * 2 + __builtin_sub_overflow(mem[1], (int32_t)b, &d);
  flags = flags * 2 + __builtin_mul_overflow(mem[2], mem[3], &p);
  flags = flags * 2 + __builtin_mul_overflow(a, b, &u);
  mem[4] = s; mem[5] = d; mem[6] = p;
  return flags ^ u;
}

uint64_t wide(uint64_t a, uint64_t b, int32_t *mem) {
  unsigned __int128 product = (unsigned __int128)a * b + (uint32_t)mem[0];
  __int128 shifted = (__int128)product >> (mem[1] & 63);
  return (uint64_t)(product >> 64) ^ (uint64_t)shifted ^ (uint64_t)(product % (b | 1));
}

uint64_t floats(uint64_t a, uint64_t b, int32_t *mem) {
  double x = (double)(int64_t)a / 1e9, sum = 0;
  float y = (float)(b & 0xffff) * 0.125f;
  for (int i = 0; i < 10; i++) {
    x = x > 100 ? x * 0.5 - 3 : x + y;
    if (x < -1e6) x = __builtin_sqrt(-x);
    sum += __builtin_fabs(x) + __builtin_floor(x * 0.1) + __builtin_fmax(x, (double)y);
    y = __builtin_fminf(y, (float)x) + __builtin_copysignf(1.5f, (float)x);
  }
  mem[0] = (int32_t)(y > 1e6f || y < -1e6f ? 0 : y);
  return (uint64_t)(int64_t)(sum > 1e15 || sum < -1e15 ? 0 : sum * 16);
}

uint64_t short_vectors(uint64_t a, uint64_t b, int32_t *mem) {
  Four v = {(float)(a & 63), 2, (float)(b & 31), -1}, w = v.wzyx * 0.5f;
  Ints m = {mem[0], mem[1], mem[2], mem[3]};
  for (int i = 0; i < 4; i++) {
    v = v * w + (float)i;
    w[i & 3] += 1;
    m = (m ^ (m >> 1)) + (Ints)(v > w);
    v = v > 1e6f ? w : v;
  }
  *(Ints *)(mem + 4) = m.yxwz;
  return (uint64_t)((uint32_t)m[a & 3] + (uint32_t)m.x) + (v.x > w.y ? 1 : 0);
}

static const int16_t table[8] = {1, -5, 25, -125, 625, -3125, 15625, 7};
static const int16_t *const rows[2] = {table, table + 4};

uint64_t tables(uint64_t a, uint64_t b, int32_t *mem) {
  static const char text[] = "heddles part the warp";
  uint64_t sum = 0;
  for (unsigned i = 0; i < sizeof text; i++) sum = sum * 17 + (uint8_t)text[(i + a) % sizeof text];
  for (int i = 0; i < 8; i++) mem[i] ^= rows[(b >> i) & 1][(a >> (2 * i)) & 3];
  return sum;
}
