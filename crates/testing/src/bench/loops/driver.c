// Times the loops of `./x bench loops`: the compilers alternate. Prints for each kernel its name, the seconds of
// each way's runs, and how far a way is from the first one.
#define PLANTS_TREES
#include "../../../../../include/heddle.h"
#include "kernels.h"
#include "ways.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, ROUNDS = 25 };

#define DECLARE(way) extern const struct kernel kernels_##way[KERNELS], programs_##way[PROGRAMS];
WAYS(DECLARE)
ISPC_WAY(DECLARE)
#define KERNELS_OF(way) kernels_##way,
#define PROGRAMS_OF(way) programs_##way,
static const struct kernel *const kernels[] = {WAYS(KERNELS_OF) ISPC_WAY(KERNELS_OF)};
static const struct kernel *const programs[] = {WAYS(PROGRAMS_OF) ISPC_WAY(PROGRAMS_OF)};
enum { ALL_WAYS = sizeof kernels / sizeof *kernels };

void measure_searches_float(void);
void measure_searches_double(void);

static float out[ALL_WAYS][COUNT + 16], a[COUNT + 16], b[COUNT + 16];
static int place[COUNT + 16];
static float sorted[COUNT + 16], close[COUNT + 16];

struct request {
  const struct kernel *const *ways;
  int kernel;
  struct data data;
};

static void run(void *of, int way) {
  struct request *request = of;
  request->data.out = out[way];
  request->ways[way][request->kernel].run(&request->data);
}

static double off(void *of, int way) {
  (void)of;
  double worst = 0;
  for (int i = 0; i < COUNT; i++) {
    double far = fabs((double)out[way][i] - out[0][i]) / (1 + fabs((double)out[0][i]));
    if (!(far <= worst))
      worst = far;
  }
  return worst;
}

/// Times one kernel on one set of data.
static void measure_of(const struct kernel *const *ways, int kernel, const char *rest, struct data data) {
  struct request request = {ways, kernel, data};
  char name[64];
  snprintf(name, sizeof name, "%s%s", ways[0][kernel].name, rest);
  memset(out, 0, sizeof out);
  alternate((struct turn){name, ALL_WAYS, run, off, &request, ROUNDS});
}

static void measure(int kernel, const char *rest, struct data data) { measure_of(kernels, kernel, rest, data); }

int main(int count, char **arguments) {
  if (count > 1)
    only_loops = arguments[1];
  for (int i = 0; i < COUNT; i++) {
    sorted[i] = a[i] = (float)draw_unit();
    b[i] = (float)draw_unit();
    place[i] = (int)(draw() >> 20);
  }
  qsort(sorted, COUNT, sizeof *sorted, by_size);
  float *density = room(1 << 15, sizeof *density);
  for (int i = 0; i < 1 << 15; i++)
    density[i] = (float)draw_unit();
  struct data data = {COUNT, 1.5f, NULL, a, b, place, density, {0}};
  for (int kernel = 0; kernel < FIRST_OF_TREES; kernel++)
    measure(kernel, "", data);
  struct data in_order = data;
  in_order.a = sorted;
  measure(CASCADE, ", sorted", in_order);
  for (int program = 0; program < PROGRAMS; program++)
    measure_of(programs, program, "", data);
  measure_searches_float();
  measure_searches_double();
  for (int size = 0; size < SIZES; size++) {
    data.tree = plant(sizes[size].nodes);
    // Neighbours of so many queries overlap: lanes that share a stack have much in common.
    for (int i = 0; i < COUNT; i++)
      close[i] = 0.3f + (float)i * data.tree.near / 16;
    for (int order = 0; order < 3; order++) {
      static const char *const orders[] = {"random", "sorted", "close"};
      const float *const queries[] = {a, sorted, close};
      char name[64];
      snprintf(name, sizeof name, ", %s, %s", sizes[size].name, orders[order]);
      data.a = queries[order];
      for (int kernel = order < 2 ? FIRST_OF_TREES : OWN_STACKS; kernel < (order < 2 ? ONE_STACK : KERNELS); kernel++)
        measure(kernel, name, data);
    }
  }
}
