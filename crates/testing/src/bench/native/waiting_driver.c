// Times the vector code of each kernel in its forms, in turn, and holds what they compute against scalar code.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 4096, ROUNDS = 21, MOST = 8 };

typedef void Kernel(long, const float *, const float *, float *, int);
typedef struct {
  Kernel *call;
  int lanes;
} Form;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static float a[COUNT], b[COUNT], expected[COUNT], found[COUNT];

static void all_of(const Form *form) {
  for (long i = 0; i < COUNT; i += form->lanes) form->call(i, a, b, found, 255);
}

static void measure(const char *name, Kernel *scalar, const Form *forms, int count) {
  static double times[MOST][ROUNDS];
  int wrong = 0, repeat = 1;
  for (long i = 0; i < COUNT; i++) scalar(i, a, b, expected, 255);
  for (int who = 0; who < count; who++) {
    for (int i = 0; i < COUNT; i++) found[i] = -1;
    all_of(&forms[who]);
    for (int i = 0; i < COUNT; i++) wrong += !(fabsf(expected[i] - found[i]) <= 1e-3f * (1 + fabsf(expected[i])));
  }
  for (int round = -1; round < ROUNDS; round++) {
    for (int who = 0; who < count; who++) {
      double start = seconds();
      for (int r = 0; r < repeat; r++) all_of(&forms[who]);
      double took = seconds() - start;
      if (round >= 0) times[who][round] = took / repeat;
      else if (who == 0) repeat = took > 1e-3 ? 1 : (int)(1e-3 / (took + 1e-9));
    }
  }
  printf("%s %d", name, wrong);
  for (int who = 0; who < count; who++) {
    qsort(times[who], ROUNDS, sizeof(double), by_value);
    printf(" %g", times[who][ROUNDS / 2]);
  }
  puts("");
}

#include "forms.h"

int main(void) {
  srand(7);
  for (int i = 0; i < COUNT; i++) {
    a[i] = (float)(i % 64) / 64.0f;
    b[i] = (float)(i / 64) / 64.0f;
  }
  MEASURE_ALL
  return 0;
}
