// Local arrays: written and read at places that differ, sorted, used as a sieve.
#include <stdint.h>

uint64_t sorted(uint64_t a, uint64_t b, int32_t *mem) {
  int32_t list[16];
  for (int i = 0; i < 16; i++) list[i] = mem[i] ^ (int32_t)(a >> i);
  for (int i = 1; i < 16; i++) {
    int32_t x = list[i];
    int j = i - 1;
    while (j >= 0 && list[j] > x) { list[j + 1] = list[j]; j--; }
    list[j + 1] = x;
  }
  for (int i = 0; i < 16; i++) mem[i + 16] = list[i];
  return (uint32_t)list[b & 15];
}

uint64_t sieve(uint64_t a, uint64_t b, int32_t *mem) {
  uint8_t marked[64] = {0};
  unsigned limit = 20 + a % 44, count = 0;
  for (unsigned i = 2; i < limit; i++) {
    if (marked[i]) continue;
    count++;
    mem[count & 31] = (int32_t)i;
    for (unsigned j = i * i; j < limit; j += i) marked[j] = 1;
  }
  return count + b % 2;
}

uint64_t histogram(uint64_t a, uint64_t b, int32_t *mem) {
  uint16_t count[2][8] = {{0}};
  for (int i = 0; i < 32; i++) count[(a >> i) & 1][(uint32_t)mem[i] % 8]++;
  uint64_t sum = 0;
  for (int i = 0; i < 16; i++) sum = sum * 33 + count[i / 8][(i ^ b) % 8];
  return sum;
}
