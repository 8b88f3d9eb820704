// Finds a pattern of 16 letters in a text of 8 million, of an alphabet of four, as in genomes.
#include "kit.h"
#include <string.h>

enum { LENGTH = 8 << 20, SIZE = 16 };
static struct array text, pattern, found;

static void prepare(void) {
  text = new_array(LENGTH);
  pattern = new_array(SIZE);
  found = new_array(2 * sizeof(uint32_t));
  for (int i = 0; i < LENGTH; i++)
    BYTES(text)[i] = "ACGT"[next_random() >> 8 & 3];
  for (int i = 0; i < SIZE; i++)
    BYTES(pattern)[i] = "ACGT"[next_random() >> 8 & 3];
  for (int i = 0; i < 2000; i++)
    memcpy(BYTES(text) + next_random() % (LENGTH - SIZE), pattern.host, SIZE);
  exact_output(found);
}

static void openmp(void) {
  const char *from = text.host, *wanted = pattern.host;
  uint32_t count = 0, sum = 0;
#pragma omp parallel for reduction(+ : count, sum)
  for (int at = 0; at <= LENGTH - SIZE; at++)
    if (from[at] == wanted[0] && !memcmp(from + at, wanted, SIZE)) {
      count++;
      sum += (uint32_t)at;
    }
  WORDS(found)[0] = count;
  WORDS(found)[1] = sum;
}

static void cuda(void) {
  int length = LENGTH, size = SIZE;
  NEED(cuMemsetD32(found.device, 0, 2));
  LAUNCH("match", GRID(LENGTH / 256, 256), &text.device, &length, &pattern.device, &size, &found.device);
}

const struct program match_program = {"match", prepare, openmp, cuda};
