#include "heddle.h"
#include "trees.h"

// What one lane does. Each kernel works on element i; the loop over i is the peer's to vectorize, and the lanes are ours.

#define KERNEL(name) void name(long i, const float *restrict a, const float *restrict b, float *restrict c, int n)

// A loop that lanes leave at different times.
KERNEL(mandelbrot) {
  float x = 0, y = 0, cx = a[i], cy = b[i];
  int k = 0;
  while (k < n && x * x + y * y < 4.0f) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    k++;
  }
  c[i] = (float)k;
}

// The same with integers, and an `if` in the loop.
KERNEL(collatz) {
  unsigned m = (unsigned)(a[i] * 1000.0f) + 1, steps = 0;
  while (m != 1 && steps < 400) {
    m = m & 1 ? 3 * m + 1 : m >> 1;
    steps++;
  }
  c[i] = (float)steps + b[i];
}

// A guarded update: nothing but masks.
KERNEL(guarded) {
  if (a[i] > 0.5f) c[i] = a[i] * 3.0f + b[i];
}

// A branch that all lanes take together stays a branch, and saves what is after it.
KERNEL(uniform_branch) {
  float x = a[i];
  if (n & 1) {
    for (int k = 0; k < 32; k++) x = x * 0.99f + b[i];
  } else {
    x += 1.0f;
  }
  c[i] = x;
}

// Each lane looks in a table for where its number belongs.
KERNEL(search) {
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) >> 1;
    if (b[middle] < a[i])
      low = middle + 1;
    else
      high = middle;
  }
  c[i] = (float)low;
}

// Newton's method until it is near enough, with an exit.
KERNEL(root) {
  float value = a[i] * 1000.0f + 0.5f, x = value;
  for (int k = 0; k < n; k++) {
    float next = 0.5f * (x + value / x);
    float off = next - x;
    if (off < 0) off = -off;
    x = next;
    if (off < 1e-3f * x) break;
  }
  c[i] = x + b[i];
}

// A loop in a loop, both left by lanes on their own.
KERNEL(nested) {
  float sum = 0, step = a[i] + 0.25f;
  for (float x = 0; x < 4.0f && sum < 64.0f; x += step) {
    float y = x;
    while (y > 0.5f) {
      sum += y;
      y = y * 0.5f - b[i] * 0.125f;
    }
  }
  c[i] = sum + (float)n;
}

// Points of four floats side by side, turned and scaled.
KERNEL(points) {
  const float *p = a + 4 * i, *q = b + 4 * i;
  float x = p[0], y = p[1], z = p[2], w = p[3];
  c[4 * i] = x * q[0] - y * q[1];
  c[4 * i + 1] = x * q[1] + y * q[0];
  c[4 * i + 2] = z * w + q[2];
  c[4 * i + 3] = w * q[3];
}

// Products of complex numbers.
KERNEL(complex) {
  float re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
  float im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
  c[2 * i] = re;
  c[2 * i + 1] = im;
}

// Neighbours in an image, by an index of 32 bits that might wrap around.
KERNEL(stencil) {
  unsigned width = (unsigned)n + 1, at = (unsigned)i + width;
  c[i] = 0.25f * (a[at - 1] + a[at + 1] + a[at - width] + a[at + width]);
}

// Search trees of `n` nodes, whose lanes follow pointers of their own. What a parameter points to, lanes share; what a pointer
// points to that was loaded might be each lane's own.
#define NODES ((const struct node *)b)
#define NEAR (4.0f / (float)n)

KERNEL(lookup_structures) { c[i] = lookup(a[i], NODES); }

KERNEL(lookup_columns) {
  const struct tree *tree = (const struct tree *)b;
  c[i] = lookup_in_columns(a[i], tree->keys, tree->lefts, tree->rights);
}

KERNEL(own_stacks) { c[i] = neighbours_by_own_stack(a[i], NODES, NEAR); }

// Lanes that go through a tree together.
KERNEL(one_stack) { c[i] = neighbours_by_one_stack(a[i], NODES, NEAR); }
