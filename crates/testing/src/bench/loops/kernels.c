// The loops of `./x bench loops`, compiled once for each way to compile them: `WAY` ends their names.
#include "../../../../../include/heddle.h"
#include "kernels.h"
#include <math.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, WAY)

static void scale_and_add(struct data *d) {
  float *restrict y = d->out;
  const float *x = d->a;
  float f = d->factor;
  int n = d->count;
#pragma omp simd
  for (int i = 0; i < n; i++)
    y[i] = f * x[i] + d->b[i];
}

static void dot_product(struct data *d) {
  float s = 0;
  const float *a = d->a, *b = d->b;
  int n = d->count;
#pragma omp simd reduction(+ : s)
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  d->out[0] = s;
}

static void stencil(struct data *d) {
  float *out = d->out;
  const float *a = d->a;
  int n = d->count - 2;
#pragma omp simd
  for (int i = 1; i < n; i++)
    out[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}

static void mandelbrot(struct data *d) {
  float *out = d->out;
  const float *x0 = d->a, *y0 = d->b;
  int n = d->count / 16;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float cx = x0[i] * 3 - 2, cy = y0[i] * 2 - 1, x = 0, y = 0;
    int k = 0;
    while (k < 200 && x * x + y * y < 4) {
      float t = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = t;
      k++;
    }
    out[i] = (float)k;
  }
}

static float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabsf(x));
  float tail = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float upper = 1 - 0.39894228f * expf(-0.5f * x * x) * tail;
  return x < 0 ? 1 - upper : upper;
}

static void black_scholes(struct data *d) {
  float *out = d->out;
  const float *price = d->a, *strike = d->b;
  int n = d->count / 4;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float s = price[i] * 25 + 5, x = strike[i] * 99 + 1, t = 0.25f + price[i] * 9;
    float root = sqrtf(t), first = (logf(s / x) + (0.02f + 0.045f) * t) / (0.3f * root);
    float second = first - 0.3f * root;
    out[i] = s * normal(first) - x * expf(-0.02f * t) * normal(second);
  }
}

static void table_lookup(struct data *d) {
  float *out = d->out;
  int n = d->count;
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = d->a[d->index[i]] + d->b[i];
}

static void cascade(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *b = d->b;
  int n = d->count;
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float v = b[i];
    if (a[i] < 0.1f) {
      v = v * v + sqrtf(v);
    } else if (a[i] < 0.4f) {
      v = v / (a[i] + 1);
    } else if (a[i] < 0.8f) {
      v = 1 - v;
      if (v < 0.5f)
        v += a[i] / (v + 2);
    }
    out[i] = v;
  }
}

static void clamped_sum(struct data *d) {
  int s = 0, n = d->count;
  const int *index = d->index;
#pragma omp simd reduction(+ : s)
  for (int i = 0; i < n; i++) {
    int v = index[i] - 100;
    s += v < 0 ? 0 : v > 3000 ? 3000 : v;
  }
  d->out[0] = (float)(s & 0xffffff);
}

static void tree_lookup(struct data *d) {
  float *out = d->out;
  const float *a = d->a;
  const struct node *nodes = d->tree.nodes;
  int n = d->count;
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = lookup(a[i], nodes);
}

static void column_lookup(struct data *d) {
  float *out = d->out;
  const float *a = d->a, *keys = d->tree.keys;
  const int *lefts = d->tree.lefts, *rights = d->tree.rights;
  int n = d->count;
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = lookup_in_columns(a[i], keys, lefts, rights);
}

static void own_stacks(struct data *d) {
  float *out = d->out;
  const float *a = d->a;
  const struct node *nodes = d->tree.nodes;
  float near = d->tree.near;
  int n = d->count / 4;
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = neighbours_by_own_stack(a[i], nodes, near);
}

static void one_stack(struct data *d) {
  float *out = d->out;
  const float *a = d->a;
  const struct node *nodes = d->tree.nodes;
  float near = d->tree.near;
  int n = d->count / 4;
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = neighbours_by_one_stack(a[i], nodes, near);
}

#define ENTRY(function, name) {name, function},
const struct kernel NAME(kernels)[KERNELS] = {KERNEL_LIST(ENTRY)};
