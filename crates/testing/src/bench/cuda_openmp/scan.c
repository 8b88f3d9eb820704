// Inclusive prefix sums of 8 million numbers.
#include "kit.h"
#include <omp.h>

enum { LENGTH = 8 << 20, THREADS = 256 };
static struct array in, out, totals;

static void prepare(void) {
  in = new_array((size_t)LENGTH * sizeof(uint32_t));
  out = new_array((size_t)LENGTH * sizeof(uint32_t));
  totals = new_array(LENGTH / THREADS * sizeof(uint32_t));
  for (int i = 0; i < LENGTH; i++)
    WORDS(in)[i] = next_random() % 1000;
  exact_output(out);
}

// Each thread adds up its part, then scans it from the sum of the parts before it.
static void openmp(void) {
  const uint32_t *from = WORDS(in);
  uint32_t *to = WORDS(out), sums[256] = {0};
#pragma omp parallel
  {
    int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    size_t start = (size_t)LENGTH * thread / threads, end = (size_t)LENGTH * (thread + 1) / threads;
    uint32_t sum = 0;
    // The last part's sum is not needed.
    if (thread + 1 < threads) {
#pragma omp simd reduction(+ : sum)
      for (size_t i = start; i < end; i++)
        sum += from[i];
    }
    sums[thread] = sum;
#pragma omp barrier
    sum = 0;
    for (int i = 0; i < thread; i++)
      sum += sums[i];
    for (size_t i = start; i < end; i++) {
      sum += from[i];
      to[i] = sum;
    }
  }
}

static void cuda(void) {
  int count = LENGTH, blocks = LENGTH / THREADS;
  LAUNCH("scan_blocks", GRID(blocks, THREADS), &in.device, &out.device, &totals.device, &count);
  LAUNCH("scan_totals", GRID(1, 1024), &totals.device, &blocks);
  LAUNCH("add_totals", GRID(blocks, THREADS), &out.device, &totals.device, &count);
}

const struct program scan_program = {"scan", prepare, openmp, cuda};
