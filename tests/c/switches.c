// Switches: dense, sparse, falling through, and one wound into a loop.
#include <stdint.h>

uint64_t dense(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t x = (uint32_t)b;
  for (int i = 0; i < 12; i++) {
    switch ((a >> (i * 3)) & 7) {
    case 0: x += 1; break;
    case 1: x *= 5; break;
    case 2: x ^= 0x55; // falls through
    case 3: x -= (uint32_t)mem[i]; break;
    case 4: mem[i] = (int32_t)x; break;
    case 5: x = x << 7 | x >> 25; break;
    default: x = ~x;
    }
  }
  return x;
}

uint64_t sparse(uint64_t a, uint64_t b, uint32_t *mem) {
  uint64_t sum = 0;
  for (int i = 0; i < 8; i++) {
    switch ((int32_t)mem[i] % 1000) {
    case -999: case -3: sum += 1; break;
    case 0: sum += a; break;
    case 17: case 19: sum ^= b; break;
    case 500: return sum;
    default: sum += (uint64_t)i;
    }
  }
  return sum;
}

// Copies `count` numbers eight at a time, entered where the rest begins.
uint64_t wound(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t count = (uint32_t)(a % 30) + 1, rounds = (count + 7) / 8;
  uint32_t *from = mem, *to = mem + 32;
  switch (count % 8) {
  case 0: do { *to++ = *from++ + (uint32_t)(b & 3);
  case 7:      *to++ = *from++;
  case 6:      *to++ = *from++ ^ 1;
  case 5:      *to++ = *from++;
  case 4:      *to++ = *from++;
  case 3:      *to++ = *from++;
  case 2:      *to++ = *from++;
  case 1:      *to++ = *from++;
          } while (--rounds > 0);
  }
  return (uint64_t)(to - from);
}
