// Histogram of 16 million bytes.
#include "kit.h"

enum { LENGTH = 16 << 20, BINS = 256 };
static struct array data, bins;

static void prepare(void) {
  data = new_array(LENGTH);
  bins = new_array(BINS * sizeof(uint32_t));
  // Few values are frequent, as in pictures.
  for (int i = 0; i < LENGTH; i++)
    BYTES(data)[i] = (uint8_t)(((next_random() >> 8) % 256 + (next_random() >> 8) % 256) / 2);
  exact_output(bins);
}

static void openmp(void) {
  const uint8_t *from = BYTES(data);
  uint32_t counts[BINS] = {0};
#pragma omp parallel for reduction(+ : counts)
  for (int i = 0; i < LENGTH; i++)
    counts[from[i]]++;
  for (int i = 0; i < BINS; i++)
    WORDS(bins)[i] = counts[i];
}

static void cuda(void) {
  int count = LENGTH;
  NEED(cuMemsetD32(bins.device, 0, BINS));
  LAUNCH("histogram", GRID(240, 256), &data.device, &bins.device, &count);
}

const struct program histogram_program = {"histogram", prepare, openmp, cuda};
