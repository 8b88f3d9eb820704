// Searches in trees that share one stack of nodes among all lanes: a node is visited if any lane wants to. In scalar code
// there is one lane. Compiled once for each way to compile and for each `REAL`.
#include "../../../../../include/heddle.h"
#include "searches.h"

#define NAME(name) JOIN(JOIN(name, REAL), WAY)
#define INLINE static inline __attribute__((always_inline))

/// The square of the distance from a point to a box.
INLINE REAL to_box(const REAL *box, const REAL *point, int dims) {
  REAL sum = 0;
  for (int k = 0; k < dims; k++) {
    REAL below = box[2 * k] - point[k], above = point[k] - box[2 * k + 1];
    REAL off = below > 0 ? below : above > 0 ? above : 0;
    sum += off * off;
  }
  return sum;
}

INLINE REAL between(const REAL *one, const REAL *other, int dims) {
  REAL sum = 0;
  for (int k = 0; k < dims; k++)
    sum += (one[k] - other[k]) * (one[k] - other[k]);
  return sum;
}

/// The nearest point, by a tree over boxes: the square of its distance.
INLINE REAL nearest(const struct search *s, const REAL *query, int dims) {
  int stack[DEEPEST], top = 0;
  REAL best = (REAL)1e30;
  stack[top++] = 0;
  while (top > 0) {
    int node = stack[--top];
    if (!heddle_any(to_box(&s->boxes[node * 2 * dims], query, dims) < best))
      continue;
    const struct branch *branch = &s->branches[node];
    for (int p = branch->first; p < branch->first + branch->count; p++) {
      REAL off = between(&s->points[p * dims], query, dims);
      best = off < best ? off : best;
    }
    if (branch->left < 0)
      continue;
    // Most lanes choose which side comes first.
    int is_left = 2 * (int)heddle_popcount(query[branch->axis] < branch->split) >= (int)heddle_popcount(1);
    stack[top++] = is_left ? branch->right : branch->left;
    stack[top++] = is_left ? branch->left : branch->right;
  }
  return best;
}

/// How many points are within a radius.
INLINE REAL within(const struct search *s, const REAL *query, REAL radius, int dims) {
  int stack[DEEPEST], top = 0, found = 0;
  REAL most = radius * radius;
  stack[top++] = 0;
  while (top > 0) {
    int node = stack[--top];
    if (!heddle_any(to_box(&s->boxes[node * 2 * dims], query, dims) <= most))
      continue;
    const struct branch *branch = &s->branches[node];
    for (int p = branch->first; p < branch->first + branch->count; p++)
      found += between(&s->points[p * dims], query, dims) <= most;
    if (branch->left < 0)
      continue;
    stack[top++] = branch->right;
    stack[top++] = branch->left;
  }
  return (REAL)found;
}

/// The nearest point, by a tree over distances.
INLINE REAL nearest_by_rings(const struct search *s, const REAL *query, int dims) {
  int stack[DEEPEST], top = 0;
  REAL best = (REAL)1e15;
  stack[top++] = 0;
  while (top > 0) {
    const struct ring *ring = &s->rings[stack[--top]];
    REAL off = (REAL)__builtin_sqrt((double)between(&s->points[ring->point * dims], query, dims));
    best = off < best ? off : best;
    int inside = ring->inside, outside = ring->outside;
    if (outside >= 0 && heddle_any(off + best >= ring->radius))
      stack[top++] = outside;
    if (inside >= 0 && heddle_any(off - best <= ring->radius))
      stack[top++] = inside;
  }
  return best;
}

/// The pull of all masses on a body. A lane goes into a cell only if the cell is too near for that lane.
INLINE REAL pull(const struct search *s, const REAL *body) {
  int stack[DEEPEST], top = 0;
  uint64_t wanted[DEEPEST];
  REAL x = 0, y = 0, z = 0;
  stack[top] = 0;
  wanted[top++] = ~(uint64_t)0;
  while (top > 0) {
    uint64_t lanes = wanted[--top];
    const struct cell *cell = &s->cells[stack[top]];
    int is_here = (int)(lanes >> heddle_lane() & 1);
    REAL dx = cell->x - body[0], dy = cell->y - body[1], dz = cell->z - body[2];
    REAL square = dx * dx + dy * dy + dz * dz + (REAL)0.01;
    int is_near = is_here && cell->children > 0 && cell->reach > square;
    if (is_here && !is_near) {
      REAL inverse = 1 / (REAL)__builtin_sqrt((double)square);
      REAL force = cell->mass * inverse * inverse * inverse;
      x += dx * force;
      y += dy * force;
      z += dz * force;
    }
    if (heddle_any(is_near)) {
      uint64_t lanes_near = heddle_ballot(is_near);
      for (int k = 0; k < cell->children; k++) {
        stack[top] = cell->child + k;
        wanted[top++] = lanes_near;
      }
    }
  }
  return x + y + z;
}

/// The nearest of some centers.
INLINE REAL cluster(const struct search *s, const REAL *query, int dims) {
  REAL best = (REAL)1e30;
  int which = -1;
  for (int c = 0; c < CLUSTERS; c++) {
    REAL off = between(&s->centers[c * dims], query, dims);
    if (off < best) {
      best = off;
      which = c;
    }
  }
  return (REAL)which;
}

/// The last of sorted numbers that is not above.
INLINE REAL last_below(const struct search *s, REAL query) {
  int low = 0, count = s->sorted_count;
  while (count > 1) {
    int half = count / 2;
    if (s->sorted[low + half] <= query)
      low += half;
    count -= half;
  }
  return (REAL)low;
}

/// The same where a search ends as soon as the number is found.
INLINE REAL place_of(const struct search *s, REAL query) {
  int low = 0, high = s->sorted_count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    REAL number = s->sorted[middle];
    if (number == query)
      return (REAL)middle;
    if (number < query)
      low = middle;
    else
      high = middle - 1;
  }
  return (REAL)low;
}

#define SEARCH(name, value) \
  static void name(struct search *s) { \
    REAL *out = s->out; \
    int n = s->count; \
    _Pragma("omp simd") for (int i = 0; i < n; i++) out[i] = value; \
  }
SEARCH(kd2, nearest(s, &s->queries[i * 2], 2))
SEARCH(kd9, nearest(s, &s->queries[i * 9], 9))
SEARCH(pc2, within(s, &s->queries[i * 2], s->radius, 2))
SEARCH(pc9, within(s, &s->queries[i * 9], s->radius, 9))
SEARCH(mpc2, within(s, s->queries, s->radii[i], 2))
SEARCH(mpc9, within(s, s->queries, s->radii[i], 9))
SEARCH(vp2, nearest_by_rings(s, &s->queries[i * 2], 2))
SEARCH(vp9, nearest_by_rings(s, &s->queries[i * 9], 9))
SEARCH(bh, pull(s, &s->queries[i * 3]))
SEARCH(km2, cluster(s, &s->queries[i * 2], 2))
SEARCH(km9, cluster(s, &s->queries[i * 9], 9))
SEARCH(xs, last_below(s, s->queries[i]))
SEARCH(bt, place_of(s, s->queries[i]))

const struct finder NAME(finders)[SEARCHES] = {
    {"kd 2D", kd2}, {"kd 9D", kd9}, {"pc 2D", pc2}, {"pc 9D", pc9}, {"mpc 2D", mpc2}, {"mpc 9D", mpc9}, {"vp 2D", vp2},
    {"vp 9D", vp9}, {"km 2D", km2}, {"km 9D", km9}, {"bh", bh},     {"xs", xs},     {"bt", bt},
};
