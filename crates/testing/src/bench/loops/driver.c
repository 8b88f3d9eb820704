// Times the loops of `./x bench loops`: the ways to compile them take turns. Prints for each kernel its name, the seconds of
// each way's runs, and how far a way is from the first one.
#define PLANTS_TREES
#include "../../../../../include/heddle.h"
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 4096, ROUNDS = 25 };

#define WAYS(apply) apply(scalar) apply(clang) apply(gcc) apply(heddle)
#define DECLARE(way) extern const struct kernel kernels_##way[KERNELS];
WAYS(DECLARE)
#define TABLE(way) kernels_##way,
static const struct kernel *const ways[] = {WAYS(TABLE)};
enum { WAY_COUNT = sizeof ways / sizeof *ways };

static float out[WAY_COUNT][COUNT + 16], a[COUNT + 16], b[COUNT + 16];
static int place[COUNT + 16];
static float sorted[COUNT + 16], close[COUNT + 16];

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Times one kernel on one set of data, and prints its line.
static void measure(int kernel, const char *name, struct data data) {
  double worst[WAY_COUNT] = {0};
  unsigned repeats = 1;
  for (int way = 0; way < WAY_COUNT; way++) {
    data.out = out[way];
    memset(out[way], 0, sizeof out[way]);
    ways[way][kernel].run(&data);
    for (int i = 0; i < COUNT; i++) {
      double off = fabs((double)out[way][i] - out[0][i]) / (1 + fabs((double)out[0][i]));
      if (!(off <= worst[way]))
        worst[way] = off;
    }
  }
  data.out = out[0];
  for (;; repeats *= 2) {
    double start = seconds();
    for (unsigned again = 0; again < repeats; again++)
      ways[0][kernel].run(&data);
    if (seconds() - start > 0.004)
      break;
  }
  printf("%s%s", ways[0][kernel].name, name);
  for (int way = 0; way < WAY_COUNT; way++)
    printf(";%g", worst[way]);
  for (int round = 0; round < ROUNDS; round++)
    for (int way = 0; way < WAY_COUNT; way++) {
      data.out = out[way];
      double start = seconds();
      for (unsigned again = 0; again < repeats; again++)
        ways[way][kernel].run(&data);
      printf(";%g", seconds() - start);
    }
  printf("\n");
  fflush(stdout);
}

int main(void) {
  for (int i = 0; i < COUNT; i++) {
    sorted[i] = a[i] = draw_float();
    b[i] = draw_float();
    place[i] = (int)(draw() >> 20);
  }
  qsort(sorted, COUNT, sizeof *sorted, by_size);
  struct data data = {COUNT, 1.5f, NULL, a, b, place, {0}};
  for (int kernel = 0; kernel < FIRST_OF_TREES; kernel++)
    measure(kernel, "", data);
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
