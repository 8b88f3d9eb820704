// Times functions of vector code in turn, and says what they leave in memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, REPEAT = 2000, CHECKED = 3 };

typedef void Function(unsigned char *, unsigned char *, int64_t);

#define ONE(name) extern Function name __asm__(#name);
#include "functions.list"
#undef ONE

static struct { const char *name; Function *run; double times[ROUNDS]; } all[] = {
#define ONE(name) {#name, name, {0}},
#include "functions.list"
#undef ONE
};
enum { COUNT = sizeof all / sizeof *all };

static _Alignas(4096) unsigned char data[SIZE], other[SIZE];

static void reset(void) {
  static const unsigned char first[] = {
#include "data.list"
  }, second[] = {
#include "other.list"
  };
  memcpy(data, first, SIZE);
  memcpy(other, second, SIZE);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static uint64_t hash(uint64_t h, const unsigned char *bytes) {
  for (int i = 0; i < SIZE; i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

int main(void) {
  uint64_t hashes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    reset();
    all[i].run(data, other, CHECKED);
    hashes[i] = hash(hash(14695981039346656037u, data), other);
  }
  reset();
  for (int round = -1; round < ROUNDS; round++)
    for (int i = 0; i < COUNT; i++) {
      double start = seconds();
      all[i].run(data, other, REPEAT);
      if (round >= 0) all[i].times[round] = seconds() - start;
    }
  for (int i = 0; i < COUNT; i++) {
    qsort(all[i].times, ROUNDS, sizeof(double), by_value);
    printf("%s %llu %g\n", all[i].name, (unsigned long long)hashes[i], all[i].times[ROUNDS / 2] / REPEAT);
  }
  return 0;
}
