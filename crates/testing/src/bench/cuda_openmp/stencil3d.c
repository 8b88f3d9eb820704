// Two steps of a 7-point stencil in a volume of 192 x 192 x 192 floats, whose surface stays as it is.
#include "kit.h"

enum { SIDE = 192, PLANE = SIDE * SIDE };
static const float CENTER = 0.4f, AROUND = 0.1f;
static struct array start, middle, end;

static void prepare(void) {
  const size_t bytes = (size_t)PLANE * SIDE * sizeof(float);
  start = new_array(bytes);
  middle = new_array(bytes);
  end = new_array(bytes);
  fill_floats(start, 0, 1);
  float_output(end, 1);
}

static void step(const float *restrict in, float *restrict out) {
#pragma omp parallel for collapse(2)
  for (int z = 1; z < SIDE - 1; z++)
    for (int y = 1; y < SIDE - 1; y++) {
      const float *row = in + (size_t)z * PLANE + y * SIDE;
      float *to = out + (size_t)z * PLANE + y * SIDE;
#pragma omp simd
      for (int x = 1; x < SIDE - 1; x++)
        to[x] = CENTER * row[x] +
                AROUND * (row[x - PLANE] + row[x + PLANE] + row[x - 1] + row[x + 1] + row[x - SIDE] + row[x + SIDE]);
    }
}

static void openmp(void) {
  step(FLOATS(start), FLOATS(middle));
  step(FLOATS(middle), FLOATS(end));
}

static void cuda(void) {
  int side = SIDE;
  float center = CENTER, around = AROUND;
  struct grid grid = GRID_2D(blocks_of(SIDE - 2, 32), blocks_of(SIDE - 2, 8), 32, 8);
  LAUNCH("stencil", grid, &start.device, &middle.device, &side, &side, &side, &center, &around);
  LAUNCH("stencil", grid, &middle.device, &end.device, &side, &side, &side, &center, &around);
}

const struct program stencil3d_program = {"stencil3d", prepare, openmp, cuda};
