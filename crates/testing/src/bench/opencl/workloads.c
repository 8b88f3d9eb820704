// The workloads: data, launches, and what the host itself finds.
#include "kit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Buffers and copies on the host, as many as a workload wants.
struct own {
  cl_mem buffers[6];
  void *data[6];
  size_t size, other;
};

static struct own *own_of(struct run *run) {
  if (!run->own)
    run->own = fresh(sizeof(struct own));
  return run->own;
}

static size_t choose(struct run *run, size_t small, size_t large) { return run->is_large ? large : small; }

static double off(double found, double expected) {
  return isfinite(found) ? fabs(found - expected) / (1.0 + fabs(expected)) : INFINITY;
}

static float *units(size_t count) {
  float *numbers = fresh(count * sizeof *numbers);
  for (size_t i = 0; i < count; i++)
    numbers[i] = next_unit();
  return numbers;
}

// How far the floats of a buffer are from these, at the most.
static double worst_float(struct run *run, cl_mem buffer, const float *expected, size_t count) {
  float *found = fresh(count * sizeof *found);
  read_out(run, buffer, found, count * sizeof *found);
  double worst = 0.0;
  for (size_t i = 0; i < count; i++)
    worst = fmax(worst, off(found[i], expected[i]));
  free(found);
  return worst;
}

// 0 if the bytes of a buffer are these, 1 otherwise.
static double worst_bytes(struct run *run, cl_mem buffer, const void *expected, size_t size) {
  char *found = fresh(size);
  read_out(run, buffer, found, size);
  int differs = memcmp(found, expected, size) != 0;
  free(found);
  return differs;
}

// --- bitonic sort ---

static void bitonic_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 13, 1 << 19);
  unsigned *keys = own->data[0] = fresh(own->size * 4);
  for (size_t i = 0; i < own->size; i++)
    keys[i] = next_random();
  own->buffers[0] = buffer_of(run, keys, own->size * 4);
  double passes = 0.0;
  for (size_t length = 2; length <= own->size; length *= 2)
    for (size_t distance = length / 2; distance > 0; distance /= 2)
      passes++;
  run->operations = passes * own->size * 2;
  run->bytes = passes * own->size * 8;
}

static void bitonic_restore(struct run *run) {
  struct own *own = run->own;
  write_back(run, own->buffers[0], own->data[0], own->size * 4);
}

static void bitonic_launch(struct run *run) {
  struct own *own = run->own;
  for (size_t length = 2; length <= own->size; length *= 2)
    for (size_t distance = length / 2; distance > 0; distance /= 2) {
      give(run->kernels[0], "mii", own->buffers[0], (int)distance, (int)length);
      go(run, 0, own->size, 0, 256, 0);
    }
}

static int by_size(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return (x > y) - (x < y);
}

static double bitonic_worst(struct run *run) {
  struct own *own = run->own;
  unsigned *sorted = fresh(own->size * 4);
  memcpy(sorted, own->data[0], own->size * 4);
  qsort(sorted, own->size, 4, by_size);
  double worst = worst_bytes(run, own->buffers[0], sorted, own->size * 4);
  free(sorted);
  return worst;
}

// --- Black-Scholes ---

static void black_scholes_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 14, 1 << 21);
  own->data[0] = units(own->size);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * 4);
  own->buffers[1] = buffer_of(run, NULL, own->size * 4);
  own->buffers[2] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mmm", own->buffers[0], own->buffers[1], own->buffers[2]);
  run->operations = own->size * 150.0;
  run->bytes = own->size * 12.0;
}

static void launch_row(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, 0, 256, 0);
}

static double below(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static double black_scholes_worst(struct run *run) {
  struct own *own = run->own;
  const float *random = own->data[0];
  float *call = fresh(own->size * 4), *put = fresh(own->size * 4);
  for (size_t i = 0; i < own->size; i++) {
    double in = random[i], spot = 10 * in + 100 * (1 - in), strike = spot, years = in + 10 * (1 - in);
    double rate = 0.01 * in + 0.05 * (1 - in), sigma = 0.01 * in + 0.1 * (1 - in), root = sigma * sqrt(years);
    double d1 = (rate + sigma * sigma / 2) * years / root, d2 = d1 - root, discounted = strike * exp(-rate * years);
    call[i] = spot * below(d1) - discounted * below(d2);
    put[i] = discounted * below(-d2) - spot * below(-d1);
  }
  // The formula's own approximation of the normal distribution is within 7.5e-8.
  double worst = worst_float(run, own->buffers[1], call, own->size);
  worst = fmax(worst, worst_float(run, own->buffers[2], put, own->size));
  free(call);
  free(put);
  return worst;
}

// --- discrete cosine transform ---

static void dct_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 128, 2048);
  float *basis = own->data[1] = fresh(64 * 4);
  own->data[0] = units(own->size * own->size);
  for (int k = 0; k < 8; k++)
    for (int x = 0; x < 8; x++)
      basis[k * 8 + x] = (k ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * k * 3.14159265358979 / 16);
  own->buffers[0] = buffer_of(run, NULL, own->size * own->size * 4);
  own->buffers[1] = buffer_of(run, own->data[0], own->size * own->size * 4);
  own->buffers[2] = buffer_of(run, basis, 64 * 4);
  give(run->kernels[0], "mmmi", own->buffers[0], own->buffers[1], own->buffers[2], (int)own->size);
  run->operations = own->size * own->size * 32.0;
  run->bytes = own->size * own->size * 8.0;
}

