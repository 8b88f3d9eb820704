// Fourier transform of 262144 complex numbers by Stockham's algorithm with radix 2.
#include "kit.h"
#include <math.h>

enum { LOG = 18, LENGTH = 1 << LOG, HALF = LENGTH / 2 };
static struct array in, parts[2], roots;

static void prepare(void) {
  const size_t bytes = LENGTH * 2 * sizeof(float);
  in = new_array(bytes);
  parts[0] = new_array(bytes);
  parts[1] = new_array(bytes);
  roots = new_array(bytes / 2);
  fill_floats(in, -1, 1);
  for (int i = 0; i < HALF; i++) {
    double angle = -2 * 3.14159265358979323846 * i / LENGTH;
    FLOATS(roots)[2 * i] = (float)cos(angle);
    FLOATS(roots)[2 * i + 1] = (float)sin(angle);
  }
  float_output(parts[(LOG - 1) % 2], sqrt(LENGTH));
}

typedef struct {
  float x, y;
} complex_float;

static void stage(const complex_float *restrict from, complex_float *restrict to, int log_stride) {
  const complex_float *restrict root = roots.host;
  if (log_stride < 4) {
    // Few butterflies have the same root.
#pragma omp parallel for simd
    for (int at = 0; at < HALF; at++) {
      int stride = 1 << log_stride, p = at >> log_stride, target = at + (p << log_stride);
      float ax = from[at].x, ay = from[at].y, bx = from[at + HALF].x, by = from[at + HALF].y;
      float wx = root[p << log_stride].x, wy = root[p << log_stride].y, x = ax - bx, y = ay - by;
      to[target].x = ax + bx;
      to[target].y = ay + by;
      to[target + stride].x = x * wx - y * wy;
      to[target + stride].y = x * wy + y * wx;
    }
    return;
  }
  int stride = 1 << log_stride;
#pragma omp parallel for collapse(2)
  for (int p = 0; p < HALF >> log_stride; p++)
    for (int start = 0; start < stride; start += stride < 1024 ? stride : 1024) {
      complex_float w = root[p << log_stride];
      const complex_float *restrict a = from + (p << log_stride) + start, *restrict b = a + HALF;
      complex_float *restrict sum = to + (p << (log_stride + 1)) + start, *restrict other = sum + stride;
#pragma omp simd
      for (int q = 0; q < (stride < 1024 ? stride : 1024); q++) {
        float x = a[q].x - b[q].x, y = a[q].y - b[q].y;
        sum[q].x = a[q].x + b[q].x;
        sum[q].y = a[q].y + b[q].y;
        other[q].x = x * w.x - y * w.y;
        other[q].y = x * w.y + y * w.x;
      }
    }
}

static void openmp(void) {
  for (int i = 0; i < LOG; i++)
    stage(i == 0 ? in.host : parts[(i - 1) % 2].host, parts[i % 2].host, i);
}

static void cuda(void) {
  int half = HALF;
  for (int i = 0; i < LOG; i++) {
    CUdeviceptr *from = i == 0 ? &in.device : &parts[(i - 1) % 2].device;
    LAUNCH("stage", GRID(HALF / 256, 256), from, &parts[i % 2].device, &roots.device, &half, &i);
  }
}

const struct program fft_program = {"fft", prepare, openmp, cuda};
