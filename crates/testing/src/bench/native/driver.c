// Times each kernel in a loop that clang compiles, and in lanes that Heddle makes of it, in turn.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Some kernels have several numbers for each element, or look at neighbours.
enum { COUNT = 4096, ROUNDS = 21, ALL = 4 * COUNT };

typedef void Kernel(long, const float *, const float *, float *, int);

#define SEVERAL(name) extern Kernel name##_loop, name##_scalar, name##_wide;
#include "kernels.list"
#undef SEVERAL

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static float a[ALL], b[ALL], table[COUNT], expected[ALL], found[ALL];

static void measure(const char *name, Kernel *scalar, Kernel *loop, Kernel *wide, int n, const float *second) {
  double times[3][ROUNDS];
  for (int i = 0; i < ALL; i++) expected[i] = found[i] = -1;
  int repeat = 1;
  for (int round = -1; round < ROUNDS; round++) {
    for (int who = 0; who < 3; who++) {
      double start = seconds();
      for (int r = 0; r < repeat; r++) {
        if (who == 0) scalar(COUNT, a, second, expected, n);
        else if (who == 1) loop(COUNT, a, second, expected, n);
        else for (long i = 0; i < COUNT; i += LANES) wide(i, a, second, found, n);
      }
      double took = seconds() - start;
      if (round >= 0) times[who][round] = took / repeat;
      else if (who == 0) {
        repeat = (int)(2e-3 / (took + 1e-9));
        if (repeat < 1) repeat = 1;
      }
    }
  }
  int wrong = 0;
  for (int i = 0; i < ALL; i++)
    if (!(fabsf(expected[i] - found[i]) <= 1e-3f * (1 + fabsf(expected[i])))) wrong += !(isnan(expected[i]) && isnan(found[i]));
  for (int who = 0; who < 3; who++) qsort(times[who], ROUNDS, sizeof(double), by_value);
  printf("%s %d %g %g %g %g\n", name, wrong, times[0][ROUNDS / 2], times[1][ROUNDS / 2], times[2][ROUNDS / 2],
         (times[2][3 * ROUNDS / 4] - times[2][ROUNDS / 4]) / times[2][ROUNDS / 2]);
}

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
#define SEVERAL(name) \
  measure(#name, name##_scalar, name##_loop, name##_wide, strcmp(#name, "search") ? 255 : COUNT, \
          strcmp(#name, "search") ? b : table);
#include "kernels.list"
  return 0;
}