static void dct_launch(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, own->size, 8, 8);
}

static double dct_worst(struct run *run) {
  struct own *own = run->own;
  const float *in = own->data[0], *basis = own->data[1];
  size_t width = own->size;
  float *expected = fresh(width * width * 4);
  for (size_t top = 0; top < width; top += 8)
    for (size_t left = 0; left < width; left += 8) {
      double half_way[64] = {0};
      for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
          for (int k = 0; k < 8; k++)
            half_way[y * 8 + x] += basis[y * 8 + k] * (double)in[(top + k) * width + left + x];
      for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
          double sum = 0.0;
          for (int k = 0; k < 8; k++)
            sum += half_way[y * 8 + k] * basis[x * 8 + k];
          expected[(top + y) * width + left + x] = sum;
        }
    }
  double worst = worst_float(run, own->buffers[0], expected, width * width);
  free(expected);
  return worst;
}

// --- fast Walsh transform ---

static void walsh_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 14, 1 << 22);
  own->data[0] = units(own->size);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * 4);
  double steps = log2((double)own->size);
  run->operations = steps * own->size;
  run->bytes = steps * own->size * 8;
}

static void walsh_restore(struct run *run) {
  struct own *own = run->own;
  write_back(run, own->buffers[0], own->data[0], own->size * 4);
}

static void walsh_launch(struct run *run) {
  struct own *own = run->own;
  for (size_t step = 1; step < own->size; step *= 2) {
    give(run->kernels[0], "mi", own->buffers[0], (int)step);
    go(run, 0, own->size / 2, 0, 256, 0);
  }
}

static double walsh_worst(struct run *run) {
  struct own *own = run->own;
  float *values = fresh(own->size * 4);
  memcpy(values, own->data[0], own->size * 4);
  for (size_t step = 1; step < own->size; step *= 2)
    for (size_t first = 0; first < own->size; first += 2 * step)
      for (size_t i = first; i < first + step; i++) {
        float a = values[i], b = values[i + step];
        values[i] = a + b;
        values[i + step] = a - b;
      }
  double worst = worst_float(run, own->buffers[0], values, own->size);
  free(values);
  return worst;
}

// --- shortest ways ---

static void floyd_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 192, 2048);
  // Of a large graph, the first passes are enough to see how fast they are.
  own->other = choose(run, 192, 8);
  size_t cells = own->size * own->size;
  unsigned *distance = own->data[0] = fresh(cells * 4);
  own->data[1] = fresh(cells * 4);
  for (size_t i = 0; i < cells; i++)
    distance[i] = i % (own->size + 1) ? next_random() % 1000 : 0;
  own->buffers[0] = buffer_of(run, distance, cells * 4);
  own->buffers[1] = buffer_of(run, NULL, cells * 4);
  run->operations = (double)own->other * cells * 2;
  run->bytes = (double)own->other * cells * 12;
}

static void floyd_restore(struct run *run) {
  struct own *own = run->own;
  write_back(run, own->buffers[0], own->data[0], own->size * own->size * 4);
  write_back(run, own->buffers[1], own->data[1], own->size * own->size * 4);
}

static void floyd_launch(struct run *run) {
  struct own *own = run->own;
  for (size_t k = 0; k < own->other; k++) {
    give(run->kernels[0], "mmii", own->buffers[0], own->buffers[1], (int)own->size, (int)k);
    go(run, 0, own->size, own->size, 16, 16);
  }
}

static double floyd_worst(struct run *run) {
  struct own *own = run->own;
  size_t nodes = own->size, bytes = nodes * nodes * 4;
  unsigned *distance = fresh(bytes), *by = fresh(bytes);
  memcpy(distance, own->data[0], bytes);
  for (size_t k = 0; k < own->other; k++)
    for (size_t y = 0; y < nodes; y++)
      for (size_t x = 0; x < nodes; x++) {
        unsigned other = distance[y * nodes + k] + distance[k * nodes + x];
        if (other < distance[y * nodes + x]) {
          distance[y * nodes + x] = other;
          by[y * nodes + x] = k;
        }
      }
  double worst = fmax(worst_bytes(run, own->buffers[0], distance, bytes), worst_bytes(run, own->buffers[1], by, bytes));
  free(distance);
  free(by);
  return worst;
}

// --- histograms ---

