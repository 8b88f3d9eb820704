// Times the searches of `./x bench loops` on points of one type of numbers: random ones and clustered ones, queries from boxes
// of 0.1 to 1.0 times the size of all points (the spread factor).
#include "searches.h"
#include "ways.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDERS(way) JOIN(JOIN(finders, REAL), way)
#define DECLARE(way) extern const struct finder FINDERS(way)[SEARCHES];
WAYS(DECLARE)
#define TABLE(way) FINDERS(way),
static const struct finder *const ways[] = {WAYS(TABLE)};

enum { QUERIES = 256, SPREADS = 10, BODIES = 8192, SORTED = 1 << 20, PLACES = 4096, MEANS = 4096, ROUNDS = 5, MOST = 9 };

static REAL out[WAY_COUNT][PLACES];

static REAL unit(void) { return (REAL)draw_unit(); }

struct made {
  struct branch *branches;
  REAL *boxes;
  struct ring *rings;
  int used;
};

static int dims, sort_axis;
static const REAL *sort_points, *sort_from;

static int by_axis(const void *one, const void *other) {
  REAL a = sort_points[*(const int *)one * dims + sort_axis], b = sort_points[*(const int *)other * dims + sort_axis];
  return (a > b) - (a < b);
}

static REAL off_from(int point) {
  REAL sum = 0;
  for (int k = 0; k < dims; k++) {
    REAL off = sort_points[point * dims + k] - sort_from[k];
    sum += off * off;
  }
  return sum;
}

static int by_distance(const void *one, const void *other) {
  REAL a = off_from(*(const int *)one), b = off_from(*(const int *)other);
  return (a > b) - (a < b);
}

/// A tree over boxes of the points `from` to before `to` of an order, which becomes that of the leaves.
static int grow_boxes(struct made *made, int *order, int from, int to) {
  int node = made->used++;
  REAL *box = &made->boxes[node * 2 * dims], widest = -1;
  int axis = 0;
  for (int k = 0; k < dims; k++) {
    REAL low = (REAL)1e30, high = (REAL)-1e30;
    for (int p = from; p < to; p++) {
      REAL at = sort_points[order[p] * dims + k];
      low = at < low ? at : low;
      high = at > high ? at : high;
    }
    box[2 * k] = low;
    box[2 * k + 1] = high;
    if (high - low > widest) {
      widest = high - low;
      axis = k;
    }
  }
  struct branch *branch = &made->branches[node];
  *branch = (struct branch){-1, -1, axis, from, to - from, 0};
  if (to - from <= LEAF)
    return node;
  sort_axis = axis;
  qsort(&order[from], (size_t)(to - from), sizeof *order, by_axis);
  int middle = (from + to) / 2;
  branch->split = sort_points[order[middle] * dims + axis];
  branch->count = 0;
  branch->left = grow_boxes(made, order, from, middle);
  branch->right = grow_boxes(made, order, middle, to);
  return node;
}

/// A tree over distances: the first point is the middle of a ring around half of the others.
static int grow_rings(struct made *made, int *order, int from, int to) {
  if (from == to)
    return -1;
  int node = made->used++;
  struct ring *ring = &made->rings[node];
  *ring = (struct ring){order[from], -1, -1, 0};
  if (to - from == 1)
    return node;
  sort_from = &sort_points[order[from] * dims];
  qsort(&order[from + 1], (size_t)(to - from - 1), sizeof *order, by_distance);
  int middle = (from + 1 + to) / 2;
  ring->radius = (REAL)sqrt((double)off_from(order[middle]));
  ring->inside = grow_rings(made, order, from + 1, middle);
  ring->outside = grow_rings(made, order, middle, to);
  return node;
}

