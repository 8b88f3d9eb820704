// Times each kernel in a loop that clang compiles, and in lanes that Heddle makes of it, in turn. A line for each: its name, wrong
// numbers, seconds of scalar code, of clang's loop, of lanes, of code by hand (0: there is none), and the spread of lanes.
#define PLANTS_TREES
#include "heddle.h"
#include "trees.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// Some kernels have several numbers for each element, or look at neighbours.
enum { COUNT = 4096, ROUNDS = 21, ALL = 4 * COUNT, FORMS = 4 };

typedef void Kernel(long, const float *, const float *, float *, int);

#define SEVERAL(name, lanes) extern Kernel name##_loop, name##_scalar, name##_wide;
#include "kernels.list"
#undef SEVERAL
extern Kernel mandelbrot_by_hand;
extern const int by_hand_lanes;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static float a[ALL], b[ALL], table[COUNT], sorted[COUNT], close[COUNT], expected[ALL], found[ALL];

struct forms {
  const char *name;
  /// Loops over all elements, and functions for some of them at once.
  Kernel *scalar, *loop, *wide, *by_hand;
  int lanes, by_hand_lanes;
};

static void measure(const struct forms *forms, const char *of, int n, const float *first, const float *second) {
  double times[FORMS][ROUNDS];
  int wrong = 0, repeat = 1, count = forms->by_hand ? FORMS : FORMS - 1;
  for (int i = 0; i < ALL; i++) expected[i] = found[i] = -1;
  for (int round = -1; round < ROUNDS; round++) {
    for (int form = 0; form < count; form++) {
      float *to = form < 2 ? expected : found;
      double start = seconds();
      for (int r = 0; r < repeat; r++) {
        if (form == 0) forms->scalar(COUNT, first, second, to, n);
        else if (form == 1) forms->loop(COUNT, first, second, to, n);
        else {
          Kernel *call = form == 2 ? forms->wide : forms->by_hand;
          int lanes = form == 2 ? forms->lanes : forms->by_hand_lanes;
          for (long i = 0; i < COUNT; i += lanes) call(i, first, second, to, n);
        }
      }
      double took = seconds() - start;
      if (round >= 0) times[form][round] = took / repeat;
      else if (form == 0) {
        repeat = (int)(2e-3 / (took + 1e-9));
        if (repeat < 1) repeat = 1;
      }
      if (round >= 0 || form < 2) continue;
      for (int i = 0; i < ALL; i++)
        if (!(fabsf(expected[i] - found[i]) <= 1e-3f * (1 + fabsf(expected[i])))) wrong += !(isnan(expected[i]) && isnan(found[i]));
    }
  }
  for (int form = 0; form < count; form++) qsort(times[form], ROUNDS, sizeof(double), by_value);
  double *lanes = times[2];
  printf("%s%s %d %g %g %g %g %g\n", forms->name, of, wrong, times[0][ROUNDS / 2], times[1][ROUNDS / 2], lanes[ROUNDS / 2],
         count == FORMS ? times[3][ROUNDS / 2] : 0, (lanes[3 * ROUNDS / 4] - lanes[ROUNDS / 4]) / lanes[ROUNDS / 2]);
  fflush(stdout);
}

static int is(const struct forms *forms, const char *name) { return !strcmp(forms->name, name); }

int main(void) {
  srand(7);
  for (int i = 0; i < COUNT; i++) {
    a[i] = (float)(i % 64) / 64.0f;
    b[i] = (float)(i / 64) / 64.0f;
    table[i] = (float)i / COUNT;
  }
  for (int i = 0; i < COUNT; i++) {
    int j = rand() % COUNT;
    float t = a[i];
    a[i] = a[j];
    a[j] = t;
  }
  for (int i = COUNT; i < ALL; i++) {
    a[i] = (float)(i % 97) / 97.0f;
    b[i] = (float)(i % 89) / 89.0f;
  }
#define SEVERAL(name, lanes) {#name, name##_scalar, name##_loop, name##_wide, NULL, lanes, 0},
  struct forms all[] = {
#include "kernels.list"
  };
  enum { KERNELS = sizeof all / sizeof *all };
  for (int kernel = 0; kernel < KERNELS - TREES; kernel++) {
    struct forms *forms = &all[kernel];
    if (is(forms, "mandelbrot") && by_hand_lanes) {
      forms->by_hand = mandelbrot_by_hand;
      forms->by_hand_lanes = by_hand_lanes;
    }
    int is_search = is(forms, "search");
    measure(forms, "", is_search ? COUNT : 255, a, is_search ? table : b);
  }
  static float queries[COUNT];
  for (int i = 0; i < COUNT; i++) queries[i] = sorted[i] = (float)draw_unit();
  qsort(sorted, COUNT, sizeof *sorted, by_size);
  for (int size = 0; size < SIZES; size++) {
    struct tree tree = plant(sizes[size].nodes);
    // Neighbours of so many queries overlap: lanes that share a stack have much in common.
    for (int i = 0; i < COUNT; i++) close[i] = 0.3f + (float)i * tree.near / 16;
    for (int kernel = KERNELS - TREES; kernel < KERNELS; kernel++) {
      static const char *const orders[] = {"random", "sorted", "close"};
      const float *const in_order[] = {queries, sorted, close};
      int shares = is(&all[kernel], "one_stack"), has_columns = is(&all[kernel], "lookup_columns");
      const void *data = has_columns ? (const void *)&tree : tree.nodes;
      for (int order = shares ? 2 : 0; order < (shares ? 3 : 2); order++) {
        char of[64];
        snprintf(of, sizeof of, ",%s,%s", sizes[size].name, orders[order]);
        measure(&all[kernel], of, sizes[size].nodes, in_order[order], (const float *)data);
      }
    }
  }
  return 0;
}
