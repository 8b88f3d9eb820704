// LU factorization without pivots of 512 rows of doubles, whose diagonal dominates.
#include "kit.h"
#include <string.h>

enum { N = 512 };
static struct array matrix, factors;

static void prepare(void) {
  matrix = new_array(N * N * sizeof(double));
  factors = new_array(N * N * sizeof(double));
  for (int i = 0; i < N * N; i++)
    DOUBLES(matrix)[i] = next_unit() + (i / N == i % N ? N : 0);
  double_output(factors, 1);
}

static void openmp(void) {
  double *a = DOUBLES(factors);
  memcpy(a, matrix.host, matrix.bytes);
#pragma omp parallel
  for (int step = 0; step < N - 1; step++) {
#pragma omp for
    for (int row = step + 1; row < N; row++) {
      double factor = a[row * N + step] /= a[step * N + step];
#pragma omp simd
      for (int column = step + 1; column < N; column++)
        a[row * N + column] -= factor * a[step * N + column];
    }
  }
}

static void cuda(void) {
  int n = N;
  NEED(cuMemcpyDtoD(factors.device, matrix.device, matrix.bytes));
  for (int step = 0; step < N - 1; step++) {
    unsigned rest = N - 1 - step;
    LAUNCH("divide", GRID(blocks_of(rest, 128), 128), &factors.device, &n, &step);
    LAUNCH("eliminate", GRID_2D(blocks_of(rest, 16), blocks_of(rest, 16), 16, 16), &factors.device, &n, &step);
  }
}

const struct program lu_program = {"lu", prepare, openmp, cuda};
