// Sorts a million words by four passes of 8 bits.
#include "kit.h"
#include <omp.h>
#include <string.h>

enum { LENGTH = 1 << 20, DIGITS = 256, KEYS_OF_BLOCK = 2048, MOST_THREADS = 256 };
static struct array in, parts[2], table;

static void prepare(void) {
  const size_t bytes = LENGTH * sizeof(uint32_t);
  in = new_array(bytes);
  parts[0] = new_array(bytes);
  parts[1] = new_array(bytes);
  table = new_array(LENGTH / KEYS_OF_BLOCK * DIGITS * sizeof(uint32_t));
  for (int i = 0; i < LENGTH; i++)
    WORDS(in)[i] = next_random() << 1 ^ next_random();
  exact_output(parts[1]);
}

static void pass(const uint32_t *restrict from, uint32_t *restrict to, int shift) {
  static uint32_t counts[MOST_THREADS][DIGITS];
#pragma omp parallel
  {
    int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    size_t start = (size_t)LENGTH * thread / threads, end = (size_t)LENGTH * (thread + 1) / threads;
    uint32_t own[DIGITS] = {0};
    for (size_t i = start; i < end; i++)
      own[from[i] >> shift & 255]++;
    memcpy(counts[thread], own, sizeof own);
#pragma omp barrier
    uint32_t sum = 0;
    for (int digit = 0; digit < DIGITS; digit++)
      for (int other = 0; other < threads; other++) {
        if (other == thread)
          own[digit] = sum;
        sum += counts[other][digit];
      }
    for (size_t i = start; i < end; i++)
      to[own[from[i] >> shift & 255]++] = from[i];
  }
}

static void openmp(void) {
  for (int i = 0; i < 4; i++)
    pass(WORDS(i == 0 ? in : parts[(i - 1) % 2]), WORDS(parts[i % 2]), 8 * i);
}

static void cuda(void) {
  int blocks = LENGTH / KEYS_OF_BLOCK, entries = blocks * DIGITS;
  for (int i = 0; i < 4; i++) {
    int shift = 8 * i;
    CUdeviceptr *from = i == 0 ? &in.device : &parts[(i - 1) % 2].device;
    LAUNCH("count_digits", GRID(blocks, 256), from, &table.device, &shift);
    LAUNCH("scan_table", GRID(1, 1024), &table.device, &entries);
    LAUNCH("move_keys", GRID(blocks, 256), from, &parts[i % 2].device, &table.device, &shift);
  }
}

const struct program radix_sort_program = {"radix_sort", prepare, openmp, cuda};