static unsigned char *random_bytes(size_t count) {
  unsigned char *bytes = fresh(count);
  for (size_t i = 0; i < count; i++)
    bytes[i] = next_random() & 255;
  return bytes;
}

static double worst_counts(struct run *run, cl_mem buffer, const unsigned char *bytes, size_t count, size_t tables) {
  unsigned *found = fresh(tables * 256 * 4), expected[256] = {0};
  read_out(run, buffer, found, tables * 256 * 4);
  for (size_t table = 1; table < tables; table++)
    for (int i = 0; i < 256; i++)
      found[i] += found[table * 256 + i];
  for (size_t i = 0; i < count; i++)
    expected[bytes[i]]++;
  int differs = memcmp(found, expected, sizeof expected) != 0;
  free(found);
  return differs;
}

static void histogram_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->other = choose(run, 16, 512);
  size_t bytes = own->other * 128 * 255;
  own->size = own->other * 128;
  own->data[0] = random_bytes(bytes);
  own->buffers[0] = buffer_of(run, own->data[0], bytes);
  own->buffers[1] = buffer_of(run, NULL, own->other * 256 * 4);
  give(run->kernels[0], "mlm", own->buffers[0], (size_t)(128 * 256), own->buffers[1]);
  run->operations = (double)bytes * 2;
  run->bytes = (double)bytes;
}

static void histogram_launch(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, 0, 128, 0);
}

static double histogram_worst(struct run *run) {
  struct own *own = run->own;
  return worst_counts(run, own->buffers[1], own->data[0], own->size * 255, own->other);
}

static void histogram_atomic_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->other = choose(run, 1 << 18, 1 << 24);
  own->size = own->other / 64;
  own->data[0] = random_bytes(own->other);
  own->buffers[0] = buffer_of(run, own->data[0], own->other);
  own->buffers[1] = buffer_of(run, NULL, 256 * 4);
  give(run->kernels[0], "mmi", own->buffers[0], own->buffers[1], (int)own->other);
  run->operations = (double)own->other;
  run->bytes = (double)own->other;
}

static void histogram_atomic_restore(struct run *run) {
  struct own *own = run->own;
  const unsigned zeros[256] = {0};
  write_back(run, own->buffers[1], zeros, sizeof zeros);
}

static double histogram_atomic_worst(struct run *run) {
  struct own *own = run->own;
  return worst_counts(run, own->buffers[1], own->data[0], own->other, 1);
}

// --- Mandelbrot ---

static void mandelbrot_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = 256;
  own->buffers[0] = buffer_of(run, NULL, own->size * own->size * 4);
  give(run->kernels[0], "mfffi", own->buffers[0], -2.0, -1.5, 3.0 / own->size, 256);
}

static void mandelbrot_launch(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, own->size, 16, 16);
}

static double mandelbrot_worst(struct run *run) {
  struct own *own = run->own;
  unsigned *found = fresh(own->size * own->size * 4), differ = 0;
  read_out(run, own->buffers[0], found, own->size * own->size * 4);
  float step = 3.0 / own->size;
  double steps = 0.0;
  for (size_t row = 0; row < own->size; row++)
    for (size_t column = 0; column < own->size; column++) {
      float cx = -2.0f + step * column, cy = -1.5f + step * row, x = 0.0f, y = 0.0f;
      unsigned n = 0;
      for (; n < 256 && x * x + y * y <= 4.0f; n++) {
        float new_x = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = new_x;
      }
      steps += n;
      unsigned here = found[row * own->size + column];
      differ += here + here / 16 + 1 < n || n + n / 16 + 1 < here;
    }
  free(found);
  run->operations = steps * 8;
  // At the rim, a product that is not rounded before it is added makes another number of steps.
  return differ > own->size * own->size / 100;
}

// --- matrices ---

static void transpose_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 256, 4096);
  own->data[0] = units(own->size * own->size);
  own->buffers[0] = buffer_of(run, NULL, own->size * own->size * 4);
  own->buffers[1] = buffer_of(run, own->data[0], own->size * own->size * 4);
  give(run->kernels[0], "mmii", own->buffers[0], own->buffers[1], (int)own->size, (int)own->size);
  run->bytes = own->size * own->size * 8.0;
}

static void launch_tiles(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, own->size, 16, 16);
}

static double transpose_worst(struct run *run) {
  struct own *own = run->own;
  const float *in = own->data[0];
  float *expected = fresh(own->size * own->size * 4);
  for (size_t y = 0; y < own->size; y++)
    for (size_t x = 0; x < own->size; x++)
      expected[x * own->size + y] = in[y * own->size + x];
  double worst = worst_bytes(run, own->buffers[0], expected, own->size * own->size * 4);
  free(expected);
  return worst;
}

