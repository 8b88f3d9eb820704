// What the loops of `./x bench loops` work on.
#pragma once

enum { KERNELS = 9 };

struct node {
  float key;
  int left, right, unused;
};

struct data {
  int count;
  float factor;
  float *out;
  const float *a, *b;
  const int *index;
  const struct node *nodes;
};

struct kernel {
  const char *name;
  void (*run)(struct data *);
};
