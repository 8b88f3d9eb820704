// Jumps: forward, backward, into loops, and a cycle with two entries.
#include <stdint.h>

uint64_t two_entries(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t x = (uint32_t)a, n = 0;
  if (b & 1) goto second;
first:
  x += 7;
  mem[n & 3] += x;
  if (++n > 20) return x;
second:
  x ^= x << 3;
  mem[4 + (n & 3)] ^= x;
  if (++n < 30 && (x & 3)) goto first;
  return x + n;
}

uint64_t into_the_middle(uint64_t a, uint64_t b, uint32_t *mem) {
  uint32_t i = (uint32_t)a & 15, sum = 0;
  if (b & 2) goto middle;
  for (i = 0; i < 16; i++) {
    sum += (uint32_t)mem[i];
    if (sum & 1) continue;
  middle:
    sum = sum * 3 + i;
    if (sum % 11 == 0) goto tail;
  }
  sum += 100;
tail:
  return sum;
}

uint64_t state_machine(uint64_t a, uint64_t b, uint32_t *mem) {
  uint64_t bits = a, out = 0;
  uint32_t left = 24 + (b & 7);
even:
  if (!left--) goto done;
  out += 1;
  if (bits & 1) { bits >>= 1; goto odd; }
  bits >>= 1;
  goto even;
odd:
  if (!left--) goto done;
  out += 256;
  mem[out & 15]++;
  if (bits & 1) { bits >>= 1; goto even; }
  bits >>= 1;
  if (out & 4) goto odd;
  goto even;
done:
  return out;
}
