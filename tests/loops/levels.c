// Nests that are marked on several levels, by `collapse` or one mark each: the loop along which accesses are contiguous becomes lanes.
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 6000 };
static int out[MOST], in[MOST];
static float sums[MOST], left[MOST], right[MOST];

#define EACH _Pragma("clang loop vectorize(assume_safety)")
#define NOINLINE __attribute__((noinline))

NOINLINE void rows(int n, int m) {
#pragma omp simd collapse(2)
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      out[i * m + j] = in[i * m + j - 1] + in[i * m + j + 1] * 3 + in[(i - 1) * m + j] * 5 + in[(i + 1) * m + j] * 7;
}

NOINLINE void columns(int n, int m) {
  EACH for (int j = 0; j < m; j++)
    EACH for (int i = 0; i < n; i++)
      out[i * m + j] = in[i * m + j] * 3 + j;
}

NOINLINE void both_ways(int n, int m) {
  EACH for (int i = 0; i < n; i++)
    EACH for (int j = 0; j < m; j++)
      out[j * n + i] = in[i * m + j];
}

NOINLINE void space(int n, int m, int k) {
#pragma omp simd collapse(3)
  for (int a = 1; a <= n; a++)
    for (int b = 0; b < m; b++)
      for (int c = 2; c < k; c++)
        out[((a - 1) * m + b) * k + c - 1] = in[((a - 1) * m + b) * k + c - 2] + a * 100 + b * 10 + c;
}

NOINLINE void from(int n, int m, int start, int gap) {
#pragma omp simd collapse(2)
  for (int i = start; i < n - start; i++)
    for (int j = start; j <= m - gap; j += 3)
      out[i * m + j] = i * 1000 + j;
}

NOINLINE void downward(int n, int m) {
#pragma omp simd collapse(2)
  for (int i = n - 1; i >= 0; i--)
    for (int j = m - 1; j >= 0; j -= 2)
      out[i * m + j] = i * 1000 + j;
}

NOINLINE void unsigned_ones(unsigned n, unsigned m) {
#pragma omp simd collapse(2)
  for (unsigned i = 0; i < n; i++)
    for (unsigned j = 1; j <= m; j++)
      out[i * m + j] = (int)(i * 1000 + j);
}

NOINLINE void long_ones(long n, unsigned long m) {
#pragma omp simd collapse(2)
  for (long i = 0; i < n; i++)
    for (unsigned long j = 0; j < m; j++)
      out[i * (long)m + (long)j] = (int)(i * 1000 + (long)j);
}

// Counters that end with the greatest number of their type.
NOINLINE void to_the_end(int m) {
#pragma omp simd collapse(2)
  for (int i = INT_MAX - 3; i < INT_MAX; i++)
    for (int j = 0; j < m; j++)
      out[(i - (INT_MAX - 3)) * m + j] = (i >> 4) + j;
}

NOINLINE void product(int n) {
  EACH for (int i = 0; i < n; i++)
    EACH for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++)
        sum += left[i * n + k] * right[k * n + j];
      sums[i * n + j] = sum;
    }
}

// Outside of the inner loop something else happens, and rows have a length of their own.
NOINLINE void triangle(int n) {
  EACH for (int i = 0; i < n; i++) {
    int base = i * (i + 1) / 2;
    EACH for (int j = 0; j <= i; j++)
      out[base + j] = in[j] - i;
    sums[i] = (float)base;
  }
}

// The inner loop carries a value: the outer one becomes lanes.
NOINLINE void carried(int n, int m) {
  EACH for (int j = 0; j < m; j++) {
    unsigned last = (unsigned)j;
    EACH for (int i = 0; i < n; i++) {
      last = last * 5 + (unsigned)in[i * m + j];
      out[i * m + j] = (int)last;
    }
  }
}

// Three colours are no vector.
NOINLINE void colours(int n) {
  EACH for (int i = 0; i < n; i++)
    EACH for (int c = 0; c < 3; c++)
      out[i * 3 + c] = in[i] + c;
}

