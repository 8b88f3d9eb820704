// Grids in steps of time and in three dimensions, of the shapes that PolyBench has.
#include "nests.h"

#define PLANE(columns, rows) {.width = columns, .height = rows, .depth = 1}
#define SPACE(columns, rows, planes) {.width = columns, .height = rows, .depth = planes}
static const struct nest_data planes[] = {PLANE(40, 30), PLANE(250, 120), PLANE(1000, 750), {0}};
static const struct nest_data spaces[] = {SPACE(16, 12, 8), SPACE(40, 30, 20), SPACE(150, 100, 70), SPACE(300, 200, 150), {0}};
static const struct nest_data tensors[] = {SPACE(16, 12, 10), SPACE(60, 40, 50), {0}};

enum { STEPS = 2 };

static void step_plane(REAL *restrict out, const REAL *restrict in, long width, long height) {
  NEST(2)
  for (long y = 1; y < height - 1; y++)
    INNER
    for (long x = 1; x < width - 1; x++)
      out[y * width + x] = (REAL)0.2 * (in[y * width + x] + in[y * width + x - 1] + in[y * width + x + 1] +
                                        in[(y + 1) * width + x] + in[(y - 1) * width + x]);
}

/// Two steps, from the input to the scratch array and from there to the output.
static void jacobi_2d(struct nest_data *d) {
  step_plane(d->scratch, d->in, d->width, d->height);
  step_plane(d->out, d->scratch, d->width, d->height);
}

static void step_space(REAL *restrict out, const REAL *restrict in, long width, long height, long depth) {
  NEST(3)
  for (long z = 1; z < depth - 1; z++)
    LEVEL
    for (long y = 1; y < height - 1; y++)
      INNER
      for (long x = 1; x < width - 1; x++) {
        REAL here = in[AT(x, y, z)];
        out[AT(x, y, z)] = here + (REAL)0.125 * (in[AT(x, y, z + 1)] - 2 * here + in[AT(x, y, z - 1)]) +
                           (REAL)0.125 * (in[AT(x, y + 1, z)] - 2 * here + in[AT(x, y - 1, z)]) +
                           (REAL)0.125 * (in[AT(x + 1, y, z)] - 2 * here + in[AT(x - 1, y, z)]);
      }
}

static void heat_3d(struct nest_data *d) {
  step_space(d->scratch, d->in, d->width, d->height, d->depth);
  step_space(d->out, d->scratch, d->width, d->height, d->depth);
}

/// Waves: two fields on the edges of cells by differences of one in the cells, then that one by theirs. The outputs lie one
/// after the other.
static void fdtd_2d(struct nest_data *d) {
  long width = d->width, height = d->height;
  REAL *restrict hz = d->out, *restrict ex = d->scratch, *restrict ey = ex + width * height;
  const REAL *restrict in = d->in, *restrict other = d->other;
  NEST(2)
  for (long y = 1; y < height; y++)
    INNER
    for (long x = 0; x < width; x++)
      ey[y * width + x] = other[y * width + x] - (REAL)0.5 * (in[y * width + x] - in[(y - 1) * width + x]);
  NEST(2)
  for (long y = 0; y < height; y++)
    INNER
    for (long x = 1; x < width; x++)
      ex[y * width + x] = other[y * width + x] - (REAL)0.5 * (in[y * width + x] - in[y * width + x - 1]);
  NEST(2)
  for (long y = 0; y < height - 1; y++)
    INNER
    for (long x = 0; x < width - 1; x++)
      hz[y * width + x] = in[y * width + x] - (REAL)0.7 * (ex[y * width + x + 1] - ex[y * width + x] +
                                                           ey[(y + 1) * width + x] - ey[y * width + x]);
}

static void points27(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict in = d->in, *restrict weights = d->weights;
  long width = d->width, height = d->height, depth = d->depth;
  NEST(3)
  for (long z = 1; z < depth - 1; z++)
    LEVEL
    for (long y = 1; y < height - 1; y++)
      INNER
      for (long x = 1; x < width - 1; x++) {
        REAL sum = 0;
        for (int w = -1; w <= 1; w++)
          for (int v = -1; v <= 1; v++)
            for (int u = -1; u <= 1; u++)
              sum += weights[w * w + v * v + u * u] * in[AT(x + u, y + v, z + w)];
        out[AT(x, y, z)] = sum;
      }
}

/// Each row of a tensor of three dimensions times one matrix.
static void doitgen(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict in = d->in, *restrict matrix = d->other;
  long width = d->width, height = d->height, depth = d->depth;
  NEST(3)
  for (long r = 0; r < depth; r++)
    LEVEL
    for (long q = 0; q < height; q++)
      INNER
      for (long p = 0; p < width; p++) {
        REAL sum = 0;
        for (long s = 0; s < width; s++)
          sum += in[AT(s, q, r)] * matrix[s * width + p];
        out[AT(p, q, r)] = sum;
      }
}

/// `doitgen` as an imperfect nest: each pair of the outer levels has a row of its own.
static void doitgen_rows(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict in = d->in, *restrict matrix = d->other;
  long width = d->width, height = d->height, depth = d->depth;
  NEST(2)
  for (long r = 0; r < depth; r++)
    INNER
    for (long q = 0; q < height; q++) {
      REAL row[64];
      for (long p = 0; p < width; p++) {
        row[p] = 0;
        for (long s = 0; s < width; s++)
          row[p] += in[AT(s, q, r)] * matrix[s * width + p];
      }
      for (long p = 0; p < width; p++)
        out[AT(p, q, r)] = row[p];
    }
}

#define ON_REALS(name, function, loads, cells, stores, operations, sizes, ...)                                         \
  {name, TEXT(REAL), function, ELEMENT_OF(REAL), ELEMENT_OF(REAL), ELEMENT_OF(REAL),                                   \
   {loads, cells, stores, operations, sizeof(REAL)}, sizes, __VA_ARGS__}

const struct nest JOIN(nests, WAY)[] = {
    ON_REALS("jacobi-2d", jacobi_2d, 5 * STEPS, STEPS, STEPS, 5 * STEPS, planes, 0),
    ON_REALS("fdtd-2d", fdtd_2d, 11, 7, 3, 8, planes, 0),
    ON_REALS("heat-3d", heat_3d, 7 * STEPS, STEPS, STEPS, 9 * STEPS, spaces, 0),
    ON_REALS("27-point stencil", points27, 27, 1, 1, 27, spaces, 0),
    ON_REALS("doitgen", doitgen, 2, 0, 0, 1, tensors, 1),
    ON_REALS("doitgen by rows", doitgen_rows, 2, 0, 0, 1, tensors, 1),
    {0},
};
