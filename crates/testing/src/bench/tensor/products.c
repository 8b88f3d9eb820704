// Products of matrices as three plain loops, small and large, and many small ones.
#include "nests.h"

#define SQUARE(size) {.width = size, .height = size, .depth = 1}
static const struct nest_data squares[] = {SQUARE(4),  SQUARE(8),   SQUARE(16),  SQUARE(32), SQUARE(64),
                                           SQUARE(128), SQUARE(256), SQUARE(512), {0}};
static const struct nest_data batch4[] = {{.width = 4, .height = 4, .depth = 100}, {.width = 4, .height = 4, .depth = 10000}, {0}};
static const struct nest_data batch8[] = {{.width = 8, .height = 8, .depth = 20}, {.width = 8, .height = 8, .depth = 2500}, {0}};

static void product(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict a = d->in, *restrict b = d->other;
  long size = d->width;
  NEST(2)
  for (long i = 0; i < size; i++)
    INNER
    for (long j = 0; j < size; j++) {
      REAL sum = 0;
      for (long k = 0; k < size; k++)
        sum += a[i * size + k] * b[k * size + j];
      out[i * size + j] = sum;
    }
}

/// The product with a matrix whose rows are the columns of the other: both operands are walked along rows.
static void product_transposed(struct nest_data *d) {
  REAL *restrict out = d->out;
  const REAL *restrict a = d->in, *restrict b = d->other;
  long size = d->width;
  NEST(2)
  for (long i = 0; i < size; i++)
    INNER
    for (long j = 0; j < size; j++) {
      REAL sum = 0;
      for (long k = 0; k < size; k++)
        sum += a[i * size + k] * b[j * size + k];
      out[i * size + j] = sum;
    }
}

#define BATCHED(function, size)                                                                                        \
  static void function(struct nest_data *d) {                                                                          \
    REAL(*restrict out)[size][size] = d->out;                                                                          \
    const REAL(*restrict a)[size][size] = d->in, (*restrict b)[size][size] = d->other;                                 \
    long count = d->depth;                                                                                             \
    NEST(3)                                                                                                            \
    for (long m = 0; m < count; m++)                                                                                   \
      LEVEL                                                                                                            \
      for (long i = 0; i < size; i++)                                                                                  \
        INNER                                                                                                          \
        for (long j = 0; j < size; j++) {                                                                              \
          REAL sum = 0;                                                                                                \
          for (long k = 0; k < size; k++)                                                                              \
            sum += a[m][i][k] * b[m][k][j];                                                                            \
          out[m][i][j] = sum;                                                                                          \
        }                                                                                                              \
  }
BATCHED(batched4, 4)
BATCHED(batched8, 8)

#define ON_REALS(name, function, cells, sizes)                                                                         \
  {name, TEXT(REAL), function, ELEMENT_OF(REAL), ELEMENT_OF(REAL), ELEMENT_OF(REAL), {2, cells, 0, 1, sizeof(REAL)},   \
   sizes, 1}

const struct nest JOIN(nests, WAY)[] = {
    ON_REALS("product", product, 0, squares),
    ON_REALS("product with a transposed one", product_transposed, 0, squares),
    ON_REALS("products of 4x4", batched4, 0.5f, batch4),
    ON_REALS("products of 8x8", batched8, 0.25f, batch8),
    {0},
};
