// Functions called through pointers: from a table, from memory that lanes write, chosen, and one after the other.
#include <stdint.h>

typedef uint64_t operation(uint64_t x, uint64_t y);

static uint64_t add(uint64_t x, uint64_t y) { return x + y; }
static uint64_t mix(uint64_t x, uint64_t y) { return (x << 13 | x >> 51) ^ y; }
static uint64_t collatz(uint64_t x, uint64_t y) {
  int steps = 0;
  for (x &= 1023; x > 1 && steps < 40; steps++)
    x = x & 1 ? 3 * x + 1 : x / 2;
  return y + (uint64_t)steps;
}
static operation *const operations[4] = {add, mix, collatz, mix};

uint64_t table(uint64_t a, uint64_t b, int32_t *mem) {
  uint64_t x = b;
  for (int i = 0; i < 10; i++)
    x = operations[(a >> (2 * i)) & 3](x, (uint64_t)(uint32_t)mem[i]);
  return x;
}

uint64_t same(uint64_t a, uint64_t b, int32_t *mem) {
  operation *one = operations[mem[0] & 3];
  return one(a, one(b, 7));
}

static void bump(int32_t *at) { *at = (int32_t)((uint32_t)*at + 1); }
static void flip(int32_t *at) { *at = ~*at; }

uint64_t effects(uint64_t a, uint64_t b, int32_t *mem) {
  void (*chosen[2])(int32_t *) = {bump, flip};
  for (int i = 0; i < 8; i++)
    if (b >> i & 1)
      chosen[a >> i & 1](mem + i);
  return (uint64_t)(chosen[a & 1] == bump);
}
