// Loops whose inner loops gather, or which lanes leave one by one: which code is faster depends on data, so several run as trials. Each is run often enough, with short
// and long trip counts, that all have run parts of it.
#include "../../include/heddle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 3000, NODES = 1024 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

__attribute__((noinline)) void chase(int *out, const int *from, const int *next, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int at = from[i], steps = 0;
    while (at > 3) {
      at = next[at];
      steps++;
    }
    out[i] = steps * 4 + at;
  }
}

__attribute__((noinline)) void downwards(long *out, const int *from, const int *next, int n) {
#pragma omp simd
  for (int i = n - 1; i >= 0; i -= 3) {
    int at = from[i];
    for (int k = 0; k < (i & 7); k++)
      at = next[at];
    out[i] = at + (long)i * i;
  }
}

__attribute__((noinline)) void pointers(double *out, const int *from, const int *next, int n, int step) {
  double *to = out;
  int k = 5;
#pragma omp simd linear(to : 1) linear(k : step)
  for (const int *at = from; at != from + n; ++at) {
    int node = *at;
    while (node & 1)
      node = next[node];
    *to++ = node + 0.5 * k;
    k += step;
  }
}

__attribute__((noinline)) void own_stack(float *out, const float *in, const float *keys, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int stack[32], top = 0, found = 0;
    float low = in[i] - 8, high = in[i] + 8;
    stack[top++] = 1;
    while (top > 0) {
      int node = stack[--top];
      float key = keys[node];
      found += low <= key && key <= high;
      if (2 * node < NODES && low <= key)
        stack[top++] = 2 * node;
      if (2 * node + 1 < NODES && key <= high)
        stack[top++] = 2 * node + 1;
    }
    out[i] = (float)found;
  }
}

/// An iteration that ran twice would be seen.
__attribute__((noinline)) void in_place(int *out, const int *from, const int *next, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int at = from[i];
    while (at > 3)
      at = next[at];
    out[i] = out[i] * 3 + at;
  }
}

/// Some pass by the inner loop, some leave it in the middle, some stay for long.
__attribute__((noinline)) void escape(unsigned *out, const unsigned *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    unsigned number = in[i] & 1023, steps = 0, rest[2] = {number, number >> 5};
    if (number & 6)
      while (number != 1) {
        number = number & 1 ? 3 * number + 1 : number / 2;
        if (number > 5000 + in[i])
          break;
        rest[steps & 1] ^= number;
        steps++;
      }
    out[i] = steps * 7 + number + rest[0] - rest[1];
  }
}

/// Scalar code may choose which address it goes on with, or branch. The order of visits is what most lanes want.
__attribute__((noinline)) void nearest(float *out, const float *in, const float *keys, const int *left, const int *right, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int stack[32], top = 0;
    unsigned sum = 0;
    float best = 1e9f;
    stack[top++] = 1;
    while (top > 0) {
      int node = stack[--top];
      float off = in[i] - keys[node];
      best = off * off < best ? off * off : best;
      if (2 * node + 1 >= NODES)
        continue;
      int is_left = 2 * heddle_popcount(off < 0) >= heddle_popcount(1);
      sum += (unsigned)(off < 0 ? left : right)[node];
      const int *first = is_left ? left : right, *second = is_left ? right : left;
      stack[top++] = second[node];
      stack[top++] = first[node];
    }
    out[i] = best + (float)(sum & 1023);
  }
}

/// Scalar code of a lookup branches, and each side has an end of its own, with exits; the same queries come again and again, so
/// that their branches are learned.
__attribute__((noinline)) void lookup(int *out, const float *in, const float *keys, const int *left, const int *right, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int node = 1, sum = 0;
    while (node < NODES && keys[node] != in[i]) {
      sum = sum * 3 + node;
      node = in[i] < keys[node] ? left[node] : right[node];
      if (sum > 100000000)
        break;
    }
    out[i] = sum - node;
  }
}

/// What goes to the code after stays in one code.
__attribute__((noinline)) int with_a_sum(const int *from, const int *next, int n) {
  int sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < n; i++)
    for (int at = from[i]; at > 3; at = next[at])
      sum += at;
  return sum;
}

/// So does what calls mathematical functions, of which vector code has others.
__attribute__((noinline)) void with_exponents(int *out, const int *from, const int *next, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int at = from[i];
    while (at > 3)
      at = next[at];
    out[i] = (int)(expf((float)at) * 64 + 0.5f);
  }
}

static void plant(float *keys, int node, float low, float high) {
  if (node >= NODES)
    return;
  keys[node] = (low + high) / 2;
  plant(keys, 2 * node, low, keys[node]);
  plant(keys, 2 * node + 1, keys[node], high);
}

int main(void) {
  static int from[MOST], next[NODES], left[NODES], right[NODES], out[MOST];
  static long wide[MOST];
  static double d[MOST];
  static float f[MOST], in[MOST], keys[NODES];
  for (int i = 0; i < NODES; i++)
    next[i] = i * 7 / 9, left[i] = 2 * i, right[i] = 2 * i + 1;
  for (int i = 0; i < MOST; i++) {
    from[i] = i * 37 % NODES;
    in[i] = (float)(i * 53 % 1000);
  }
  plant(keys, 1, 0, 1000);
  static const int counts[] = {1, 7, 64, 65, 500, 1023, MOST, 3, MOST, 777};
  for (unsigned at = 0; at < sizeof counts / sizeof *counts; at++) {
    int n = counts[at];
    chase(out, from, next, n), eat(out, sizeof out);
    downwards(wide, from, next, n), eat(wide, sizeof wide);
    pointers(d, from, next, n, n % 5), eat(d, sizeof d);
    own_stack(f, in, keys, n), eat(f, sizeof f);
    nearest(f, in, keys, left, right, n < 400 ? n : 400), eat(f, sizeof f);
    for (int again = n < 1000 ? 1 : 16; again > 0; again--)
      lookup(out, in, keys, left, right, n);
    eat(out, sizeof out);
    in_place(out, from, next, n), eat(out, sizeof out);
    escape((unsigned *)out, (const unsigned *)from, n), eat(out, sizeof out);
    with_exponents(out, from, next, n), eat(out, sizeof out);
    printf("%d %u\n", with_a_sum(from, next, n), hash);
  }
}
