// Ten nests of loops as applications write them, which nobody tuned for.
#include "nests.h"

#define PLANE(columns, rows)                                                                                           \
  {.width = columns, .height = rows, .depth = 1, .from_width = columns * 3 / 5, .from_height = rows * 3 / 5, .radius = 2}

static void jacobi(struct nest_data *d) {
  double *restrict out = d->out;
  const double *restrict in = d->in;
  int width = d->width, height = d->height;
  NEST(2)
  for (int y = 1; y < height - 1; y++)
    INNER
    for (int x = 1; x < width - 1; x++)
      out[y * width + x] = 0.2 * (in[y * width + x] + in[y * width + x - 1] + in[y * width + x + 1] +
                                  in[(y - 1) * width + x] + in[(y + 1) * width + x]);
}

static void stencil9(struct nest_data *d) {
  float *out = d->out;
  const float *in = d->in;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 1; y < height - 1; y++)
    INNER
    for (long x = 1; x < width - 1; x++) {
      const float *at = &in[y * width + x];
      float sides = at[-1] + at[1] + at[-width] + at[width];
      float corners = at[-width - 1] + at[-width + 1] + at[width - 1] + at[width + 1];
      out[y * width + x] = 0.5f * at[0] + 0.1f * sides + 0.025f * corners;
    }
}

static void heat(struct nest_data *d) {
  double *restrict out = d->out;
  const double *restrict in = d->in;
  int width = d->width, height = d->height, depth = d->depth;
  NEST(3)
  for (int z = 1; z < depth - 1; z++)
    LEVEL
    for (int y = 1; y < height - 1; y++)
      INNER
      for (int x = 1; x < width - 1; x++)
        out[AT(x, y, z)] = in[AT(x, y, z)] + 0.125 * (in[AT(x - 1, y, z)] + in[AT(x + 1, y, z)] + in[AT(x, y - 1, z)] +
                                                      in[AT(x, y + 1, z)] + in[AT(x, y, z - 1)] + in[AT(x, y, z + 1)] -
                                                      6 * in[AT(x, y, z)]);
}

static void filter(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in, *restrict weights = d->weights;
  int width = d->width, height = d->height;
  NEST(2)
  for (int y = 1; y < height - 1; y++)
    INNER
    for (int x = 1; x < width - 1; x++) {
      float sum = 0;
      for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++)
          sum += weights[(v + 1) * 3 + u + 1] * in[(y + v) * width + x + u];
      out[y * width + x] = sum;
    }
}

static void byte_filter(struct nest_data *d) {
  unsigned char *restrict out = d->out;
  const unsigned char *restrict in = d->in;
  const int *restrict weights = d->weights;
  int width = d->width, height = d->height;
  NEST(2)
  for (int y = 1; y < height - 1; y++)
    INNER
    for (int x = 1; x < width - 1; x++) {
      int sum = 8;
      for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++)
          sum += weights[(v + 1) * 3 + u + 1] * in[(y + v) * width + x + u];
      sum >>= 4;
      out[y * width + x] = sum < 0 ? 0 : sum > 255 ? 255 : sum;
    }
}

static void transpose(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in;
  int width = d->width, height = d->height;
  NEST(2)
  for (int y = 0; y < height; y++)
    INNER
    for (int x = 0; x < width; x++)
      out[x * height + y] = in[y * width + x];
}

static void product(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict a = d->in, *restrict b = d->other;
  int size = d->height;
  NEST(2)
  for (int i = 0; i < size; i++)
    INNER
    for (int j = 0; j < size; j++) {
      float sum = 0;
      for (int k = 0; k < size; k++)
        sum += a[i * size + k] * b[k * size + j];
      out[i * size + j] = sum;
    }
}

static void resample(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in;
  int width = d->width, height = d->height, from = d->from_width;
  float step_x = (float)(d->from_width - 1) / width, step_y = (float)(d->from_height - 1) / height;
  NEST(2)
  for (int y = 0; y < height; y++)
    INNER
    for (int x = 0; x < width; x++) {
      float fy = y * step_y, fx = x * step_x;
      int iy = (int)fy, ix = (int)fx;
      fy -= iy;
      fx -= ix;
      const float *at = in + iy * from + ix;
      float upper = at[0] + fx * (at[1] - at[0]), lower = at[from] + fx * (at[from + 1] - at[from]);
      out[y * width + x] = upper + fy * (lower - upper);
    }
}

static void box(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in;
  int width = d->width, height = d->height, radius = d->radius;
  float scale = 1.0f / ((2 * radius + 1) * (2 * radius + 1));
  NEST(2)
  for (int y = radius; y < height - radius; y++)
    INNER
    for (int x = radius; x < width - radius; x++) {
      float sum = 0;
      for (int v = -radius; v <= radius; v++)
        for (int u = -radius; u <= radius; u++)
          sum += in[(y + v) * width + x + u];
      out[y * width + x] = sum * scale;
    }
}

static void life(struct nest_data *d) {
  unsigned char *restrict out = d->out;
  const unsigned char *restrict in = d->in;
  int width = d->width, height = d->height;
  NEST(2)
  for (int y = 1; y < height - 1; y++)
    INNER
    for (int x = 1; x < width - 1; x++) {
      int alive = 0;
      for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++)
          if (u != 0 || v != 0)
            alive += in[(y + v) * width + x + u] & 1;
      out[y * width + x] = alive == 3 || (alive == 2 && (in[y * width + x] & 1));
    }
}

static const struct nest_data plane[] = {PLANE(100, 75), PLANE(1000, 750), {0}};
static const struct nest_data space[] = {{.width = 40, .height = 30, .depth = 20}, {.width = 150, .height = 100, .depth = 70}, {0}};
static const struct nest_data square[] = {PLANE(60, 60), PLANE(250, 250), {0}};

const struct nest JOIN(nests, WAY)[] = {
    {"5-point stencil", "double", jacobi, f64, f64, f64, {5, 1, 1, 5, 8}, plane},
    {"9-point stencil", "float", stencil9, f32, f32, f32, {9, 1, 1, 9, 4}, plane},
    {"7-point stencil in 3 dimensions", "double", heat, f64, f64, f64, {7, 1, 1, 7, 8}, space},
    {"3x3 filter", "float", filter, f32, f32, f32, {9, 1, 1, 9, 4}, plane},
    {"3x3 filter on bytes", "bytes", byte_filter, u8, i32, u8, {9, 1, 1, 21, 2}, plane},
    {"transpose", "float", transpose, f32, f32, f32, {1, 1, 1, 0, 4}, plane},
    {"matrix product", "float", product, f32, f32, f32, {2, 0, 0, 1, 4}, square, 1},
    {"bilinear resampling", "float", resample, f32, f32, f32, {4, 0.36f, 1, 14, 4}, plane},
    {"box filter", "float", box, f32, f32, f32, {25, 1, 1, 26, 4}, plane},
    {"game of life", "bytes", life, u8, i32, u8, {9, 1, 1, 12, 1}, plane},
    {0},
};
