// Addresses of local arrays as numbers: rounded up, kept in memory, compared, subtracted.
#include <stdint.h>

uint64_t rounded(uint64_t a, uint64_t b, int32_t *mem) {
  char room[79];
  int32_t *list = (int32_t *)(((uintptr_t)room + 15) & ~(uintptr_t)15);
  for (int i = 0; i < 16; i++) list[i] = mem[i] ^ (int32_t)(a >> i);
  mem[20] = list[b & 15];
  return (uint32_t)list[(a + b) & 15];
}

uint64_t kept(uint64_t a, uint64_t b, int32_t *mem) {
  int32_t x[8], y[8];
  uintptr_t kept[2];
  for (int i = 0; i < 8; i++) {
    x[i] = (int32_t)((uint32_t)mem[i] + (uint32_t)a);
    y[i] = (int32_t)((uint32_t)mem[i] * 3 - (uint32_t)b);
  }
  kept[0] = (uintptr_t)x + 4 * (a & 3);
  kept[1] = (uintptr_t)y;
  ((int32_t *)kept[b & 1])[a >> 1 & 3] = 5;
  uint32_t sum = 0;
  for (int i = 0; i < 8; i++) sum = sum * 31 + (uint32_t)x[i] + 2 * (uint32_t)y[i];
  return sum;
}

uint64_t apart(uint64_t a, uint64_t b, int32_t *mem) {
  int32_t list[16];
  for (int i = 0; i < 16; i++) list[i] = (mem[i] ^ (int32_t)a) & 15;
  int32_t *end = list + 16, *at = list;
  while (at != end && *at != (int32_t)(b & 15)) at++;
  mem[20] = (int32_t)(at - list);
  return (uint64_t)(end - at) + (at < end);
}
