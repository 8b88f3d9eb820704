// Times the loops of `./x bench loops`: the ways to compile them take turns. Prints for each kernel its name, the seconds of
// each way's runs, and how far a way is from the first one.
#include "kernels.h"
#include "ways.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, ROUNDS = 25 };

#define DECLARE(way) extern const struct kernel kernels_##way[KERNELS], programs_##way[PROGRAMS];
WAYS(DECLARE)
#define KERNELS_OF(way) kernels_##way,
#define PROGRAMS_OF(way) programs_##way,
static const struct kernel *const kernels[] = {WAYS(KERNELS_OF)}, *const programs[] = {WAYS(PROGRAMS_OF)};

void measure_searches_float(void);
void measure_searches_double(void);

static float out[WAY_COUNT][COUNT + 16], a[COUNT + 16], b[COUNT + 16];
static int place[COUNT + 16];
static float sorted[COUNT + 16], close[COUNT + 16];

static int by_size(const void *one, const void *other) {
  float a = *(const float *)one, b = *(const float *)other;
  return (a > b) - (a < b);
}

/// A search tree of random keys in the order in which they come.
static struct tree plant(int count) {
  struct node *nodes = room(count, sizeof *nodes);
  for (int next = 0; next < count; next++) {
    float key = (float)(draw() >> 8) / 16777216;
    nodes[next] = (struct node){key, -1, -1, 0};
    for (int at = 0; at != next;) {
      int *side = key < nodes[at].key ? &nodes[at].left : &nodes[at].right;
      if (*side < 0)
        *side = next;
      at = *side;
    }
  }
  float *keys = room(count, sizeof *keys);
  int *lefts = room(count, sizeof *lefts), *rights = room(count, sizeof *rights);
  for (int at = 0; at < count; at++) {
    keys[at] = nodes[at].key;
    lefts[at] = nodes[at].left;
    rights[at] = nodes[at].right;
  }
  return (struct tree){nodes, keys, lefts, rights, 4.0f / (float)count};
}

/// What a kernel works on: the first-level cache, the second, what is behind.
static const struct {
  const char *name;
  int nodes;
} sizes[] = {{"L1", 512}, {"L2", 1 << 14}, {"memory", 1 << 20}};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct asked {
  const struct kernel *const *ways;
  int kernel;
  struct data data;
};

static void run(void *of, int way) {
  struct asked *asked = of;
  asked->data.out = out[way];
  asked->ways[way][asked->kernel].run(&asked->data);
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
  struct asked asked = {ways, kernel, data};
  char name[64];
  snprintf(name, sizeof name, "%s%s", ways[0][kernel].name, rest);
  memset(out, 0, sizeof out);
  take_turns((struct turn){name, run, off, &asked, ROUNDS});
}

static void measure(int kernel, const char *rest, struct data data) { measure_of(kernels, kernel, rest, data); }

int main(void) {
  for (int i = 0; i < COUNT; i++) {
    sorted[i] = a[i] = (float)(draw() >> 8) / 16777216;
    b[i] = (float)(draw() >> 8) / 16777216;
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
