// Arrays in tiles, whose loads lanes of several rows share: stencils that begin at even and odd places.
#include "../../include/heddle.h"
#include <stdio.h>
#include <stdlib.h>

enum { BORDER = 2 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")

/// A stencil over arrays in tiles that begins `from` rows and columns behind the border. Results are the same as in rows.
#define STENCIL(name, type, rows, columns, from)                                                                       \
  __attribute__((noinline)) static void name(type *restrict out, const type *restrict in, long height, long width,     \
                                             long pitch) {                                                             \
    LEVEL                                                                                                              \
    for (long y = BORDER + from; y < height - BORDER; y++)                                                             \
      LEVEL                                                                                                            \
      for (long x = BORDER + from; x < width - BORDER; x++)                                                            \
        out[heddle_tile(y, x, pitch, rows, columns)] = in[heddle_tile(y, x, pitch, rows, columns)] * 3 +               \
                                                       in[heddle_tile(y - 1, x, pitch, rows, columns)] +               \
                                                       in[heddle_tile(y, x - 1, pitch, rows, columns)] * 2 -           \
                                                       in[heddle_tile(y + 1, x + 1, pitch, rows, columns)] +           \
                                                       in[heddle_tile(y, x + 2, pitch, rows, columns)];                \
  }                                                                                                                    \
  static void check_##name(long height, long width) {                                                                  \
    long pitch = (width + columns - 1) / columns * columns, cells = heddle_tile_cells(height, pitch, rows);            \
    type *plain = malloc(height * width * sizeof(type)), *in = calloc(cells, sizeof(type));                            \
    type *out = calloc(cells, sizeof(type));                                                                           \
    for (long at = 0; at < height * width; at++)                                                                       \
      plain[at] = (type)(at * 37 % 101);                                                                               \
    heddle_to_tiles(in, pitch, rows, columns, plain, height, width, sizeof(type));                                     \
    name(out, in, height, width, pitch);                                                                               \
    heddle_from_tiles(plain, height, width, out, pitch, rows, columns, sizeof(type));                                  \
    eat(plain, height * width * sizeof(type));                                                                         \
    free(plain), free(in), free(out);                                                                                  \
  }
STENCIL(double_odd, double, 2, 2, 1)
STENCIL(double_even, double, 2, 2, 0)
STENCIL(float_wide, float, 2, 4, 1)
STENCIL(short_high, short, 4, 2, 0)
STENCIL(byte_squares, unsigned char, 4, 4, 1)
STENCIL(int_rows, int, 1, 8, 0)

int main(void) {
  for (long height = 4; height < 40; height += 7)
    for (long width = 5; width < 90; width += 6) {
      check_double_odd(height, width), check_double_even(height, width), check_float_wide(height, width);
      check_short_high(height, width), check_byte_squares(height, width), check_int_rows(height, width);
    }
  printf("tiles %08x\n", hash);
}