static void matmul_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 128, 512);
  size_t bytes = own->size * own->size * 4;
  own->data[0] = units(own->size * own->size);
  own->data[1] = units(own->size * own->size);
  own->buffers[0] = buffer_of(run, own->data[0], bytes);
  own->buffers[1] = buffer_of(run, own->data[1], bytes);
  own->buffers[2] = buffer_of(run, NULL, bytes);
  give(run->kernels[0], "mmmi", own->buffers[0], own->buffers[1], own->buffers[2], (int)own->size);
  run->operations = 2.0 * own->size * own->size * own->size;
  run->bytes = 3.0 * bytes;
}

static double matmul_worst(struct run *run) {
  struct own *own = run->own;
  size_t size = own->size;
  const float *a = own->data[0], *b = own->data[1];
  float *expected = fresh(size * size * 4);
  double *sums = fresh(size * sizeof *sums);
  for (size_t y = 0; y < size; y++) {
    memset(sums, 0, size * sizeof *sums);
    for (size_t k = 0; k < size; k++)
      for (size_t x = 0; x < size; x++)
        sums[x] += (double)a[y * size + k] * b[k * size + x];
    for (size_t x = 0; x < size; x++)
      expected[y * size + x] = sums[x];
  }
  double worst = worst_float(run, own->buffers[2], expected, size * size);
  free(expected);
  free(sums);
  return worst;
}

// --- bodies ---

static void nbody_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = 2048;
  own->data[0] = units(own->size * 4);
  own->data[1] = fresh(own->size * 16);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * 16);
  own->buffers[1] = buffer_of(run, NULL, own->size * 16);
  own->buffers[2] = buffer_of(run, NULL, own->size * 16);
  give(run->kernels[0], "mmmiff", own->buffers[0], own->buffers[1], own->buffers[2], (int)own->size, 0.005, 0.05);
  run->operations = 20.0 * own->size * own->size;
}

static void nbody_restore(struct run *run) {
  struct own *own = run->own;
  write_back(run, own->buffers[2], own->data[1], own->size * 16);
}

static double nbody_worst(struct run *run) {
  struct own *own = run->own;
  const float *places = own->data[0];
  float *expected = fresh(own->size * 16);
  for (size_t i = 0; i < own->size; i++) {
    double pull[3] = {0};
    for (size_t j = 0; j < own->size; j++) {
      double d[3], square = 0.05f;
      for (int axis = 0; axis < 3; axis++) {
        d[axis] = (double)places[j * 4 + axis] - places[i * 4 + axis];
        square += d[axis] * d[axis];
      }
      for (int axis = 0; axis < 3; axis++)
        pull[axis] += d[axis] * places[j * 4 + 3] / (square * sqrt(square));
    }
    for (int axis = 0; axis < 3; axis++)
      expected[i * 4 + axis] = pull[axis] * 0.005f;
  }
  double worst = worst_float(run, own->buffers[2], expected, own->size * 4);
  free(expected);
  return worst;
}

// --- search tree ---

static void tree_prepare(struct run *run) {
  struct own *own = own_of(run);
  size_t nodes = choose(run, 1 << 12, 1 << 20);
  own->size = choose(run, 1 << 14, 1 << 17);
  int *keys = own->data[0] = fresh(nodes * 4), *left = own->data[1] = fresh(nodes * 4);
  int *right = own->data[2] = fresh(nodes * 4), *wanted = own->data[3] = fresh(own->size * 4);
  for (size_t i = 0; i < nodes; i++) {
    keys[i] = (int)next_random();
    left[i] = right[i] = -1;
    if (i > 0) {
      int *link, at = 0;
      while (link = keys[i] < keys[at] ? &left[at] : &right[at], *link >= 0)
        at = *link;
      *link = (int)i;
    }
  }
  for (size_t i = 0; i < own->size; i++)
    wanted[i] = i % 2 ? keys[next_random() % nodes] : (int)next_random();
  own->buffers[0] = buffer_of(run, keys, nodes * 4);
  own->buffers[1] = buffer_of(run, left, nodes * 4);
  own->buffers[2] = buffer_of(run, right, nodes * 4);
  own->buffers[3] = buffer_of(run, wanted, own->size * 4);
  own->buffers[4] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mmmmm", own->buffers[0], own->buffers[1], own->buffers[2], own->buffers[3], own->buffers[4]);
}

static double tree_worst(struct run *run) {
  struct own *own = run->own;
  const int *keys = own->data[0], *left = own->data[1], *right = own->data[2], *wanted = own->data[3];
  int *expected = fresh(own->size * 4);
  double steps = 0.0;
  for (size_t i = 0; i < own->size; i++) {
    int at = 0;
    for (; at >= 0 && keys[at] != wanted[i]; steps++)
      at = wanted[i] < keys[at] ? left[at] : right[at];
    expected[i] = at;
  }
  double worst = worst_bytes(run, own->buffers[4], expected, own->size * 4);
  free(expected);
  run->operations = steps * 3;
  run->bytes = steps * 8;
  return worst;
}

// --- cascades of conditions ---

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void cascade_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = 1 << 15;
  own->data[0] = units(own->size);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * 4);
  own->buffers[1] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mm", own->buffers[0], own->buffers[1]);
  run->operations = own->size * 32.0;
  run->bytes = own->size * 8.0;
}

