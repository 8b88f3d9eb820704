// Attention of one head: 1024 tokens of 64 numbers.
#include "kit.h"
#include <math.h>

enum { TOKENS = 1024, DEPTH = 64 };
static struct array queries, keys, values, weights, out;

static void prepare(void) {
  const size_t bytes = TOKENS * DEPTH * sizeof(float);
  queries = new_array(bytes);
  keys = new_array(bytes);
  values = new_array(bytes);
  weights = new_array((size_t)TOKENS * TOKENS * sizeof(float));
  out = new_array(bytes);
  fill_floats(queries, -2, 2);
  fill_floats(keys, -2, 2);
  fill_floats(values, -1, 1);
  float_output(out, 1);
}

static void openmp(void) {
  const float *q = FLOATS(queries), *k = FLOATS(keys), *v = FLOATS(values);
  const float scale = 1.0f / sqrtf(DEPTH);
#pragma omp parallel for
  for (int i = 0; i < TOKENS; i++) {
    float *row = FLOATS(weights) + (size_t)i * TOKENS, *to = FLOATS(out) + i * DEPTH;
    const float *query = q + i * DEPTH;
    float most = -INFINITY, sum = 0;
    for (int j = 0; j < TOKENS; j++) {
      const float *key = k + j * DEPTH;
      float product = 0;
#pragma omp simd reduction(+ : product)
      for (int d = 0; d < DEPTH; d++)
        product += query[d] * key[d];
      row[j] = scale * product;
      most = fmaxf(most, row[j]);
    }
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < TOKENS; j++) {
      row[j] = expf(row[j] - most);
      sum += row[j];
    }
    float own[DEPTH] = {0};
    for (int j = 0; j < TOKENS; j++) {
#pragma omp simd
      for (int d = 0; d < DEPTH; d++)
        own[d] += row[j] * v[j * DEPTH + d];
    }
    for (int d = 0; d < DEPTH; d++)
      to[d] = own[d] / sum;
  }
}

static void cuda(void) {
  int count = TOKENS, depth = DEPTH;
  float scale = 1.0f / sqrtf(DEPTH);
  LAUNCH("scores", GRID_2D(TOKENS / 16, TOKENS / 16, 16, 16), &queries.device, &keys.device, &weights.device, &count, &depth,
         &scale);
  LAUNCH("softmax_rows", GRID(TOKENS, 128), &weights.device, &count);
  LAUNCH("weigh", GRID_2D(DEPTH / 16, TOKENS / 16, 16, 16), &weights.device, &values.device, &out.device, &count, &depth);
}

const struct program attention_program = {"attention", prepare, openmp, cuda};
