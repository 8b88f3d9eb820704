// Stencils whose rows are apart by powers of two, and by others: code for brushes and for single rows has the same results.
#include <stdio.h>
#include <stdlib.h>

static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")

#define STENCIL(name, type)                                                                                            \
  __attribute__((noinline)) static void name(type *restrict out, const type *restrict in, long height, int pitch) {   \
    LEVEL                                                                                                              \
    for (long y = 1; y < height - 1; y++)                                                                              \
      LEVEL                                                                                                            \
      for (long x = 1; x < pitch - 1; x++)                                                                             \
        out[y * pitch + x] = in[y * pitch + x] * 3 + in[(y - 1) * pitch + x] + in[(y + 1) * pitch + x] * 2 -           \
                             in[y * pitch + x - 1] - in[y * pitch + x + 1];                                            \
  }                                                                                                                    \
  static void check_##name(long height, int pitch) {                                                                   \
    size_t bytes = height * pitch * sizeof(type);                                                                      \
    type *in = malloc(bytes), *out = calloc(1, bytes);                                                                 \
    for (long at = 0; at < height * pitch; at++)                                                                       \
      in[at] = (type)(at * 37 % 101);                                                                                  \
    name(out, in, height, pitch);                                                                                      \
    eat(out, bytes);                                                                                                   \
    free(in), free(out);                                                                                               \
  }
STENCIL(floats, float)
STENCIL(doubles, double)
STENCIL(shorts, short)

int main(void) {
  static const int pitches[] = {256, 500, 512, 1024, 1030, 2048};
  for (long height = 3; height < 30; height += 5)
    for (int which = 0; which < 6; which++)
      check_floats(height, pitches[which]), check_doubles(height, pitches[which]), check_shorts(height, pitches[which]);
  printf("evictions %08x\n", hash);
}
