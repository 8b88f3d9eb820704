// Programs whose iterations go different ways: finance, images, physics. Compiled once for each way to compile.
#include "../../../../../include/heddle.h"
#include "kernels.h"
#include <math.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, WAY)
#define INLINE static inline __attribute__((always_inline))

// An option on a binomial tree, whose values each iteration has for itself.
static void binomial(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count / 16;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float spot = 20 + 60 * a[i], strike = 20 + 60 * b[i], value[33];
    float up = expf(0.3f * sqrtf(1.0f / 32)), down = 1 / up, grows = expf(0.02f / 32);
    float chance = (grows - down) / (up - down), price = spot;
    for (int k = 0; k < 32; k++)
      price *= down;
    for (int k = 0; k <= 32; k++) {
      float gain = strike - price;
      value[k] = gain > 0 ? gain : 0;
      price *= up * up;
    }
    for (int step = 32; step > 0; step--)
      for (int k = 0; k < step; k++)
        value[k] = (chance * value[k + 1] + (1 - chance) * value[k]) / grows;
    out[i] = value[0];
  }
}

INLINE float faded(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }

INLINE float slope(const int *place, int x, int y, float dx, float dy) {
  int which = place[(place[x & 1023] + y) & 1023] & 7;
  float u = which < 4 ? dx : dy, v = which < 4 ? dy : dx;
  return (which & 1 ? -u : u) + (which & 2 ? -2 * v : 2 * v);
}

// Noise of several octaves, as many as the point's distance asks for.
static void perlin(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  const int *place = d->index;
  int n = d->count / 4;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float sum = 0, weight = 0.5f, x = a[i] * 20, y = b[i] * 20;
    int octaves = 1 + (int)(a[i] * 6);
    for (int octave = 0; octave < octaves; octave++) {
      float left = floorf(x), low = floorf(y), dx = x - left, dy = y - low;
      int u = (int)left, v = (int)low;
      float s = faded(dx), t = faded(dy);
      float one = slope(place, u, v, dx, dy), two = slope(place, u + 1, v, dx - 1, dy);
      float three = slope(place, u, v + 1, dx, dy - 1), four = slope(place, u + 1, v + 1, dx - 1, dy - 1);
      float lower = one + s * (two - one), upper = three + s * (four - three);
      sum += weight * (lower + t * (upper - lower));
      weight *= 0.5f;
      x *= 2;
      y *= 2;
    }
    out[i] = sum;
  }
}

// Rays through a cloud, each until hardly any light is left.
static void volume(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  const float *density = d->density;
  int n = d->count / 4;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float x = a[i] * 30, y = b[i] * 30, light = 1, seen = 0, dx = 0.3f * b[i], dy = 0.3f * a[i];
    for (int step = 0; step < 100; step++) {
      int cell = ((int)x & 31) + 32 * ((int)y & 31) + 1024 * (step & 31);
      float here = density[cell];
      if (here > 0.3f) {
        seen += light * here * 0.2f;
        light *= 1 - here * 0.2f;
        if (light < 0.02f)
          break;
      }
      x += dx;
      y += dy;
    }
    out[i] = seen;
  }
}

// How many of some rays from a point on a plane get away from three balls.
static void occlusion(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count / 8;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float px = a[i] * 6 - 3, pz = b[i] * 6 - 3;
    unsigned drawn = (unsigned)i * 747796405u + 1;
    int free = 0;
    if (px * px + pz * pz < 9) {
      for (int ray = 0; ray < 32; ray++) {
        drawn = drawn * 1664525u + 1013904223u;
        float turn = (float)(drawn >> 8) * (6.2831853f / 16777216), rise = (float)(ray + 1) / 33;
        float flat = sqrtf(1 - rise * rise), dx = flat * (1 - turn * 0.3f), dz = flat * (turn * 0.3f - 1);
        int is_hit = 0;
        for (int ball = 0; ball < 3 && !is_hit; ball++) {
          float ox = px - (float)(ball * 2 - 2), oy = -0.6f, oz = pz;
          float toward = ox * dx + oy * rise + oz * dz, off = ox * ox + oy * oy + oz * oz - 0.36f;
          float inside = toward * toward - off;
          is_hit = inside > 0 && -toward - sqrtf(inside) > 0;
        }
        free += !is_hit;
      }
    }
    out[i] = (float)free;
  }
}

// Systems of four equations, with a pivot in each column.
static void small_matrices(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count / 32;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float m[4][5];
    for (int r = 0; r < 4; r++)
      for (int c = 0; c < 5; c++)
        m[r][c] = a[i * 16 + (r * 5 + c) % 16] - b[i * 16 + (r * 3 + c * 7) % 16] + (r == c ? 0.1f : 0);
    for (int c = 0; c < 4; c++) {
      int best = c;
      for (int r = c + 1; r < 4; r++)
        if (fabsf(m[r][c]) > fabsf(m[best][c]))
          best = r;
      if (best != c)
        for (int k = c; k < 5; k++) {
          float other = m[best][k];
          m[best][k] = m[c][k];
          m[c][k] = other;
        }
      for (int r = c + 1; r < 4; r++) {
        float f = m[r][c] / m[c][c];
        for (int k = c; k < 5; k++)
          m[r][k] -= f * m[c][k];
      }
    }
    // The determinant: what is left on the diagonal.
    out[i] = fabsf(m[0][0] * m[1][1] * m[2][2] * m[3][3]);
  }
}

static void bodies(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count / 16;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float x = a[i], y = b[i], fx = 0, fy = 0;
    for (int j = 0; j < n; j++) {
      float dx = a[j] - x, dy = b[j] - y, square = dx * dx + dy * dy + 0.01f;
      float force = 1 / (square * sqrtf(square));
      fx += dx * force;
      fy += dy * force;
    }
    out[i] = fx + fy;
  }
}

// A cascade with the chances of thesis Fig. 9.4: of what comes to a question, 0, 0, 35, 91, 75 and 100 percent say yes.
static void biased_cascade(struct data *d) {
  float sum = 0;
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < n; i++) {
    float chance = a[i], dij = 1 + b[i], sj = 0.5f * b[i] + 0.1f;
    if (chance > 1)
      continue;
    if (dij > 40)
      continue;
    float h;
    if (chance < 0.351f) {
      h = 0.125f / dij * (1 + logf(dij / sj));
    } else if (chance < 0.943f) {
      float t = sj * sj / (dij * dij);
      h = t * sj / (dij * dij) * (0.33f + t * (0.4f + t * (0.43f + t * 0.44f)));
    } else if (chance < 0.986f) {
      h = 0.5f * (sj / (dij * dij - sj * sj) + 0.5f * logf((dij - sj) / (dij + sj)) / dij);
    } else if (chance <= 1) {
      float t = 0.5f * (dij * dij + 4 - sj * sj) / dij;
      h = 0.25f * (2 - t / 4 + logf(2 / (dij + sj)) / dij);
    } else {
      h = 0.5f * (sj / (dij * dij - sj * sj) + 2 - logf(sj - dij));
    }
    sum += h;
  }
  out[0] = sum * 1e-3f;
}

#define ENTRY(function, name) {name, function},
const struct kernel NAME(programs)[PROGRAMS] = {PROGRAM_LIST(ENTRY)};
