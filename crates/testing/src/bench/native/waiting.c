// What one lane does, in loops whose iterations wait for each other, and that lanes leave one by one.
#include <math.h>

#define KERNEL(name) void name(long i, const float *restrict a, const float *restrict b, float *restrict c, int n)

// How long a point stays near.
KERNEL(escape) {
  float x = 0, y = 0, from_x = a[i], from_y = b[i];
  int k = 0;
  while (k < n && x * x + y * y < 4.0f) {
    float next = x * x - y * y + from_x;
    y = 2 * x * y + from_y;
    x = next;
    k++;
  }
  c[i] = (float)k;
}

// A square root by divisions.
KERNEL(by_division) {
  float value = a[i] * 1000.0f + 0.5f, x = value;
  for (int k = 0; k < n; k++) {
    float next = 0.5f * (x + value / x), off = fabsf(next - x);
    x = next;
    if (off < 1e-3f * x) break;
  }
  c[i] = x;
}

// A square root without.
KERNEL(by_product) {
  float value = a[i] + 0.5f, x = 0.5f;
  for (int k = 0; k < n; k++) {
    float next = x * (1.5f - 0.5f * value * x * x), off = next - x;
    x = next;
    if (off * off < 1e-12f) break;
  }
  c[i] = x * value;
}

// How often a logarithm can be taken.
KERNEL(log_star) {
  float x = a[i] * 1e30f + 1.5f;
  int k = 0;
  do {
    k++;
    x = logf(x);
  } while (x > 1.0f);
  c[i] = (float)k;
}

// Integers, and a choice in each iteration.
KERNEL(halve_or_triple) {
  unsigned m = (unsigned)(a[i] * 1000.0f) + 1, steps = 0;
  while (m != 1 && steps < 400) {
    m = m & 1 ? 3 * m + 1 : m >> 1;
    steps++;
  }
  c[i] = (float)steps;
}