static void cascade_sorted_prepare(struct run *run) {
  cascade_prepare(run);
  struct own *own = run->own;
  qsort(own->data[0], own->size, 4, by_value);
  write_back(run, own->buffers[0], own->data[0], own->size * 4);
}

static double cascade_worst(struct run *run) {
  struct own *own = run->own;
  const float *in = own->data[0];
  float *expected = fresh(own->size * 4);
  for (size_t i = 0; i < own->size; i++) {
    double x = in[i], y = x;
    int arm = (int)(x * 8);
    if (arm == 3)
      y = sqrt(x) + sqrt(y + 1) + sqrt(y + 2);
    else if (arm == 5)
      y = 1 / (1 + x / (2 + x / (3 + x)));
    else
      for (int k = 0; k < 16; k++)
        switch (arm) {
        case 0: y = y * 0.75 + x; break;
        case 1: y = y * (1 - x) + 0.5; break;
        case 2: y = 0.25 - y * y * x; break;
        case 4: y = (y + x) * 0.5 - y * x; break;
        case 6: y = x - y * 0.25; break;
        default: y = y * y - x * 0.5;
        }
    expected[i] = y;
  }
  double worst = worst_float(run, own->buffers[1], expected, own->size);
  free(expected);
  return worst;
}

// --- sparse matrix, and breadth-first search ---

// Rows of edges: 1 to twice the mean for each node. Starts in data 0, ends in data 1.
static void make_rows(struct own *own, size_t nodes, unsigned mean) {
  int *starts = own->data[0] = fresh((nodes + 1) * 4);
  for (size_t i = 0; i < nodes; i++)
    starts[i + 1] = starts[i] + 1 + next_random() % (2 * mean - 1);
  own->other = starts[nodes];
  int *ends = own->data[1] = fresh(own->other * 4);
  for (size_t i = 0; i < own->other; i++)
    ends[i] = next_random() % nodes;
}

static void spmv_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 12, 1 << 18);
  make_rows(own, own->size, 16);
  own->data[2] = units(own->other);
  own->data[3] = units(own->size);
  own->buffers[0] = buffer_of(run, own->data[0], (own->size + 1) * 4);
  own->buffers[1] = buffer_of(run, own->data[1], own->other * 4);
  own->buffers[2] = buffer_of(run, own->data[2], own->other * 4);
  own->buffers[3] = buffer_of(run, own->data[3], own->size * 4);
  own->buffers[4] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mmmmm", own->buffers[0], own->buffers[1], own->buffers[2], own->buffers[3], own->buffers[4]);
  run->operations = own->other * 2.0;
  run->bytes = own->other * 8.0 + own->size * 12.0;
}

static double spmv_worst(struct run *run) {
  struct own *own = run->own;
  const int *starts = own->data[0], *columns = own->data[1];
  const float *values = own->data[2], *in = own->data[3];
  float *expected = fresh(own->size * 4);
  for (size_t row = 0; row < own->size; row++) {
    double sum = 0.0;
    for (int at = starts[row]; at < starts[row + 1]; at++)
      sum += (double)values[at] * in[columns[at]];
    expected[row] = sum;
  }
  double worst = worst_float(run, own->buffers[4], expected, own->size);
  free(expected);
  return worst;
}

static void bfs_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 13, 1 << 18);
  make_rows(own, own->size, 4);
  const int *starts = own->data[0], *ends = own->data[1];
  int *levels = own->data[2] = fresh(own->size * 4), *expected = own->data[3] = fresh(own->size * 4);
  memset(levels, -1, own->size * 4);
  levels[0] = 0;
  memcpy(expected, levels, own->size * 4);
  size_t depth = 0;
  for (int changed = 1; changed; depth++) {
    changed = 0;
    for (size_t node = 0; node < own->size; node++)
      for (int at = starts[node]; expected[node] == (int)depth && at < starts[node + 1]; at++)
        if (expected[ends[at]] < 0) {
          expected[ends[at]] = (int)depth + 1;
          changed = 1;
        }
  }
  own->buffers[0] = buffer_of(run, own->data[0], (own->size + 1) * 4);
  own->buffers[1] = buffer_of(run, own->data[1], own->other * 4);
  own->buffers[2] = buffer_of(run, levels, own->size * 4);
  run->operations = own->other;
  run->bytes = own->other * 8.0 + depth * own->size * 4.0;
  own->other = depth;
}

static void bfs_restore(struct run *run) {
  struct own *own = run->own;
  write_back(run, own->buffers[2], own->data[2], own->size * 4);
}

static void bfs_launch(struct run *run) {
  struct own *own = run->own;
  for (size_t level = 0; level < own->other; level++) {
    give(run->kernels[0], "mmmi", own->buffers[0], own->buffers[1], own->buffers[2], (int)level);
    go(run, 0, own->size, 0, 256, 0);
  }
}

