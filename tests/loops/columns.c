// Nests whose outer level walks along rows of memory: lanes of the outer level are next to each other.
#include <stdio.h>
#include <stdlib.h>

static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")

/// A stencil, columns first.
__attribute__((noinline)) static void stencil(float *restrict out, const float *restrict in, long height, long width) {
  LEVEL
  for (long x = 1; x < width - 1; x++)
    LEVEL
    for (long y = 1; y < height - 1; y++)
      out[y * width + x] = in[y * width + x] * 3 + in[(y - 1) * width + x] + in[(y + 1) * width + x] * 2 -
                           in[y * width + x - 1] - in[y * width + x + 1];
}

/// A matrix product, columns of the result first.
__attribute__((noinline)) static void product(double *restrict c, const double *restrict a, const double *restrict b,
                                              long n, long m, long length) {
  LEVEL
  for (long j = 0; j < m; j++)
    LEVEL
    for (long i = 0; i < n; i++) {
      double sum = 0;
      for (long k = 0; k < length; k++)
        sum += a[i * length + k] * b[k * m + j];
      c[i * m + j] = sum;
    }
}

/// Columns of different lengths.
__attribute__((noinline)) static void triangle(int *restrict out, const int *restrict in, long n) {
  LEVEL
  for (long j = 0; j < n; j++)
    LEVEL
    for (long i = 0; i <= j; i++)
      if (in[i * n + j] & 1)
        out[i * n + j] = in[i * n + j] + in[i * n];
}

/// Constant trip counts.
__attribute__((noinline)) static void small(short *restrict out, const short *restrict in) {
  LEVEL
  for (int x = 0; x < 37; x++)
    LEVEL
    for (int y = 0; y < 6; y++)
      out[y * 37 + x] = in[y * 37 + x] + in[y];
}

int main(void) {
  for (long height = 1; height < 40; height += 7)
    for (long width = 1; width < 90; width += 11) {
      long cells = 100 * 100;
      float *in = malloc(cells * sizeof(float)), *out = calloc(cells, sizeof(float));
      double *a = malloc(cells * sizeof(double)), *b = malloc(cells * sizeof(double)), *c = calloc(cells, sizeof(double));
      int *whole = malloc(cells * sizeof(int)), *chosen = calloc(cells, sizeof(int));
      short narrow[37 * 6], sums[37 * 6];
      for (long at = 0; at < cells; at++) {
        in[at] = (float)(at * 37 % 101), whole[at] = (int)(at * 41 % 103);
        a[at] = (double)(at * 43 % 107), b[at] = (double)(at * 47 % 109);
      }
      for (int at = 0; at < 37 * 6; at++)
        narrow[at] = (short)(at * 53 % 113 + height);
      stencil(out, in, height, width), product(c, a, b, height, width, 9), triangle(chosen, whole, width);
      small(sums, narrow);
      eat(out, cells * sizeof(float)), eat(c, cells * sizeof(double)), eat(chosen, cells * sizeof(int));
      eat(sums, sizeof(sums));
      free(in), free(out), free(a), free(b), free(c), free(whole), free(chosen);
    }
  printf("columns %08x\n", hash);
}
