// Softmax of 4096 rows of 1024 floats.
#include "kit.h"
#include <math.h>

enum { ROWS = 4096, COLUMNS = 1024 };
static struct array in, out;

static void prepare(void) {
  in = new_array((size_t)ROWS * COLUMNS * sizeof(float));
  out = new_array((size_t)ROWS * COLUMNS * sizeof(float));
  fill_floats(in, -5, 5);
  float_output(out, 1.0 / COLUMNS);
}

static void openmp(void) {
#pragma omp parallel for
  for (int y = 0; y < ROWS; y++) {
    const float *row = FLOATS(in) + (size_t)y * COLUMNS;
    float *to = FLOATS(out) + (size_t)y * COLUMNS;
    float most = -INFINITY, sum = 0;
#pragma omp simd reduction(max : most)
    for (int x = 0; x < COLUMNS; x++)
      most = fmaxf(most, row[x]);
#pragma omp simd reduction(+ : sum)
    for (int x = 0; x < COLUMNS; x++) {
      to[x] = expf(row[x] - most);
      sum += to[x];
    }
    float inverse = 1.0f / sum;
#pragma omp simd
    for (int x = 0; x < COLUMNS; x++)
      to[x] *= inverse;
  }
}

static void cuda(void) {
  int columns = COLUMNS;
  LAUNCH("softmax", GRID(ROWS, 256), &in.device, &out.device, &columns);
}

const struct program softmax_program = {"softmax", prepare, openmp, cuda};
