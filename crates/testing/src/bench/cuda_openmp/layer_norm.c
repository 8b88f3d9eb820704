// Layer normalization of 8192 rows of 1024 floats.
#include "kit.h"
#include <math.h>

enum { ROWS = 8192, COLUMNS = 1024 };
static const float EPSILON = 1e-5f;
static struct array in, scales, offsets, out;

static void prepare(void) {
  in = new_array((size_t)ROWS * COLUMNS * sizeof(float));
  scales = new_array(COLUMNS * sizeof(float));
  offsets = new_array(COLUMNS * sizeof(float));
  out = new_array((size_t)ROWS * COLUMNS * sizeof(float));
  fill_floats(in, -1, 3);
  fill_floats(scales, 0.5f, 1.5f);
  fill_floats(offsets, -1, 1);
  float_output(out, 1);
}

static void openmp(void) {
  const float *scale = FLOATS(scales), *offset = FLOATS(offsets);
#pragma omp parallel for
  for (int y = 0; y < ROWS; y++) {
    const float *row = FLOATS(in) + (size_t)y * COLUMNS;
    float *to = FLOATS(out) + (size_t)y * COLUMNS;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int x = 0; x < COLUMNS; x++)
      sum += row[x];
    float mean = sum / COLUMNS;
#pragma omp simd reduction(+ : squares)
    for (int x = 0; x < COLUMNS; x++)
      squares += (row[x] - mean) * (row[x] - mean);
    float inverse = 1.0f / sqrtf(squares / COLUMNS + EPSILON);
#pragma omp simd
    for (int x = 0; x < COLUMNS; x++)
      to[x] = (row[x] - mean) * inverse * scale[x] + offset[x];
  }
}

static void cuda(void) {
  int columns = COLUMNS;
  float epsilon = EPSILON;
  LAUNCH("layer_norm", GRID(ROWS, 256), &in.device, &scales.device, &offsets.device, &out.device, &columns, &epsilon);
}

const struct program layer_norm_program = {"layer_norm", prepare, openmp, cuda};
