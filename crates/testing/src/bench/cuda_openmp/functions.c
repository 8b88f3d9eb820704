// Elementary functions of a million pairs of floats.
#include "kit.h"
#include <math.h>

enum { COUNT = 1 << 20 };
static struct array xs, ys, out;

static void prepare(void) {
  xs = new_array(COUNT * sizeof(float));
  ys = new_array(COUNT * sizeof(float));
  out = new_array(COUNT * sizeof(float));
  fill_floats(xs, -10, 10);
  fill_floats(ys, -10, 10);
  float_output(out, 1);
}

static void openmp(void) {
  const float *x = FLOATS(xs), *y = FLOATS(ys);
  float *to = FLOATS(out);
#pragma omp parallel for simd
  for (int i = 0; i < COUNT; i++)
    to[i] = atan2f(y[i], x[i]) + sinf(x[i]) * expf(-fabsf(y[i]));
}

static void cuda(void) {
  int count = COUNT;
  LAUNCH("functions", GRID(COUNT / 256, 256), &xs.device, &ys.device, &out.device, &count);
}

const struct program functions_program = {"functions", prepare, openmp, cuda};
