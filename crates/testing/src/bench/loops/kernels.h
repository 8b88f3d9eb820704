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

struct kernel {
  const char *name;
  void (*run)(struct data *);
};
