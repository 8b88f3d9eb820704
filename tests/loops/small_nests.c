// Nests of constant sizes, whose levels LLVM would unroll: brushes fit them, and cells that several lanes read are loaded once.
#include <stdio.h>

enum { COUNT = 21 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")

/// A product of each pair of matrices; `other` is the element of the second one for a column and a term.
#define PRODUCT(name, type, size, start, other)                                                                        \
  __attribute__((noinline)) static void name(long count, type(*restrict out)[size][size],                              \
                                             const type (*restrict a)[size][size], const type (*restrict b)[size][size]) { \
    LEVEL                                                                                                              \
    for (long m = 0; m < count; m++)                                                                                   \
      LEVEL                                                                                                            \
      for (long i = 0; i < size; i++)                                                                                  \
        LEVEL                                                                                                          \
        for (long j = 0; j < size; j++) {                                                                              \
          type sum = start;                                                                                            \
          for (long k = 0; k < size; k++)                                                                              \
            sum += a[m][i][k] * other;                                                                                 \
          out[m][i][j] = sum;                                                                                          \
        }                                                                                                              \
  }
#define PRODUCTS(name, type, size)                                                                                     \
  static type name##_a[COUNT][size][size], name##_b[COUNT][size][size], name##_out[COUNT][size][size];                 \
  PRODUCT(name, type, size, 0, b[m][k][j])                                                                             \
  PRODUCT(name##_transposed, type, size, 1, b[m][j][k])
PRODUCTS(floats_2, float, 2)
PRODUCTS(ints_3, int, 3)
PRODUCTS(floats_4, float, 4)
PRODUCTS(doubles_4, double, 4)
PRODUCTS(shorts_5, short, 5)
PRODUCTS(ints_7, int, 7)
PRODUCTS(floats_8, float, 8)
PRODUCTS(bytes_8, unsigned char, 8)

// Cells of neighbouring rows and columns of a small array with a border.
enum { INNER = 8, OUTER = INNER + 2 };
static int cells[COUNT][OUTER][OUTER], smooth[COUNT][INNER][INNER];

__attribute__((noinline)) static void blocks(long count, int (*restrict out)[INNER][INNER], const int (*restrict in)[OUTER][OUTER]) {
  for (long m = 0; m < count; m++)
    LEVEL
    for (long y = 0; y < INNER; y++)
      LEVEL
      for (long x = 0; x < INNER; x++)
        out[m][y][x] = in[m][y][x] + 2 * in[m][y][x + 1] + in[m][y][x + 2] + 2 * in[m][y + 1][x] + 4 * in[m][y + 1][x + 1] +
                       2 * in[m][y + 1][x + 2] + in[m][y + 2][x] + 2 * in[m][y + 2][x + 1] + in[m][y + 2][x + 2];
}

// Every second cell, from the end.
__attribute__((noinline)) static void halves(long count, int (*restrict out)[INNER][INNER], const int (*restrict in)[OUTER][OUTER]) {
  for (long m = 0; m < count; m++)
    LEVEL
    for (long y = 0; y < 4; y++)
      LEVEL
      for (long x = 0; x < 4; x++)
        out[m][y][x] = in[m][2 * y][8 - 2 * x] - in[m][2 * y + 1][9 - 2 * x];
}

// A store between two loads of what it may write.
__attribute__((noinline)) static void between(long count, int (*data)[INNER][INNER]) {
  for (long m = 0; m < count; m++)
    LEVEL
    for (long y = 0; y < 4; y++)
      LEVEL
      for (long x = 0; x < 4; x++) {
        int before = data[m][y][x];
        data[m][y][x + 4] = before * 3;
        data[m][y + 4][x] = data[m][y][x + 4] - data[m][y][x] / 2;
      }
}

// Three colours of each pixel: the innermost loop is unrolled, since pixels are the lanes.
enum { WIDE = 45 };
static unsigned char pixels[WIDE * WIDE * 3], brighter[WIDE * WIDE * 3];

__attribute__((noinline)) static void colours(unsigned char *restrict out, const unsigned char *restrict in, long width, long height) {
  LEVEL
  for (long y = 0; y < height; y++)
    LEVEL
    for (long x = 0; x < width; x++)
      LEVEL
      for (long c = 0; c < 3; c++)
        out[(y * width + x) * 3 + c] = (unsigned char)(in[(y * width + x) * 3 + c] / 2 + 100);
}

#define RUN(name, type)                                                                                                \
  do {                                                                                                                 \
    for (size_t at = 0; at < sizeof name##_a / sizeof(type); at++) {                                                   \
      ((type *)name##_a)[at] = (type)((int)(at * 7 % 11) - 5);                                                         \
      ((type *)name##_b)[at] = (type)((int)(at * 5 % 13) - 6);                                                         \
    }                                                                                                                  \
    for (long count = 0; count <= COUNT; count++) {                                                                    \
      name(count, name##_out, name##_a, name##_b);                                                                     \
      eat(name##_out, sizeof name##_out);                                                                              \
      name##_transposed(count, name##_out, name##_b, name##_a);                                                        \
      eat(name##_out, sizeof name##_out);                                                                              \
    }                                                                                                                  \
    printf(#name ": %08x\n", hash);                                                                                    \
  } while (0)

int main(void) {
  RUN(floats_2, float);
  RUN(ints_3, int);
  RUN(floats_4, float);
  RUN(doubles_4, double);
  RUN(shorts_5, short);
  RUN(ints_7, int);
  RUN(floats_8, float);
  RUN(bytes_8, unsigned char);
  for (size_t at = 0; at < sizeof cells / sizeof(int); at++)
    ((int *)cells)[at] = (int)(at * 7919 % 1001) - 500;
  for (size_t at = 0; at < sizeof pixels; at++)
    pixels[at] = (unsigned char)(at * 37 + at / 11);
  for (long count = 0; count <= COUNT; count++) {
    blocks(count, smooth, (const int(*)[OUTER][OUTER])cells);
    eat(smooth, sizeof smooth);
    halves(count, smooth, (const int(*)[OUTER][OUTER])cells);
    eat(smooth, sizeof smooth);
    between(count, smooth);
    eat(smooth, sizeof smooth);
    printf("%ld: %08x\n", count, hash);
  }
  for (long width = 0; width <= WIDE; width += 3) {
    colours(brighter, pixels, width, WIDE - width / 2);
    eat(brighter, sizeof brighter);
    printf("%ld: %08x\n", width, hash);
  }
  return 0;
}
