// Loops: nested, left in several places, gone round early.
#include <stdint.h>

uint64_t collatz(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t n = (uint32_t)a % 1000 + 1, steps = 0;
  while (n != 1 && steps < 200 + b % 8) {
    n = n & 1 ? 3 * n + 1 : n >> 1;
    mem[steps++ & 15] ^= n;
  }
  return steps;
}

uint64_t several_exits(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < a % 40; i++) {
    for (uint32_t j = i; j < 20; j += 3) {
      if ((sum ^ j) % 13 == b % 13) return sum + j;
      if ((mem[j] & 7) == 5) break;
      if (mem[j] & 8) continue;
      sum += (uint32_t)mem[(i + j) & 31] + j;
      if (sum > 4000000000u) goto out;
    }
    mem[i & 15] = sum;
  }
out:
  return (uint64_t)sum << 1;
}

uint64_t bottom_tested(uint64_t a, uint64_t b, uint32_t *mem) {
  uint64_t x = a, count = 0;
  do {
    uint64_t y = b;
    do {
      x = x * 6364136223846793005u + y;
      count++;
    } while ((x >> 60) > 9 && count < 60);
    y ^= x;
    mem[count & 7] += (y >> 33);
  } while ((x & 7) && count < 90);
  return x ^ count;
}

// Sums that clang has a formula for, in integers one bit wider.
uint64_t closed(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t sum = 0, odd = 0;
  for (uint32_t i = 0; i < (uint32_t)a % 2000; i++) sum += i;
  for (uint32_t i = 0; i < (uint32_t)b % 1000; i++) odd += 2 * i + 1;
  mem[0] = sum;
  return sum ^ odd;
}