static double bfs_worst(struct run *run) {
  struct own *own = run->own;
  return worst_bytes(run, own->buffers[2], own->data[3], own->size * 4);
}

// --- stencil ---

static void stencil_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 256, 4096);
  own->data[0] = units(own->size * own->size);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * own->size * 4);
  own->buffers[1] = buffer_of(run, NULL, own->size * own->size * 4);
  give(run->kernels[0], "mmii", own->buffers[0], own->buffers[1], (int)own->size, (int)own->size);
  run->operations = own->size * own->size * 5.0;
  run->bytes = own->size * own->size * 8.0;
}

static double stencil_worst(struct run *run) {
  struct own *own = run->own;
  const float *in = own->data[0];
  size_t size = own->size;
  float *expected = fresh(size * size * 4);
  memcpy(expected, in, size * size * 4);
  for (size_t y = 1; y + 1 < size; y++)
    for (size_t x = 1; x + 1 < size; x++) {
      const float *at = in + y * size + x;
      expected[y * size + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-(long)size] + at[size]);
    }
  double worst = worst_float(run, own->buffers[1], expected, size * size);
  free(expected);
  return worst;
}

// --- sums ---

static void reduce_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->other = choose(run, 1 << 16, 1 << 24);
  own->size = own->other / choose(run, 8, 64);
  own->data[0] = units(own->other);
  own->buffers[0] = buffer_of(run, own->data[0], own->other * 4);
  own->buffers[1] = buffer_of(run, NULL, own->size / 256 * 4);
  give(run->kernels[0], "mmi", own->buffers[0], own->buffers[1], (int)own->other);
  run->operations = (double)own->other;
  run->bytes = own->other * 4.0;
}

static double reduce_worst(struct run *run) {
  struct own *own = run->own;
  size_t groups = own->size / 256;
  const float *in = own->data[0];
  float *found = fresh(groups * 4);
  read_out(run, own->buffers[1], found, groups * 4);
  double sum = 0.0, expected = 0.0;
  for (size_t i = 0; i < groups; i++)
    sum += found[i];
  for (size_t i = 0; i < own->other; i++)
    expected += in[i];
  free(found);
  return off(sum, expected);
}

static void scan_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = choose(run, 1 << 16, 1 << 22);
  int *in = own->data[0] = fresh(own->size * 4);
  for (size_t i = 0; i < own->size; i++)
    in[i] = next_random() % 100;
  own->buffers[0] = buffer_of(run, in, own->size * 4);
  own->buffers[1] = buffer_of(run, NULL, own->size * 4);
  // Sums of blocks, of blocks of those, and of blocks of these.
  size_t blocks = own->size;
  for (int level = 2; level < 5; level++) {
    blocks = (blocks + 255) / 256;
    own->buffers[level] = buffer_of(run, NULL, (blocks + 255) / 256 * 256 * 4);
  }
  run->operations = own->size * 9.0;
  run->bytes = own->size * 16.0;
}

static void scan_launch(struct run *run) {
  struct own *own = run->own;
  size_t counts[3] = {own->size, (own->size / 256 + 255) / 256 * 256, 0};
  counts[2] = (counts[1] / 256 + 255) / 256 * 256;
  int levels = counts[1] > 256 ? 3 : 2;
  for (int level = 0; level < levels; level++) {
    // Above the first level, sums become their own running sums.
    cl_mem in = own->buffers[level ? level + 1 : 0], out = own->buffers[level + 1];
    give(run->kernels[0], "mmm", in, out, own->buffers[level + 2 < 5 ? level + 2 : 5]);
    go(run, 0, counts[level], 0, 256, 0);
  }
  for (int level = levels - 2; level >= 0; level--) {
    give(run->kernels[1], "mm", own->buffers[level + 1], own->buffers[level + 2]);
    go(run, 1, counts[level], 0, 256, 0);
  }
}

static double scan_worst(struct run *run) {
  struct own *own = run->own;
  const int *in = own->data[0];
  int *expected = fresh(own->size * 4), sum = 0;
  for (size_t i = 0; i < own->size; i++)
    expected[i] = sum += in[i];
  double worst = worst_bytes(run, own->buffers[1], expected, own->size * 4);
  free(expected);
  return worst;
}

// --- rays ---

static void raymarch_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->size = 256;
  own->buffers[0] = buffer_of(run, NULL, own->size * own->size * 4);
  give(run->kernels[0], "mii", own->buffers[0], (int)own->size, (int)own->size);
}

