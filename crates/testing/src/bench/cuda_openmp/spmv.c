// Product of a sparse matrix of 131072 rows with 4 million doubles and a vector.
#include "kit.h"

enum { ROWS = 1 << 17 };
static struct graph pattern;
static struct array values, x, y;

static void prepare(void) {
  pattern = new_graph(ROWS, 32, 0);
  values = new_array(pattern.edges * sizeof(double));
  x = new_array(ROWS * sizeof(double));
  y = new_array(ROWS * sizeof(double));
  for (int i = 0; i < pattern.edges; i++)
    DOUBLES(values)[i] = next_unit();
  for (int i = 0; i < ROWS; i++)
    DOUBLES(x)[i] = next_unit();
  double_output(y, 1);
}

static void openmp(void) {
  const int *starts = INTS(pattern.starts), *columns = INTS(pattern.ends);
  const double *value = DOUBLES(values), *from = DOUBLES(x);
  double *to = DOUBLES(y);
#pragma omp parallel for schedule(dynamic, 1024)
  for (int row = 0; row < ROWS; row++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = starts[row]; i < starts[row + 1]; i++)
      sum += value[i] * from[columns[i]];
    to[row] = sum;
  }
}

static void cuda(void) {
  int rows = ROWS;
  LAUNCH("spmv", GRID(ROWS / 4, 128), &pattern.starts.device, &pattern.ends.device, &values.device, &x.device, &y.device, &rows);
}

const struct program spmv_program = {"spmv", prepare, openmp, cuda};
