// Times the loops of `./x bench loops`: the ways to compile them take turns. Prints for each kernel its name, the seconds of
// each way's runs, and how far a way is from the first one.
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 4096, ROUNDS = 25 };

#define WAYS(apply) apply(scalar) apply(clang) apply(heddle)
#define DECLARE(way) extern const struct kernel kernels_##way[KERNELS];
WAYS(DECLARE)
#define TABLE(way) kernels_##way,
static const struct kernel *const ways[] = {WAYS(TABLE)};
enum { WAY_COUNT = sizeof ways / sizeof *ways };

static float out[WAY_COUNT][COUNT + 16], a[COUNT + 16], b[COUNT + 16];
static int place[COUNT + 16];
static struct node nodes[COUNT];

static unsigned drawn = 12345;
static unsigned draw(void) { return drawn = drawn * 1664525 + 1013904223; }

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void plant(int count) {
  nodes[0] = (struct node){a[0], -1, -1, 0};
  for (int next = 1; next < count; next++) {
    nodes[next] = (struct node){a[next], -1, -1, 0};
    for (int at = 0;;) {
      int *side = a[next] < nodes[at].key ? &nodes[at].left : &nodes[at].right;
      if (*side < 0) {
        *side = next;
        break;
      }
      at = *side;
    }
  }
}

int main(void) {
  for (int i = 0; i < COUNT; i++) {
    a[i] = (float)(draw() >> 8) / 16777216;
    b[i] = (float)(draw() >> 8) / 16777216;
    place[i] = (int)(draw() >> 20);
  }
  plant(COUNT / 8);
  for (int kernel = 0; kernel < KERNELS; kernel++) {
    double worst[WAY_COUNT] = {0};
    unsigned repeats = 1;
    for (int way = 0; way < WAY_COUNT; way++) {
      struct data data = {COUNT, 1.5f, out[way], a, b, place, nodes};
      memset(out[way], 0, sizeof out[way]);
      ways[way][kernel].run(&data);
      for (int i = 0; i < COUNT; i++) {
        double off = fabs((double)out[way][i] - out[0][i]) / (1 + fabs((double)out[0][i]));
        if (!(off <= worst[way]))
          worst[way] = off;
      }
    }
    for (;; repeats *= 2) {
      struct data data = {COUNT, 1.5f, out[0], a, b, place, nodes};
      double start = seconds();
      for (unsigned again = 0; again < repeats; again++)
        ways[0][kernel].run(&data);
      if (seconds() - start > 0.004)
        break;
    }
    printf("%s", ways[0][kernel].name);
    for (int way = 0; way < WAY_COUNT; way++)
      printf(";%g", worst[way]);
    for (int round = 0; round < ROUNDS; round++)
      for (int way = 0; way < WAY_COUNT; way++) {
        struct data data = {COUNT, 1.5f, out[way], a, b, place, nodes};
        double start = seconds();
        for (unsigned again = 0; again < repeats; again++)
          ways[way][kernel].run(&data);
        printf(";%g", seconds() - start);
      }
    printf("\n");
    fflush(stdout);
  }
}
