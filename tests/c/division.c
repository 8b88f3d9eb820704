// A guard precedes each division that may trap.
#include <stdint.h>

uint64_t guarded(uint64_t a, uint64_t b, int32_t *mem) {
  int64_t sum = 0;
  for (int i = 0; i < 16; i++) {
    int32_t d = mem[i] % 4, n = (int32_t)(a >> i);
    if (d != 0 && !(d == -1 && n == INT32_MIN)) sum += n / d + n % d;
    uint8_t small = (uint8_t)(b >> i);
    sum += small ? 1000 / small : -1;
  }
  return (uint64_t)sum;
}

uint64_t divisors(uint64_t a, uint64_t b, int32_t *mem) {
  uint32_t x = (uint32_t)a % 5000 + 1, y = (uint32_t)b % 5000;
  while (y) { uint32_t r = x % y; x = y; y = r; mem[r & 15] ^= 1 << (r & 15); }
  return x;
}

uint64_t guarded_load(uint64_t a, uint64_t b, int32_t *mem) {
  int32_t *p = a & 1 ? mem : 0;
  uint64_t sum = b;
  for (int i = 0; i < 10; i++) {
    if (p) sum += (uint32_t)p[i];
    if ((sum & 15) == 3) p = p ? 0 : mem + 2;
  }
  return sum;
}
