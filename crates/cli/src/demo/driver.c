// Says how many points are counted otherwise in lanes, and the microseconds that all of them take one by one and in lanes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 256, HEIGHT = 32, MOST = 200, ROUNDS = 15 };

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int Ints __attribute__((vector_size(4 * LANES)));

extern int mandelbrot(float, float, int);
extern Ints wide(Floats, float, int) __asm__(WIDE);

static int expected[WIDTH * HEIGHT], found[WIDTH * HEIGHT];

static float x_of(int column) { return 3.0f * column / WIDTH - 2.0f; }
static float y_of(int row) { return 2.5f * row / HEIGHT - 1.25f; }

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  double times[2][ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    double start = seconds();
    for (int row = 0; row < HEIGHT; row++)
      for (int column = 0; column < WIDTH; column++)
        expected[row * WIDTH + column] = mandelbrot(x_of(column), y_of(row), MOST);
    double middle = seconds();
    for (int row = 0; row < HEIGHT; row++)
      for (int column = 0; column < WIDTH; column += LANES) {
        Floats x;
        for (int lane = 0; lane < LANES; lane++) x[lane] = x_of(column + lane);
        Ints counts = wide(x, y_of(row), MOST);
        memcpy(&found[row * WIDTH + column], &counts, sizeof counts);
      }
    times[0][round] = middle - start;
    times[1][round] = seconds() - middle;
  }
  int wrong = 0;
  for (int i = 0; i < WIDTH * HEIGHT; i++) wrong += expected[i] != found[i];
  for (int who = 0; who < 2; who++) qsort(times[who], ROUNDS, sizeof(double), by_value);
  printf("%d %g %g\n", wrong, times[0][ROUNDS / 2] * 1e6, times[1][ROUNDS / 2] * 1e6);
  return 0;
}