static double raymarch_worst(struct run *run) {
  struct own *own = run->own;
  float *found = fresh(own->size * own->size * 4);
  read_out(run, own->buffers[0], found, own->size * own->size * 4);
  double count = 0.0;
  size_t differ = 0;
  for (size_t row = 0; row < own->size; row++)
    for (size_t column = 0; column < own->size; column++) {
      double width = own->size, d[3] = {(column - 0.5 * width) / width, (0.5 * width - row) / width, 1.0}, way = 0.0;
      double length = sqrt(d[0] * d[0] + d[1] * d[1] + 1.0);
      for (int steps = 0; steps < 96; steps++, count++) {
        double least = d[1] / length * way + 1.0;
        for (int i = 0; i < 4; i++) {
          double x = d[0] / length * way - (i * 1.5 - 2.25), y = d[1] / length * way - 0.25 * i;
          double z = d[2] / length * way - 4.0 - 0.5 * i;
          least = fmin(least, sqrt(x * x + y * y + z * z) - 0.75);
        }
        if (least < 0.001)
          break;
        way += least;
        if (way > 20.0)
          break;
      }
      double expected = way > 20.0 ? 0.0 : 1.0 / (1.0 + way);
      differ += off(found[row * own->size + column], expected) > 1e-3;
    }
  free(found);
  run->operations = count * 40;
  // Rays that only just touch something may go on.
  return differ > own->size * own->size / 200;
}

// --- queens ---

// Places the first rows in all ways.
static void place(struct own *own, unsigned all, int rows, unsigned column, unsigned fall, unsigned rise) {
  if (rows == 0) {
    ((unsigned *)own->data[0])[own->size] = column;
    ((unsigned *)own->data[1])[own->size] = fall;
    ((unsigned *)own->data[2])[own->size] = rise;
    own->size++;
    return;
  }
  for (unsigned open = all & ~(column | fall | rise); open; open &= open - 1) {
    unsigned bit = open & -open;
    place(own, all, rows - 1, column | bit, (fall | bit) >> 1, (rise | bit) << 1);
  }
}

static void nqueens_prepare(struct run *run) {
  struct own *own = own_of(run);
  const int size = 11, given = 3;
  for (int i = 0; i < 3; i++)
    own->data[i] = fresh(size * size * size * 4);
  place(own, (1u << size) - 1, given, 0, 0, 0);
  // The last group is full: what is attacked everywhere has no way.
  for (; own->size % 64; own->size++)
    ((unsigned *)own->data[0])[own->size] = (1u << size) - 1;
  for (int i = 0; i < 3; i++)
    own->buffers[i] = buffer_of(run, own->data[i], own->size * 4);
  own->buffers[3] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mmmmii", own->buffers[0], own->buffers[1], own->buffers[2], own->buffers[3], size - given,
       (1 << size) - 1);
  // Boards of 11 × 11 with some rows filled, each visited about twice.
  run->operations = 166926 * 2 * 10.0;
}

static void nqueens_launch(struct run *run) {
  struct own *own = run->own;
  go(run, 0, own->size, 0, 64, 0);
}

static double nqueens_worst(struct run *run) {
  struct own *own = run->own;
  unsigned *found = fresh(own->size * 4), sum = 0;
  read_out(run, own->buffers[3], found, own->size * 4);
  for (size_t i = 0; i < own->size; i++)
    sum += found[i];
  free(found);
  return sum != 2680;
}

// --- nearest centres ---

static void kmeans_prepare(struct run *run) {
  struct own *own = own_of(run);
  const int centres = 16, dimensions = 8;
  own->size = choose(run, 1 << 13, 1 << 20);
  own->data[0] = units(own->size * dimensions);
  own->data[1] = units(centres * dimensions);
  own->buffers[0] = buffer_of(run, own->data[0], own->size * dimensions * 4);
  own->buffers[1] = buffer_of(run, own->data[1], centres * dimensions * 4);
  own->buffers[2] = buffer_of(run, NULL, own->size * 4);
  give(run->kernels[0], "mmmiii", own->buffers[0], own->buffers[1], own->buffers[2], (int)own->size, centres, dimensions);
  run->operations = 3.0 * own->size * centres * dimensions;
  run->bytes = own->size * (dimensions + 1) * 4.0;
}

static double kmeans_worst(struct run *run) {
  struct own *own = run->own;
  const float *points = own->data[0], *centres = own->data[1];
  int *found = fresh(own->size * 4);
  read_out(run, own->buffers[2], found, own->size * 4);
  double worst = 0.0;
  for (size_t i = 0; i < own->size; i++) {
    double least = INFINITY, chosen = INFINITY;
    for (int c = 0; c < 16; c++) {
      double distance = 0.0;
      for (int d = 0; d < 8; d++)
        distance += pow((double)points[d * own->size + i] - centres[c * 8 + d], 2);
      least = fmin(least, distance);
      if (found[i] == c)
        chosen = distance;
    }
    worst = fmax(worst, off(chosen, least));
  }
  free(found);
  return worst;
}

// --- text ---

