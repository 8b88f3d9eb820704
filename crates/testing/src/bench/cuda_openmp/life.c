// Eight generations of Conway's game of life on a torus of 2048 x 2048 cells.
#include "kit.h"

enum { WIDTH = 2048, HEIGHT = 2048, GENERATIONS = 8 };
static struct array start, boards[2];

static void prepare(void) {
  start = new_array(WIDTH * HEIGHT);
  boards[0] = new_array(WIDTH * HEIGHT);
  boards[1] = new_array(WIDTH * HEIGHT);
  for (int i = 0; i < WIDTH * HEIGHT; i++)
    BYTES(start)[i] = next_random() >> 8 & 1;
  exact_output(boards[(GENERATIONS - 1) % 2]);
}

static inline uint8_t next_cell(uint8_t own, uint8_t around) { return (around == 3) | ((around == 2) & own); }

static void generation(const uint8_t *restrict in, uint8_t *restrict out) {
#pragma omp parallel for
  for (int y = 0; y < HEIGHT; y++) {
    const uint8_t *row = in + y * WIDTH, *above = in + (y + HEIGHT - 1) % HEIGHT * WIDTH, *below = in + (y + 1) % HEIGHT * WIDTH;
    uint8_t *to = out + y * WIDTH;
#pragma omp simd
    for (int x = 1; x < WIDTH - 1; x++)
      to[x] = next_cell(row[x], above[x - 1] + above[x] + above[x + 1] + row[x - 1] + row[x + 1] + below[x - 1] + below[x] + below[x + 1]);
    for (int x = 0; x < WIDTH; x += WIDTH - 1) {
      int left = (x + WIDTH - 1) % WIDTH, right = (x + 1) % WIDTH;
      to[x] = next_cell(row[x], above[left] + above[x] + above[right] + row[left] + row[right] + below[left] + below[x] + below[right]);
    }
  }
}

static void openmp(void) {
  for (int i = 0; i < GENERATIONS; i++)
    generation(BYTES(i == 0 ? start : boards[(i - 1) % 2]), BYTES(boards[i % 2]));
}

static void cuda(void) {
  int width = WIDTH, height = HEIGHT;
  struct grid grid = GRID_2D(WIDTH / 16, HEIGHT / 16, 16, 16);
  for (int i = 0; i < GENERATIONS; i++)
    LAUNCH("life", grid, i == 0 ? &start.device : &boards[(i - 1) % 2].device, &boards[i % 2].device, &width, &height);
}

const struct program life_program = {"life", prepare, openmp, cuda};
