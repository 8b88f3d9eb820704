// Points in space, and trees over them: what the searches of `./x bench loops` work on. `REAL` is the type of coordinates.
#pragma once

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

enum { SEARCHES = 13, LEAF = 4, CLUSTERS = 128, DEEPEST = 256 };

/// A node of a tree over boxes. A leaf has no children, but points.
struct branch {
  int left, right;
  int axis;
  int first, count;
  REAL split;
};

/// A node of a tree over distances from a point.
struct ring {
  int point;
  int inside, outside;
  REAL radius;
};

/// A cell of space: what is in it, as one mass.
struct cell {
  REAL x, y, z, mass;
  /// The square of its size, over that of the angle from which on it counts as one mass.
  REAL reach;
  int child, children;
};

struct search {
  /// How many queries, and what they ask for: coordinates one after the other, and radii.
  int count;
  const REAL *queries;
  const REAL *radii;
  REAL radius;
  REAL *out;
  const REAL *points;
  const struct branch *branches;
  const REAL *boxes;
  const struct ring *rings;
  const struct cell *cells;
  const REAL *centers;
  const REAL *sorted;
  int sorted_count;
};

struct finder {
  const char *name;
  void (*run)(struct search *);
};
