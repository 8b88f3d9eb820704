// Bilateral filter with radius 3 of a gray picture of 512 x 512 floats.
#include "kit.h"
#include <math.h>

enum { WIDTH = 512, HEIGHT = 512, RADIUS = 3, SIDE = 2 * RADIUS + 1 };
static const float FACTOR = -20.0f;
static struct array in, out;
static float near[SIDE][SIDE];

static void prepare(void) {
  in = new_array(WIDTH * HEIGHT * sizeof(float));
  out = new_array(WIDTH * HEIGHT * sizeof(float));
  fill_floats(in, 0, 1);
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      near[y][x] = expf(-0.1f * ((x - RADIUS) * (x - RADIUS) + (y - RADIUS) * (y - RADIUS)));
  float_output(out, 1);
}

static inline int clamp(int value, int end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }

static void openmp(void) {
  const float *from = FLOATS(in);
  float *to = FLOATS(out);
#pragma omp parallel for
  for (int y = 0; y < HEIGHT; y++) {
    float sums[WIDTH] = {0}, weights[WIDTH] = {0};
    const float *centers = from + y * WIDTH;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
      const float *row = from + clamp(y + dy, HEIGHT) * WIDTH;
      for (int dx = -RADIUS; dx <= RADIUS; dx++) {
        float distance = near[dy + RADIUS][dx + RADIUS];
#pragma omp simd
        for (int x = 0; x < WIDTH; x++) {
          float value = row[clamp(x + dx, WIDTH)], off = value - centers[x];
          float weight = distance * expf(off * off * FACTOR);
          sums[x] += weight * value;
          weights[x] += weight;
        }
      }
    }
#pragma omp simd
    for (int x = 0; x < WIDTH; x++)
      to[y * WIDTH + x] = sums[x] / weights[x];
  }
}

static void cuda(void) {
  int width = WIDTH, height = HEIGHT;
  float factor = FACTOR;
  set_constant("near", near, sizeof near);
  LAUNCH("bilateral", GRID_2D(WIDTH / 16, HEIGHT / 16, 16, 16), &in.device, &out.device, &width, &height, &factor);
}

const struct program bilateral_program = {"bilateral", prepare, openmp, cuda};
