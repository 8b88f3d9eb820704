// Accelerations of 4096 bodies by each other.
#include "kit.h"
#include <math.h>

enum { BODIES = 4096 };
static const float SOFTENING = 0.01f;
static struct array bodies, out;
// The form in OpenMP has a column for each coordinate.
static float xs[BODIES], ys[BODIES], zs[BODIES], masses[BODIES];

static void prepare(void) {
  bodies = new_array(BODIES * 4 * sizeof(float));
  out = new_array(BODIES * 4 * sizeof(float));
  fill_floats(bodies, -1, 1);
  for (int i = 0; i < BODIES; i++) {
    float *body = FLOATS(bodies) + 4 * i;
    body[3] = 0.5f + 0.5f * body[3];
    xs[i] = body[0];
    ys[i] = body[1];
    zs[i] = body[2];
    masses[i] = body[3];
  }
  float_output(out, 1000);
}

static void openmp(void) {
  float *to = FLOATS(out);
#pragma omp parallel for
  for (int i = 0; i < BODIES; i++) {
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int j = 0; j < BODIES; j++) {
      float x = xs[j] - xs[i], y = ys[j] - ys[i], z = zs[j] - zs[i];
      float inverse = 1.0f / sqrtf(x * x + y * y + z * z + SOFTENING);
      float pull = masses[j] * inverse * inverse * inverse;
      ax += x * pull;
      ay += y * pull;
      az += z * pull;
    }
    to[4 * i] = ax;
    to[4 * i + 1] = ay;
    to[4 * i + 2] = az;
  }
}

static void cuda(void) {
  int count = BODIES;
  float softening = SOFTENING;
  LAUNCH("accelerate", GRID(BODIES / 256, 256), &bodies.device, &out.device, &count, &softening);
}

const struct program nbody_program = {"nbody", prepare, openmp, cuda};
