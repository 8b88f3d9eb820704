// Estimates pi by 16384 sequences of 2000 points.
#include "kit.h"

enum { SEQUENCES = 16384, SAMPLES = 2000, GROUP = 64 };
static struct array hits;

static void prepare(void) {
  hits = new_array(sizeof(uint32_t));
  // Coordinates have 12 bits, so that their squares are exact.
  exact_output(hits);
}

static void openmp(void) {
  uint32_t inside = 0;
#pragma omp parallel for reduction(+ : inside)
  for (int group = 0; group < SEQUENCES; group += GROUP) {
    uint32_t states[GROUP];
    for (int i = 0; i < GROUP; i++)
      states[i] = (uint32_t)(group + i + 1);
    for (int sample = 0; sample < SAMPLES; sample++) {
#pragma omp simd reduction(+ : inside)
      for (int i = 0; i < GROUP; i++) {
        uint32_t state = states[i] * 1664525u + 1013904223u;
        float x = (state >> 20) * (1.0f / 4096.0f);
        state = state * 1664525u + 1013904223u;
        float y = (state >> 20) * (1.0f / 4096.0f);
        states[i] = state;
        inside += x * x + y * y < 1.0f;
      }
    }
  }
  WORDS(hits)[0] = inside;
}

static void cuda(void) {
  uint32_t samples = SAMPLES;
  NEED(cuMemsetD32(hits.device, 0, 1));
  LAUNCH("count_hits", GRID(SEQUENCES / 256, 256), &hits.device, &samples);
}

const struct program monte_carlo_program = {"monte_carlo", prepare, openmp, cuda};
