// Structs by value, bit fields, unions, functions that take and give them.
#include <stdint.h>
#include <string.h>

typedef struct { float x, y, z; } Point;
typedef struct { unsigned kind : 3; int level : 5; unsigned rest : 24; } Packed;
typedef union { float f; uint32_t u; uint8_t bytes[4]; } Bits;
typedef struct { uint64_t numbers[6]; int32_t tag; } Large;

__attribute__((noinline)) static Point cross(Point p, Point q) {
  return (Point){p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
}

__attribute__((noinline)) static Large turned(Large large, int by) {
  Large result = large;
  for (int i = 0; i < 6; i++) result.numbers[i] = large.numbers[(i + by) % 6] + (uint64_t)large.tag;
  large.tag = 99;
  result.tag++;
  return result;
}

uint64_t points(uint64_t a, uint64_t b, int32_t *mem) {
  Point p = {(float)(a & 255), (float)(b & 255), 1.5f}, q = {2, -3, (float)(a >> 60)};
  for (int i = 0; i < 3; i++) {
    p = cross(p, q);
    if (p.x > 1000) p.x = 1000;
  }
  Bits bits = {p.x + p.y};
  mem[0] = (int32_t)bits.u;
  bits.bytes[3] &= 0x7f;
  return bits.f > 10 ? bits.u : 7;
}

uint64_t fields(uint64_t a, uint64_t b, int32_t *mem) {
  Packed packed;
  packed.kind = a & 7;
  packed.level = (int)(b & 31) - 16;
  packed.rest = (uint32_t)(a >> 8);
  uint64_t sum = 0;
  for (int i = 0; i < 5; i++) {
    packed.kind++;
    packed.level -= packed.kind;
    packed.rest ^= (unsigned)packed.level;
    sum = sum * 7 + packed.rest;
  }
  memcpy(mem, &packed, sizeof packed);
  return sum + packed.kind;
}

uint64_t large(uint64_t a, uint64_t b, int32_t *mem) {
  Large large = {{a, 2, 3, b, 5, 6}, mem[3] & 15};
  for (int i = 0; i < (int)(a & 3) + 1; i++) large = turned(large, i + 1);
  uint64_t sum = (uint64_t)large.tag;
  for (int i = 0; i < 6; i++) sum = sum * 3 + large.numbers[i];
  return sum;
}
