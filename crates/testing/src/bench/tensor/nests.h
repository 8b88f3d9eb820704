// Data of the nests of `./x bench tensor`.
#pragma once

enum { NESTS = 10, HEAT = 2, PRODUCT = 6 };

struct nest_data {
  /// Columns, rows and planes; columns and rows of a picture that is resampled.
  int width, height, depth, from_width, from_height;
  /// Radius of the box filter.
  int radius;
  /// Output of the nest: floats, doubles or bytes.
  void *out;
  const float *floats, *others, *weights;
  const double *doubles;
  const unsigned char *bytes;
  const int *integer_weights;
};

/// The nests, by function, name, and the element that it writes; the constant above counts them.
#define NEST_LIST(nest)                                                                                                \
  nest(jacobi, "5-point stencil", double) nest(stencil9, "9-point stencil", float)                                     \
  nest(heat, "7-point stencil in 3 dimensions", double) nest(filter, "3x3 filter", float)                              \
  nest(byte_filter, "3x3 filter on bytes", unsigned char) nest(transpose, "transpose", float)                          \
  nest(product, "matrix product", float) nest(resample, "bilinear resampling", float)                                  \
  nest(box, "box filter", float) nest(life, "game of life", unsigned char)

struct nest {
  const char *name;
  void (*run)(struct nest_data *);
};
