// Nests of `./x bench tensor`, and how each file of them describes its own. A file is compiled once for each way to
// compile it: `WAY` ends the name of its table, and `MARKS` says how nests are marked: 0 not at all, 1 by `collapse`, 2 on
// each level, 3 on the innermost marked level only. `REAL` is the element of files that have each nest for both.
#pragma once
#include <float.h>
#include <stddef.h>

enum element { f32, f64, u8, i16, i32 };

struct nest_data {
  /// Columns, rows and planes; columns and rows of a picture that is resampled.
  int width, height, depth, from_width, from_height;
  /// Radius of the box filter.
  int radius;
  /// Room for as many numbers of eight bytes as there are cells, and for twice as many.
  void *out, *scratch;
  /// Numbers between 0 and 1, or bytes.
  const void *in, *other;
  /// `WEIGHTS` of them.
  const void *weights;
};

enum { WEIGHTS = 256 };

/// Least operations of a step of a nest. A step is the computation of a result, or of one term of it (`has_terms`).
struct nest_counts {
  /// Loads as written, loads if each cell is loaded once, stores, and operations: a fused multiplication and addition is one.
  float loads, cells, stores, operations;
  /// Bytes of the numbers that it computes with.
  int lane;
};

struct nest {
  const char *name, *type;
  void (*run)(struct nest_data *);
  enum element in, weights, out;
  struct nest_counts counts;
  /// Sizes, the last of width 0.
  const struct nest_data *sizes;
  /// True if each result is a sum of `width` terms.
  int has_terms;
};

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define PRAGMA(text) _Pragma(#text)

#if MARKS == 1
#define NEST(levels) PRAGMA(omp simd collapse(levels))
#define LEVEL
#define INNER
#elif MARKS == 2 && defined __clang__
#define NEST(levels) PRAGMA(clang loop vectorize(assume_safety))
#define LEVEL PRAGMA(clang loop vectorize(assume_safety))
#define INNER LEVEL
#elif MARKS == 2
#define NEST(levels) PRAGMA(GCC ivdep)
#define LEVEL PRAGMA(GCC ivdep)
#define INNER LEVEL
#elif MARKS == 3
#define NEST(levels)
#define LEVEL
#define INNER PRAGMA(clang loop vectorize(assume_safety))
#else
#define NEST(levels)
#define LEVEL
#define INNER
#endif

#define AT(x, y, z) (((z) * height + (y)) * width + (x))

// Names of the element that `REAL` is.
#define float_ELEMENT f32
#define double_ELEMENT f64
#define ELEMENT_OF_(real) real##_ELEMENT
#define ELEMENT_OF(real) ELEMENT_OF_(real)
#define TEXT_(text) #text
#define TEXT(text) TEXT_(text)
