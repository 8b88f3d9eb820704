// Stencils and the transpose of thesis section 13.4, from one array to another. The thesis shows their shapes in a picture only:
// 9 and 25 points are squares here, the sparse one has its neighbours two cells away.
#include "nests.h"
#include "../../../../../include/heddle.h"

/// An interior of whole powers of two, with a border of one or two cells: in the first-level cache, the second, the third (as the
/// thesis has it), and memory.
#define INTERIOR(columns, rows, border)                                                                                \
  {.width = (columns) + 2 * (border), .height = (rows) + 2 * (border), .depth = 1}
static const struct nest_data one[] = {INTERIOR(48, 32, 1), INTERIOR(256, 128, 1), INTERIOR(1024, 1024, 1),
                                       INTERIOR(4096, 2048, 1), {0}};
static const struct nest_data two[] = {INTERIOR(48, 32, 2), INTERIOR(256, 128, 2), INTERIOR(1024, 1024, 2),
                                       INTERIOR(4096, 2048, 2), {0}};
static const struct nest_data whole[] = {INTERIOR(48, 32, 0), INTERIOR(256, 128, 0), INTERIOR(1024, 1024, 0),
                                         INTERIOR(4096, 2048, 0), {0}};

/// The interior of the thesis, of arrays in tiles.
static const struct nest_data one_tiled[] = {INTERIOR(1024, 1024, 1), {0}};
static const struct nest_data two_tiled[] = {INTERIOR(1024, 1024, 2), {0}};

#define STENCIL(function, border, value)                                                                               \
  STENCIL_IN(function, 0, border, value)                                                                               \
  STENCIL_IN(function##_tiled, 1, border, value)
#define STENCIL_IN(function, in_tiles, border, value)                                                                  \
  static void function(struct nest_data *d) {                                                                          \
    REAL *restrict out = d->out;                                                                                       \
    const REAL *restrict in = d->in;                                                                                   \
    long width = d->width, height = d->height;                                                                         \
    enum { tiles = in_tiles };                                                                                         \
    NEST(2)                                                                                                            \
    for (long j = border; j < height - border; j++)                                                                    \
      INNER                                                                                                            \
      for (long i = border; i < width - border; i++)                                                                   \
        out[PLACE(j, i)] = value;                                                                                      \
  }

#define PLACE(y, x) (tiles ? heddle_tile(y, x, width, 2, 2) : (size_t)((y) * width + (x)))
#define IN(v, u) in[PLACE(j + (v), i + (u))]
#define ROW3(v) (IN(v, -1) + IN(v, 0) + IN(v, 1))
#define ROW5(v) (IN(v, -2) + IN(v, -1) + IN(v, 0) + IN(v, 1) + IN(v, 2))

STENCIL(jacobi5, 1, (REAL)0.2 * (IN(-1, 0) + IN(0, -1) + IN(0, 0) + IN(0, 1) + IN(1, 0)))
STENCIL(jacobi9, 1,
        (REAL)0.25 * IN(0, 0) + (REAL)0.125 * (IN(-1, 0) + IN(0, -1) + IN(0, 1) + IN(1, 0)) +
            (REAL)0.0625 * (IN(-1, -1) + IN(-1, 1) + IN(1, -1) + IN(1, 1)))
STENCIL(seidel9, 1, (REAL)(1.0 / 9) * (ROW3(-1) + ROW3(0) + ROW3(1)))
STENCIL(seidel25, 2, (REAL)0.04 * (ROW5(-2) + ROW5(-1) + ROW5(0) + ROW5(1) + ROW5(2)))
STENCIL(sparse5, 2, (REAL)0.2 * (IN(-2, 0) + IN(0, -2) + IN(0, 0) + IN(0, 2) + IN(2, 0)))
STENCIL_IN(star9, 0, 2,
        (REAL)0.5 * IN(0, 0) + (REAL)0.1 * (IN(-1, 0) + IN(0, -1) + IN(0, 1) + IN(1, 0)) +
            (REAL)0.025 * (IN(-2, 0) + IN(0, -2) + IN(0, 2) + IN(2, 0)))

static void transpose(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict in = d->in;
  long width = d->width, height = d->height;
  NEST(2)
  for (long j = 0; j < height; j++)
    INNER
    for (long i = 0; i < width; i++)
      out[i * height + j] = in[j * width + i];
}

#define ON_REALS(name, function, loads, cells, operations, sizes)                                                      \
  {name, TEXT(REAL), function, ELEMENT_OF(REAL), ELEMENT_OF(REAL), ELEMENT_OF(REAL),                                   \
   {loads, cells, 1, operations, sizeof(REAL)}, sizes}

const struct nest JOIN(nests, WAY)[] = {
    ON_REALS("jacobi-5", jacobi5, 5, 1, 5, one),
    ON_REALS("jacobi-9", jacobi9, 9, 1, 9, one),
    ON_REALS("seidel-9", seidel9, 9, 1, 9, one),
    ON_REALS("seidel-25", seidel25, 25, 1, 25, two),
    ON_REALS("sparse jacobi-5", sparse5, 5, 1, 5, two),
    ON_REALS("star of 9", star9, 9, 1, 9, two),
    ON_REALS("jacobi-5 in tiles", jacobi5_tiled, 5, 1, 5, one_tiled),
    ON_REALS("jacobi-9 in tiles", jacobi9_tiled, 9, 1, 9, one_tiled),
    ON_REALS("seidel-9 in tiles", seidel9_tiled, 9, 1, 9, one_tiled),
    ON_REALS("seidel-25 in tiles", seidel25_tiled, 25, 1, 25, two_tiled),
    ON_REALS("sparse jacobi-5 in tiles", sparse5_tiled, 5, 1, 5, two_tiled),
    ON_REALS("matrix transpose", transpose, 1, 1, 0, whole),
    {0},
};
