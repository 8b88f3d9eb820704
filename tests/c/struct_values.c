// Structs as values: small ones in registers, great ones in memory, given to functions and given back.
#include <stdint.h>

typedef struct { float x, y; } Pair;
typedef struct { uint64_t sum; uint32_t count; } Tally;
typedef struct { uint32_t rows[6]; } Table;
typedef struct { uint8_t low; uint16_t middle; int32_t high; } Mixed;

__attribute__((noinline)) static Pair turned(Pair p, float by) {
  Pair result = {p.x * by - p.y, p.y * by + p.x};
  return result;
}

__attribute__((noinline)) static Tally counted(Tally t, uint64_t value) {
  t.sum += value;
  if (value & 1) t.count++;
  return t;
}

__attribute__((noinline)) static Table shifted(Table t, uint32_t by) {
  Table result;
  for (int i = 0; i < 6; i++) result.rows[i] = t.rows[(i + by) % 6] + by;
  t.rows[0] = 0;
  return result;
}

__attribute__((noinline)) static Mixed mixed(Mixed m, Tally t) {
  Mixed result = {(uint8_t)(m.middle + t.count), (uint16_t)(m.low ^ t.sum), m.high - (int32_t)(t.count * 3)};
  return result;
}

uint64_t in_registers(uint64_t a, uint64_t b, uint32_t *mem) {
  Tally t = {a, 0};
  for (uint32_t i = 0; i < (uint32_t)b % 9; i++) t = counted(t, mem[i] >> (a & 7));
  Mixed m = {(uint8_t)a, (uint16_t)b, (int32_t)mem[3]};
  if (t.count > 2) m = mixed(m, t);
  return t.sum + ((uint64_t)m.low << 40) + m.middle + (uint32_t)m.high;
}

uint64_t of_floats(uint64_t a, uint64_t b, uint32_t *mem) {
  Pair p = {(float)(a & 15), (float)(b & 15)};
  for (uint32_t i = 0; i < mem[0] % 5; i++) p = turned(p, 0.5f);
  return (uint64_t)(p.x < p.y) << 32 | (uint32_t)(int32_t)(p.x * 4);
}

uint64_t in_memory(uint64_t a, uint64_t b, uint32_t *mem) {
  Table t;
  for (int i = 0; i < 6; i++) t.rows[i] = mem[i];
  for (uint32_t i = 0; i < b % 4; i++) t = shifted(t, (uint32_t)(a + i) % 6);
  for (int i = 0; i < 6; i++) mem[8 + i] = t.rows[i];
  return t.rows[0] + (uint64_t)t.rows[5];
}
