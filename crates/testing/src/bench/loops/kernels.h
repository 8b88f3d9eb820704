// What the loops of `./x bench loops` work on.
#pragma once

enum { KERNELS = 12, CASCADE = 6, FIRST_OF_TREES = 8, OWN_STACKS = 10, ONE_STACK = 11, PROGRAMS = 7 };

#include "trees.h"

struct data {
  int count;
  float factor;
  float *out;
  const float *a, *b;
  const int *index;
  /// A cloud of 32 * 32 * 32 cells.
  const float *density;
  struct tree tree;
};

/// The kernels of each file, by function and name; the constants above count them.
#define KERNEL_LIST(kernel)                                                                                            \
  kernel(scale_and_add, "scale and add") kernel(dot_product, "dot product") kernel(stencil, "stencil")                 \
  kernel(mandelbrot, "mandelbrot") kernel(black_scholes, "black-scholes") kernel(table_lookup, "table lookup")         \
  kernel(cascade, "cascade") kernel(clamped_sum, "clamped sum") kernel(tree_lookup, "tree lookup")                     \
  kernel(column_lookup, "tree in columns") kernel(own_stacks, "own stacks") kernel(one_stack, "one stack")
#define PROGRAM_LIST(kernel)                                                                                           \
  kernel(binomial, "binomial") kernel(perlin, "perlin") kernel(volume, "volume") kernel(occlusion, "occlusion")        \
  kernel(small_matrices, "small matrices") kernel(bodies, "n-body") kernel(biased_cascade, "biased cascade")

struct kernel {
  const char *name;
  void (*run)(struct data *);
};