/// Cells of an octree over bodies of equal mass.
static int grow_cells(struct cell *cells, int *used, REAL *bodies, int cell, int from, int to, REAL size, int depth) {
  REAL sum[3] = {0, 0, 0}, low[3] = {2, 2, 2}, high[3] = {-1, -1, -1};
  for (int b = from; b < to; b++)
    for (int k = 0; k < 3; k++) {
      REAL at = bodies[b * 3 + k];
      sum[k] += at;
      low[k] = at < low[k] ? at : low[k];
      high[k] = at > high[k] ? at : high[k];
    }
  int count = to - from;
  cells[cell] = (struct cell){sum[0] / (REAL)count, sum[1] / (REAL)count, sum[2] / (REAL)count, (REAL)count / BODIES,
                              size * size * 4, 0, 0};
  if (count <= 1 || depth > 20)
    return cell;
  // Three partitions by the middle of the cell give eight parts.
  int bounds[9] = {from, 0, 0, 0, to, 0, 0, 0, to};
  bounds[8] = to;
  int step = 8;
  bounds[0] = from;
  for (int k = 0; k < 3; k++, step /= 2) {
    REAL middle = (low[k] + high[k]) / 2;
    for (int part = 0; part < 8; part += step) {
      int at = bounds[part];
      for (int b = bounds[part]; b < bounds[part + step]; b++)
        if (bodies[b * 3 + k] <= middle) {
          for (int c = 0; c < 3; c++) {
            REAL other = bodies[at * 3 + c];
            bodies[at * 3 + c] = bodies[b * 3 + c];
            bodies[b * 3 + c] = other;
          }
          at++;
        }
      bounds[part + step / 2] = at;
    }
  }
  int first = *used, children = 0;
  for (int part = 0; part < 8; part++)
    children += bounds[part + 1] > bounds[part];
  *used += children;
  cells[cell].child = first;
  cells[cell].children = children;
  for (int part = 0; part < 8; part++)
    if (bounds[part + 1] > bounds[part])
      grow_cells(cells, used, bodies, first++, bounds[part], bounds[part + 1], size / 2, depth + 1);
  return cell;
}

struct request {
  int finder;
  struct search search;
};

static void run(void *of, int way) {
  struct request *request = of;
  request->search.out = out[way];
  ways[way][request->finder].run(&request->search);
}

static double off(void *of, int way) {
  const struct request *request = of;
  double worst = 0;
  for (int i = 0; i < request->search.count; i++) {
    double far = fabs((double)(out[way][i] - out[0][i])) / (1 + fabs((double)out[0][i]));
    if (!(far <= worst))
      worst = far;
  }
  return worst;
}

static void measure(const char *finder, const char *rest, struct search search) {
  struct request request = {-1, search};
  for (int k = 0; k < SEARCHES; k++)
    if (!strcmp(ways[0][k].name, finder))
      request.finder = k;
  char name[64];
  snprintf(name, sizeof name, "%s %s%s", finder, sizeof(REAL) == 4 ? "f32" : "f64", rest);
  alternate((struct turn){name, WAY_COUNT, run, off, &request, ROUNDS});
}

/// Coordinates from 0 to 1: anywhere, or near some middles.
static REAL *scatter(int count, int is_clustered) {
  REAL *points = room(count * dims, sizeof *points), middles[16][MOST];
  for (int c = 0; c < 16; c++)
    for (int k = 0; k < dims; k++)
      middles[c][k] = unit();
  for (int p = 0; p < count; p++)
    for (int k = 0; k < dims; k++) {
      REAL near = (unit() + unit() + unit() - (REAL)1.5) * (REAL)0.05;
      points[p * dims + k] = is_clustered ? middles[p % 16][k] + near : unit();
    }
  return points;
}