static void strings_prepare(struct run *run) {
  struct own *own = own_of(run);
  const char *pattern = "abacabad";
  own->size = choose(run, 1 << 16, 1 << 22);
  char *text = own->data[0] = fresh(own->size + 64);
  for (size_t i = 0; i < own->size; i++)
    text[i] = "abacd"[next_random() % 5];
  own->data[1] = (void *)pattern;
  own->buffers[0] = buffer_of(run, text, own->size + 64);
  own->buffers[1] = buffer_of(run, pattern, 8);
  own->buffers[2] = buffer_of(run, NULL, own->size);
  give(run->kernels[0], "mmim", own->buffers[0], own->buffers[1], 8, own->buffers[2]);
  run->operations = own->size * 5.0;
  run->bytes = own->size * 2.0;
}

static double strings_worst(struct run *run) {
  struct own *own = run->own;
  char *expected = fresh(own->size);
  for (size_t i = 0; i < own->size; i++)
    expected[i] = !memcmp((char *)own->data[0] + i, own->data[1], 8);
  double worst = worst_bytes(run, own->buffers[2], expected, own->size);
  free(expected);
  return worst;
}

// --- launches of next to nothing ---

static void empty_prepare(struct run *run) {
  struct own *own = own_of(run);
  own->buffers[0] = buffer_of(run, NULL, 1 << 16);
  give(run->kernels[0], "m", own->buffers[0]);
}

static void empty_launch(struct run *run) { go(run, 0, 256, 0, 256, 0); }

static void chain_launch(struct run *run) {
  for (int i = 0; i < 64; i++)
    go(run, 0, 1024, 0, 64, 0);
}

static double empty_worst(struct run *run) {
  (void)run;
  return 0.0;
}

const struct workload workloads[] = {
    {"bitonic", "bitonic.cl", {"exchange"}, 1, bitonic_prepare, bitonic_restore, bitonic_launch, bitonic_worst},
    {"black-scholes", "black_scholes.cl", {"price"}, 1, black_scholes_prepare, NULL, launch_row, black_scholes_worst},
    {"dct", "dct.cl", {"transform"}, 1, dct_prepare, NULL, dct_launch, dct_worst},
    {"walsh", "walsh.cl", {"butterfly"}, 1, walsh_prepare, walsh_restore, walsh_launch, walsh_worst},
    {"floyd-warshall", "floyd_warshall.cl", {"relax"}, 1, floyd_prepare, floyd_restore, floyd_launch, floyd_worst},
    {"histogram", "histogram.cl", {"count"}, 1, histogram_prepare, NULL, histogram_launch, histogram_worst},
    {"mandelbrot", "mandelbrot.cl", {"mandelbrot"}, 0, mandelbrot_prepare, NULL, mandelbrot_launch, mandelbrot_worst},
    {"transpose", "transpose.cl", {"transpose"}, 1, transpose_prepare, NULL, launch_tiles, transpose_worst},
    {"nbody", "nbody.cl", {"advance"}, 0, nbody_prepare, nbody_restore, launch_row, nbody_worst},
    {"tree", "tree.cl", {"lookup"}, 1, tree_prepare, NULL, launch_row, tree_worst},
    {"cascade-random", "cascade.cl", {"cascade"}, 0, cascade_prepare, NULL, launch_row, cascade_worst},
    {"cascade-sorted", "cascade.cl", {"cascade"}, 0, cascade_sorted_prepare, NULL, launch_row, cascade_worst},
    {"spmv", "spmv.cl", {"multiply"}, 1, spmv_prepare, NULL, launch_row, spmv_worst},
    {"stencil", "stencil.cl", {"smooth"}, 1, stencil_prepare, NULL, launch_tiles, stencil_worst},
    {"reduce", "reduce.cl", {"sum"}, 1, reduce_prepare, NULL, launch_row, reduce_worst},
    {"scan", "scan.cl", {"blocks", "add"}, 1, scan_prepare, NULL, scan_launch, scan_worst},
    {"matmul", "matmul.cl", {"multiply"}, 1, matmul_prepare, NULL, launch_tiles, matmul_worst},
    {"raymarch", "raymarch.cl", {"march"}, 0, raymarch_prepare, NULL, launch_tiles, raymarch_worst},
    {"nqueens", "nqueens.cl", {"solve"}, 0, nqueens_prepare, NULL, nqueens_launch, nqueens_worst},
    {"kmeans", "kmeans.cl", {"assign"}, 1, kmeans_prepare, NULL, launch_row, kmeans_worst},
    {"strings", "strings.cl", {"search"}, 1, strings_prepare, NULL, launch_row, strings_worst},
    {"bfs", "bfs.cl", {"level"}, 1, bfs_prepare, bfs_restore, bfs_launch, bfs_worst},
    {"histogram-atomic", "histogram_atomic.cl", {"count"}, 1, histogram_atomic_prepare, histogram_atomic_restore,
     launch_row, histogram_atomic_worst},
    {"empty-launch", "empty.cl", {"nothing"}, 0, empty_prepare, NULL, empty_launch, empty_worst},
    {"64-launches", "empty.cl", {"little"}, 0, empty_prepare, NULL, chain_launch, empty_worst},
};

const int workload_count = sizeof workloads / sizeof *workloads;
