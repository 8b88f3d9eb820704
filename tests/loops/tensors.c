// Nests both of whose levels become dimensions of a brush: widths on both levels ask for it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 45 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

#define ROWS _Pragma("clang loop vectorize(assume_safety) vectorize_width(4)")
#define COLUMNS _Pragma("clang loop vectorize(assume_safety) vectorize_width(8)")

__attribute__((noinline)) void stencil(double *out, const double *in, long n, long m) {
  ROWS
  for (long j = 1; j < n - 1; j++)
    COLUMNS
    for (long i = 1; i < m - 1; i++)
      out[j * m + i] = 0.2 * (in[(j - 1) * m + i] + in[j * m + i - 1] + in[j * m + i] + in[j * m + i + 1] + in[(j + 1) * m + i]);
}

__attribute__((noinline)) void product(int *out, const int *a, const int *b, int n, int m, int k) {
  ROWS
  for (int i = 0; i < n; i++)
    COLUMNS
    for (int j = 0; j < m; j++) {
      int sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * m + j];
      out[i * m + j] = sum;
    }
}

__attribute__((noinline)) void transpose(float *out, const float *in, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++)
    COLUMNS
    for (long i = 0; i < m; i++)
      out[i * n + j] = in[j * m + i];
}

// Rows are of different lengths, and begin at different columns.
__attribute__((noinline)) void triangle(int *out, const int *in, long n) {
  ROWS
  for (long j = 0; j < n; j++)
    COLUMNS
    for (long i = j / 2; i <= j; i++)
      out[j * n + i] = in[i * n + j] + (int)j;
}

// Branches that diverge along each dimension.
__attribute__((noinline)) void branches(unsigned char *out, const unsigned char *in, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++)
    COLUMNS
    for (long i = 0; i < m; i++) {
      int value = in[j * m + i];
      if (j & 1)
        value += 3;
      if (i % 3 == 0)
        value ^= 21;
      if (value & 4)
        for (int k = 0; k < (value & 7); k++)
          value += in[(j * m + i + k) % (n * m)];
      out[j * m + i] = (unsigned char)value;
    }
}

// Down and to the left, by steps.
__attribute__((noinline)) void backwards(short *out, const short *in, long n, long m) {
  ROWS
  for (long j = n - 1; j >= 0; j -= 2)
    COLUMNS
    for (long i = m - 1; i >= 0; i -= 3)
      out[j * m + i] = (short)(in[j * m + i] * 3 + in[(n - 1 - j) * m + i]);
}

// The outer level reads and computes for its row.
__attribute__((noinline)) void scaled(float *out, const float *in, const float *scale, const int *start, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++) {
    float by = scale[j] * 0.5f + 1.0f;
    const float *row = in + start[j];
    COLUMNS
    for (long i = 0; i < m; i++)
      out[j * m + i] = row[i] * by;
  }
}

// One row of what is read moves while the next is written; two arrays overlap.
__attribute__((noinline)) void own_cells(int *data, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++)
    COLUMNS
    for (long i = 0; i < m; i++) {
      data[j * m + i] += 5;
      data[j * m + i] = data[j * m + i] * 3 + data[j * m + i] / 7;
    }
}

// Writes outside of the inner level: one level is vectorized.
__attribute__((noinline)) void writes_outside(int *out, int *ends, const int *in, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++) {
    ends[j] = in[j * m] * 2;
    COLUMNS
    for (long i = 0; i < m; i++)
      out[j * m + i] = in[j * m + i] + 1;
  }
}

// Sums of rows: one level is vectorized.
__attribute__((noinline)) void sums(float *out, const float *in, long n, long m) {
  ROWS
  for (long j = 0; j < n; j++) {
    float sum = 0;
    for (long i = 0; i < m; i++)
      sum += in[j * m + i];
    out[j] = sum;
  }
}

int main(void) {
  enum { CELLS = SIDE * SIDE };
  double *doubles = malloc(sizeof(double) * CELLS), *double_out = malloc(sizeof(double) * CELLS);
  float *floats = malloc(sizeof(float) * CELLS), *float_out = malloc(sizeof(float) * CELLS);
  int *ints = malloc(sizeof(int) * CELLS), *others = malloc(sizeof(int) * CELLS), *int_out = malloc(sizeof(int) * CELLS);
  short *shorts = malloc(sizeof(short) * CELLS), *short_out = malloc(sizeof(short) * CELLS);
  unsigned char *bytes = malloc(CELLS), *byte_out = malloc(CELLS);
  int starts[SIDE], ends[SIDE];
  for (int at = 0; at < CELLS; at++) {
    doubles[at] = at * 0.25 - 17;
    floats[at] = (float)(at % 97) * 0.5f;
    ints[at] = at * 7919 % 1001 - 500;
    others[at] = at * 31 % 77;
    shorts[at] = (short)(at * 13);
    bytes[at] = (unsigned char)(at * 37 + at / 11);
  }
  static const int sides[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33, 45};
  enum { COUNT = sizeof sides / sizeof *sides };
  for (int one = 0; one < COUNT; one++)
    for (int two = 0; two < COUNT; two++) {
      int n = sides[one], m = sides[two];
      for (int j = 0; j < SIDE; j++)
        starts[j] = j * 11 % 17, ends[j] = 0;
      memset(double_out, 0, sizeof(double) * CELLS);
      memset(float_out, 0, sizeof(float) * CELLS);
      memset(int_out, 0, sizeof(int) * CELLS);
      memset(short_out, 0, sizeof(short) * CELLS);
      memset(byte_out, 0, CELLS);
      stencil(double_out, doubles, n, m);
      eat(double_out, sizeof(double) * CELLS);
      product(int_out, ints, others, n, m, (n + m) / 2);
      eat(int_out, sizeof(int) * CELLS);
      transpose(float_out, floats, n, m);
      eat(float_out, sizeof(float) * CELLS);
      triangle(int_out, ints, n);
      eat(int_out, sizeof(int) * CELLS);
      if (n * m > 0)
        branches(byte_out, bytes, n, m);
      eat(byte_out, CELLS);
      backwards(short_out, shorts, n, m);
      eat(short_out, sizeof(short) * CELLS);
      scaled(float_out, floats, floats, starts, n, m);
      eat(float_out, sizeof(float) * CELLS);
      own_cells(int_out, n, m);
      eat(int_out, sizeof(int) * CELLS);
      writes_outside(int_out, ends, ints, n, m);
      eat(int_out, sizeof(int) * CELLS);
      eat(ends, sizeof ends);
      sums(float_out, floats, n, m);
      eat(float_out, sizeof(float) * CELLS);
      printf("%d %d: %08x\n", n, m, hash);
    }
  return 0;
}
