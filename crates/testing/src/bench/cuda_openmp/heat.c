// Four steps of heat in a plate of 2048 x 2048 floats.
#include "kit.h"

enum { WIDTH = 2048, HEIGHT = 2048, STEPS = 4 };
static const float RATE = 0.2f;
static struct array start, plates[2];

static void prepare(void) {
  const size_t bytes = (size_t)WIDTH * HEIGHT * sizeof(float);
  start = new_array(bytes);
  plates[0] = new_array(bytes);
  plates[1] = new_array(bytes);
  fill_floats(start, 0, 100);
  float_output(plates[1], 1);
}

static void step(const float *restrict in, float *restrict out) {
#pragma omp parallel for
  for (int y = 0; y < HEIGHT; y++) {
    const float *row = in + (size_t)y * WIDTH;
    float *to = out + (size_t)y * WIDTH;
    if (y == 0 || y == HEIGHT - 1) {
#pragma omp simd
      for (int x = 0; x < WIDTH; x++)
        to[x] = row[x];
      continue;
    }
    to[0] = row[0];
#pragma omp simd
    for (int x = 1; x < WIDTH - 1; x++)
      to[x] = row[x] + RATE * (row[x - 1] + row[x + 1] + row[x - WIDTH] + row[x + WIDTH] - 4.0f * row[x]);
    to[WIDTH - 1] = row[WIDTH - 1];
  }
}

static void openmp(void) {
  for (int i = 0; i < STEPS; i++)
    step(FLOATS(i == 0 ? start : plates[(i - 1) % 2]), FLOATS(plates[i % 2]));
}

static void cuda(void) {
  int width = WIDTH, height = HEIGHT;
  float rate = RATE;
  struct grid grid = GRID_2D(blocks_of(WIDTH, 16), blocks_of(HEIGHT, 16), 16, 16);
  for (int i = 0; i < STEPS; i++) {
    const struct array *in = i == 0 ? &start : &plates[(i - 1) % 2];
    LAUNCH("heat", grid, (void *)&in->device, &plates[i % 2].device, &width, &height, &rate);
  }
}

const struct program heat_program = {"heat", prepare, openmp, cuda};
