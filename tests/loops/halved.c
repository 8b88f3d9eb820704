// Halved and masked indices, whose cells are loaded once and permuted. Inputs end where memory ends.
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>

enum { MOST = 300, PAGE = 4096, PAGES = 4 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

/// Memory of this many bytes with numbers, before memory that nobody may read.
static void *filled(size_t bytes) {
  static unsigned char *end;
  if (!end) {
    unsigned char *all = mmap(0, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = all + PAGES * PAGE;
    mprotect(end, PAGE, PROT_NONE);
  }
  for (size_t at = 1; at <= bytes; at++)
    end[-(long)at] = at * 37 + at / 7;
  return end - bytes;
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")
#define LOOP __attribute__((noinline)) static void

/// A loop from one index to another that reads `read` of each index `x`; `cells` are those of `n` indices.
#define READS(name, type, index, read, cells)                                                                          \
  LOOP name(type *restrict out, const type *restrict in, index from, index n) {                                        \
    LEVEL                                                                                                              \
    for (index x = from; x < n; x++)                                                                                   \
      out[x] = read;                                                                                                   \
  }                                                                                                                    \
  static void check_##name(int n) {                                                                                    \
    static type out[MOST + 8];                                                                                         \
    for (int from = 0; from < 3; from++) {                                                                             \
      name(out, filled((cells) * sizeof(type)), from, n);                                                              \
      eat(out, n * sizeof(type));                                                                                      \
    }                                                                                                                  \
  }
#define PAIRS ((n + 1) / 2 * 2)
READS(float_halves, float, long, in[x / 2] * 2, (n + 1) / 2)
READS(byte_halves, unsigned char, int, in[x / 2] + 1, (n + 1) / 2)
READS(double_quarters, double, unsigned long, in[x / 4] * 2, (n + 3) / 4)
READS(short_quarters, short, unsigned, in[x >> 2] + 3, (n + 3) / 4)
READS(int_pairs, int, long, in[x & ~1] + 2 * in[(x & ~1) + 1], PAIRS)
READS(byte_pairs, unsigned char, int, in[x & ~1] + 2 * in[(x & ~1) + 1], PAIRS)
READS(partners, float, long, in[x ^ 1] - in[x], PAIRS)
READS(partners_of_four, int, int, in[x ^ 3] - in[x | 1], (n + 3) / 4 * 4)
READS(neighbours, unsigned char, long, 3 * in[x / 2 + 1] + in[x / 2 + 1 + (x % 2 ? 1 : -1)], (n + 1) / 2 + 2)
READS(both_signs, short, int, in[(x - 5) / 2 + 3], (n + 1) / 2 + 3)
READS(small_indices, int, int, in[(unsigned char)(x + 250) / 2], 128)
READS(some, float, long, x % 3 ? in[x / 2] : 5, (n + 1) / 2)
READS(thirds, int, long, in[x / 3], (n + 2) / 3)

/// A picture at half the resolution in both directions.
LOOP picture(short *restrict out, const short *restrict in, int width, int height) {
  LEVEL
  for (int y = 0; y < height; y++)
    LEVEL
    for (int x = 0; x < width; x++)
      out[y * width + x] = in[y / 2 * ((width + 1) / 2) + x / 2] + y;
}

int main(void) {
  for (int n = 0; n <= MOST; n += n < 70 ? 1 : 23) {
    check_float_halves(n), check_byte_halves(n), check_double_quarters(n), check_short_quarters(n);
    check_int_pairs(n), check_byte_pairs(n), check_partners(n), check_partners_of_four(n);
    check_neighbours(n), check_both_signs(n), check_small_indices(n), check_some(n), check_thirds(n);
  }
  printf("lines %08x\n", hash);
  static short out[40 * 70];
  for (int height = 1; height < 40; height += 5)
    for (int width = 1; width < 70; width += 3) {
      picture(out, filled((height + 1) / 2 * ((width + 1) / 2) * sizeof(short)), width, height);
      eat(out, width * height * sizeof(short));
    }
  printf("pictures %08x\n", hash);
}
