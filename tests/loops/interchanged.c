// Nests whose outer loops walk along rows of memory: levels change places where they can.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 23, COLUMNS = 45, LAYERS = 7, CELLS = ROWS * COLUMNS * LAYERS };
static int in[CELLS], out[CELLS];
static unsigned hash;

static void eat(void) {
  for (int at = 0; at < CELLS; at++)
    hash = hash * 31 + (unsigned)out[at], out[at] = 0;
}

#define LEVEL _Pragma("clang loop vectorize(assume_safety)")
#define NEST __attribute__((noinline)) static void

/// Counters that begin elsewhere, go down and by twos.
NEST steps(int *restrict to, const int *restrict from, long rows, long columns) {
  LEVEL
  for (long x = columns - 1; x >= 1; x--)
    LEVEL
    for (long y = 1; y < rows; y += 2)
      to[y * COLUMNS + x] = from[y * COLUMNS + x] * 3 + from[(y - 1) * COLUMNS + x - 1];
}

/// Three levels, the outermost one along rows.
NEST layers(int *restrict to, const int *restrict from, long rows, long columns, long count) {
  LEVEL
  for (long x = 0; x < columns; x++)
    LEVEL
    for (long z = 0; z < count; z++)
      LEVEL
      for (long y = 0; y < rows; y++)
        to[(z * ROWS + y) * COLUMNS + x] = from[(z * ROWS + y) * COLUMNS + x] - from[y * COLUMNS + x];
}

/// Pointers as counters, the inner one beginning at the outer one.
NEST pointers(int *restrict to, const int *restrict from, long rows, long columns) {
  LEVEL
  for (const int *column = from; column < from + columns; column++)
    LEVEL
    for (const int *cell = column; cell < column + rows * COLUMNS; cell += COLUMNS)
      to[cell - from] = *cell ^ 5;
}

/// Branches, and values of the outer level that both sides use.
NEST branches(int *restrict to, const int *restrict from, long rows, long columns) {
  LEVEL
  for (long x = 0; x < columns; x++) {
    long turned = x * x % 7;
    LEVEL
    for (long y = 0; y < rows; y++)
      to[y * COLUMNS + x] = from[y * COLUMNS + x] & 1 ? (int)turned : from[y * COLUMNS + x] > 40 ? (int)x : 1;
  }
}

/// An inner level whose length depends on the outer one, and one that reads memory in between: these stay as they are.
NEST triangle(int *restrict to, const int *restrict from, long rows, long columns) {
  LEVEL
  for (long x = 0; x < columns; x++)
    LEVEL
    for (long y = 0; y < rows && y <= x; y++)
      to[y * COLUMNS + x] = from[y * COLUMNS + x] + 7;
}
NEST scaled(int *restrict to, const int *restrict from, long rows, long columns) {
  LEVEL
  for (long x = 0; x < columns; x++) {
    int scale = from[x];
    LEVEL
    for (long y = 0; y < rows; y++)
      to[y * COLUMNS + x] = from[y * COLUMNS + x] * scale;
  }
}

/// A sum between the levels.
NEST sums(int *restrict to, const int *restrict from, long rows, long columns, long length) {
  LEVEL
  for (long x = 0; x < columns; x++)
    LEVEL
    for (long y = 0; y < rows; y++) {
      int sum = 0;
      for (long k = 0; k < length; k++)
        sum += from[y * COLUMNS + k] * from[k * COLUMNS + x];
      to[y * COLUMNS + x] = sum;
    }
}

int main(void) {
  for (int at = 0; at < CELLS; at++)
    in[at] = at * 37 % 101 - 9;
  for (long rows = 0; rows <= ROWS; rows += 1 + rows / 3)
    for (long columns = 0; columns <= COLUMNS; columns += 1 + columns / 2) {
      steps(out, in, rows, columns), eat();
      layers(out, in, rows, columns, rows % (LAYERS + 1)), eat();
      pointers(out, in, rows, columns), eat();
      branches(out, in, rows, columns), eat();
      triangle(out, in, rows, columns), eat();
      scaled(out, in, rows, columns), eat();
      sums(out, in, rows, columns, rows % 5), eat();
    }
  printf("interchanged %08x\n", hash);
}