NOINLINE int total(int n, int m, int *last) {
  int s = 0, kept = -1;
#pragma omp simd collapse(2) reduction(+ : s) lastprivate(kept)
  for (int i = 2; i < n; i++)
    for (int j = 1; j < m; j++) {
      kept = in[i * m + j] - i;
      s += kept ^ j;
    }
  *last = kept;
  return s;
}

// Indices of unsigned numbers may wrap around, and are not widened.
NOINLINE void wrapping(unsigned n, unsigned m, unsigned start) {
  EACH for (unsigned i = 0; i < n; i++)
    EACH for (unsigned j = 0; j < m; j++)
      out[start + i * m + j] = (int)(i + j);
}

// Bytes have no masks on AVX2: what fills no vector runs as scalar code, and no iteration runs twice.
static unsigned char bytes_in[MOST], bytes_out[MOST];

NOINLINE void bytes(int n, int m) {
#pragma omp simd collapse(2)
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m - 1; j++) {
      int sum = bytes_in[i * m + j - 1] + 2 * bytes_in[i * m + j] + bytes_in[i * m + j + 1];
      bytes_out[i * m + j] = (unsigned char)(bytes_out[i * m + j] * 3 + sum / 4 + i);
    }
}

// What all iterations read is loaded once; a single iteration may write it first, or after it has read it.
NOINLINE void written_first(int n, int *at, const int *same) {
  EACH for (int i = 0; i < n; i++) {
    at[0] = in[i] + 5;
    out[i] = same[0];
  }
}

NOINLINE void read_first(int n, int *at, const int *same) {
  EACH for (int i = 0; i < n; i++) {
    out[i] = same[0] + in[i];
    at[i] = in[i] + 5;
  }
}

static void print(const char *name, int n, int m) {
  unsigned hash = 0;
  for (int i = 0; i < MOST; i++)
    hash = hash * 31 + (unsigned)out[i] + (unsigned)(int)sums[i] + bytes_out[i];
  printf("%s %d %d: %u\n", name, n, m, hash);
  memset(out, 0, sizeof out);
  memset(sums, 0, sizeof sums);
  memset(bytes_out, 0, sizeof bytes_out);
}

int main(void) {
  static const int sizes[] = {0, 1, 2, 3, 5, 8, 17, 33, 70};
  for (int i = 0; i < MOST; i++) {
    in[i] = i * 7 % 101;
    bytes_in[i] = (unsigned char)(i * 11);
    left[i] = (float)(i * 3 % 11);
    right[i] = (float)(i * 5 % 13);
  }
  for (int a = 0; a < 9; a++)
    for (int b = 0; b < 9; b++) {
      int n = sizes[a], m = sizes[b];
#define RUN(name, ...) name(__VA_ARGS__), print(#name, n, m)
      RUN(rows, n, m);
      RUN(columns, n, m);
      RUN(both_ways, n, m);
      RUN(space, n > 8 ? 8 : n, m > 8 ? 8 : m, 40);
      RUN(space, 3, n, m > 17 ? 17 : m);
      RUN(from, n, m, 2, 1);
      RUN(from, n, m, 0, 3);
      RUN(downward, n, m);
      RUN(unsigned_ones, n, m);
      RUN(long_ones, n, m);
      RUN(to_the_end, m);
      RUN(product, n);
      RUN(triangle, n);
      RUN(carried, n, m);
      RUN(colours, n * m / 3);
      RUN(wrapping, n, m, 1);
      RUN(bytes, n, m);
      int cells[80] = {3};
      RUN(written_first, n > 0, cells, cells);
      RUN(read_first, n > 0, cells, cells);
      cells[79] = 9;
      RUN(read_first, n, cells, cells + 79);
      int last, s = total(n, m, &last);
      printf("total %d %d\n", s, last);
    }
}