static void measure_points(int is_clustered) {
  int count = dims == 2 ? 1 << 14 : 1 << 12;
  REAL *points = scatter(count, is_clustered), *leaves = room(count * dims, sizeof *leaves);
  int *order = room(count, sizeof *order);
  struct made made = {room(2 * count, sizeof *made.branches), room(2 * count * 2 * dims, sizeof *made.boxes),
                      room(count, sizeof *made.rings), 0};
  for (int p = 0; p < count; p++)
    order[p] = p;
  sort_points = points;
  grow_boxes(&made, order, 0, count);
  for (int p = 0; p < count; p++)
    memcpy(&leaves[p * dims], &points[order[p] * dims], sizeof(REAL) * (size_t)dims);
  for (int p = count - 1; p > 0; p--) {
    int other = (int)(draw() >> 8) % (p + 1), point = order[p];
    order[p] = order[other];
    order[other] = point;
  }
  made.used = 0;
  grow_rings(&made, order, 0, count);
  REAL *queries = room(MEANS * dims, sizeof *queries), radii[QUERIES], centers[CLUSTERS * MOST];
  double diameter = sqrt(dims);
  const char *data = is_clustered ? "clustered" : "random";
  for (int spread = 1; spread <= SPREADS; spread++) {
    REAL size = (REAL)spread / SPREADS, corner[MOST];
    for (int k = 0; k < dims; k++)
      corner[k] = unit() * (1 - size);
    for (int i = 0; i < QUERIES; i++) {
      for (int k = 0; k < dims; k++)
        queries[i * dims + k] = corner[k] + size * unit();
      radii[i] = (REAL)(unit() * size * (REAL)diameter);
    }
    struct search search = {.count = QUERIES, .queries = queries, .radii = radii, .points = leaves,
                            .radius = (REAL)((1 - (double)size) * diameter), .branches = made.branches, .boxes = made.boxes};
    char rest[32], name[16];
    snprintf(rest, sizeof rest, " %s, spread %.1f", data, (double)size);
    snprintf(name, sizeof name, "kd %dD", dims);
    measure(name, rest, search);
    snprintf(name, sizeof name, "mpc %dD", dims);
    measure(name, rest, search);
    snprintf(name, sizeof name, "pc %dD", dims);
    // All of them have a radius of 0 at the end, and no work.
    if (spread < SPREADS)
      measure(name, rest, search);
    search.points = points;
    search.rings = made.rings;
    snprintf(name, sizeof name, "vp %dD", dims);
    measure(name, rest, search);
  }
  for (int c = 0; c < CLUSTERS * dims; c++)
    centers[c] = unit();
  for (int i = 0; i < MEANS * dims; i++)
    queries[i] = points[i];
  char name[16], rest[32];
  snprintf(name, sizeof name, "km %dD", dims);
  snprintf(rest, sizeof rest, " %s", data);
  measure(name, rest, (struct search){.count = MEANS, .queries = queries, .centers = centers});
}

static int by_size(const void *one, const void *other) {
  REAL a = *(const REAL *)one, b = *(const REAL *)other;
  return (a > b) - (a < b);
}

static void measure_bodies(void) {
  REAL *bodies = room(BODIES * 3, sizeof *bodies);
  struct cell *cells = room(BODIES * 4, sizeof *cells);
  for (int b = 0; b < BODIES * 3; b++)
    bodies[b] = unit();
  int used = 1;
  grow_cells(cells, &used, bodies, 0, 0, BODIES, 1, 0);
  measure("bh", " random", (struct search){.count = 1024, .queries = bodies, .cells = cells});
}

static void measure_places(void) {
  REAL *sorted = room(SORTED, sizeof *sorted), *queries = room(PLACES, sizeof *queries);
  for (int i = 0; i < SORTED; i++)
    sorted[i] = unit();
  qsort(sorted, SORTED, sizeof *sorted, by_size);
  for (int i = 0; i < PLACES; i++)
    queries[i] = i & 1 ? sorted[draw() % SORTED] : unit();
  struct search search = {.count = PLACES, .queries = queries, .sorted = sorted, .sorted_count = SORTED};
  measure("xs", " random", search);
  qsort(queries, PLACES, sizeof *queries, by_size);
  measure("bt", " sorted", search);
}

void JOIN(measure_searches, REAL)(void) {
  for (int nine = 0; nine < 2; nine++)
    for (int is_clustered = 0; is_clustered < 2; is_clustered++) {
      dims = nine ? 9 : 2;
      measure_points(is_clustered);
    }
  measure_bodies();
  measure_places();
}
