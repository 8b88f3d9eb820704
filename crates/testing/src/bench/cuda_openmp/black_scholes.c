// Prices of a million European options by the formula of Black and Scholes.
#include "kit.h"
#include <math.h>

enum { COUNT = 1 << 20 };
static const float RATE = 0.02f, VOLATILITY = 0.3f;
static struct array prices, strikes, years, calls, puts;

static void prepare(void) {
  const size_t bytes = COUNT * sizeof(float);
  prices = new_array(bytes);
  strikes = new_array(bytes);
  years = new_array(bytes);
  calls = new_array(bytes);
  puts = new_array(bytes);
  fill_floats(prices, 5, 30);
  fill_floats(strikes, 1, 100);
  fill_floats(years, 0.25f, 10);
  float_output(calls, 10);
  float_output(puts, 10);
}

static inline float normal(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * expf(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

static void openmp(void) {
  const float *price = FLOATS(prices), *strike = FLOATS(strikes), *time = FLOATS(years);
  float *call = FLOATS(calls), *put = FLOATS(puts);
#pragma omp parallel for simd
  for (int i = 0; i < COUNT; i++) {
    float s = price[i], k = strike[i], t = time[i], root = sqrtf(t);
    float d1 = (logf(s / k) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root), d2 = d1 - VOLATILITY * root;
    float discounted = k * expf(-RATE * t), first = normal(d1), second = normal(d2);
    call[i] = s * first - discounted * second;
    put[i] = discounted * (1.0f - second) - s * (1.0f - first);
  }
}

static void cuda(void) {
  int count = COUNT;
  float rate = RATE, volatility = VOLATILITY;
  LAUNCH("prices", GRID(COUNT / 256, 256), &prices.device, &strikes.device, &years.device, &calls.device, &puts.device, &rate,
         &volatility, &count);
}

const struct program black_scholes_program = {"black_scholes", prepare, openmp, cuda};
