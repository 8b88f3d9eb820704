// Lanes that ask each other: `mem` is shared by all of them.
#include <heddle.h>
#include <string.h>

enum { COUNT = 64, NOTHING = 1000 };

// The first place of a number: the lanes look at places side by side, and all stop as soon as one has found it.
uint64_t find(uint64_t a, uint64_t b, int32_t *mem) {
  (void)a;
  uint32_t width = heddle_width();
  for (uint32_t at = heddle_lane(); at < COUNT; at += width) {
    bool hit = mem[at] == (int32_t)b;
    if (heddle_any(hit)) return heddle_reduce_min(hit ? at : (uint32_t)NOTHING);
  }
  return NOTHING;
}

// The odd numbers, moved together after all numbers; gives how many.
uint64_t compact(uint64_t a, uint64_t b, int32_t *mem) {
  (void)a, (void)b;
  uint32_t lane = heddle_lane(), width = heddle_width(), count = 0;
  for (uint32_t at = lane; at < COUNT; at += width) {
    int32_t number = mem[at];
    bool keep = number & 1;
    uint64_t before = heddle_ballot(keep) & (((uint64_t)1 << lane) - 1);
    uint32_t place = count;
    for (; before; before &= before - 1) place++;
    if (keep) mem[COUNT + place] = number;
    count += heddle_popcount(keep);
  }
  return count;
}

// Only some lanes are there when they ask.
uint64_t parted(uint64_t a, uint64_t b, int32_t *mem) {
  (void)mem;
  if (a & 1) return heddle_reduce_add(b) * 2 + heddle_all(b & 1);
  if (a & 2) return heddle_mask() << 32 | heddle_popcount(b & 1) << 16 | heddle_first((uint32_t)b & 255);
  uint64_t rounds = 0, n = a & 31;
  while (n > 0) {
    rounds += heddle_ballot(n & 1) + heddle_scan_before_add((uint32_t)n);
    n >>= 1;
  }
  return rounds + heddle_reduce_max((int32_t)b);
}

// What the next lane has, and what the last one has.
uint64_t moved(uint64_t a, uint64_t b, int32_t *mem) {
  (void)mem;
  uint32_t last = heddle_width() - 1, next = heddle_lane() == last ? 0 : heddle_lane() + 1;
  return heddle_shuffle(a, next) ^ heddle_broadcast(b, last) ^ (uint64_t)(int64_t)heddle_shuffle((int32_t)a, next);
}

static inline uint32_t bits_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static inline uint64_t bits_of_double(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

#define MIX(hash, bits) ((hash) * 0x9e3779b97f4a7c15u + (uint64_t)(bits))
#define COMBINED(hash, by, number, bits) \
  hash = MIX(hash, bits(heddle_reduce_##by(number))); \
  hash = MIX(hash, bits(heddle_scan_##by(number))); \
  hash = MIX(hash, bits(heddle_scan_before_##by(number)))
#define NUMBERS(hash, number, bits) \
  COMBINED(hash, add, number, bits); COMBINED(hash, mul, number, bits); \
  COMBINED(hash, min, number, bits); COMBINED(hash, max, number, bits); \
  hash = MIX(hash, bits(heddle_first(number)))
#define INTEGERS(hash, number) \
  NUMBERS(hash, number, (uint64_t)); COMBINED(hash, and, number, (uint64_t)); \
  COMBINED(hash, or, number, (uint64_t)); COMBINED(hash, xor, number, (uint64_t))

uint64_t words(uint64_t a, uint64_t b, int32_t *mem) {
  (void)mem;
  uint64_t hash = 1;
  INTEGERS(hash, (int32_t)a);
  INTEGERS(hash, (uint32_t)b);
  return hash;
}

uint64_t long_words(uint64_t a, uint64_t b, int32_t *mem) {
  (void)mem;
  uint64_t hash = 2;
  INTEGERS(hash, (int64_t)a);
  INTEGERS(hash, (uint64_t)b);
  INTEGERS(hash, (long long)a);
  return hash;
}

uint64_t floats(uint64_t a, uint64_t b, int32_t *mem) {
  (void)mem;
  float single = (float)(int32_t)(a & 0xffff) * 0.37f - 9000;
  double twice = (double)(int64_t)(b >> 20) * 1.7;
  uint64_t hash = 3;
  NUMBERS(hash, single, bits_of);
  NUMBERS(hash, twice, bits_of_double);
  return hash;
}
