// Volatile accesses, and tables that are local to a function.
#include <stdint.h>

uint64_t counts(uint64_t a, uint64_t b, int32_t *mem) {
  volatile uint32_t sum = 0;
  volatile int32_t *at = mem;
  for (uint64_t i = 0; i < (b & 15); i++) {
    sum += (uint32_t)at[i];
    if (a >> i & 1) at[i] = (int32_t)(sum >> 3);
  }
  return sum;
}

uint64_t tables(uint64_t a, uint64_t b, int32_t *mem) {
  static const int32_t primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
  int32_t squares[4] = {1, 4, 9, 16};
  squares[a & 3] += mem[b & 31] & 7;
  return (uint64_t)(uint32_t)(primes[a & 7] * squares[b & 3]);
}
