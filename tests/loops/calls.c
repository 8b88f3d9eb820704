// Calls: functions of the module, `declare simd`, mathematical functions, functions that nobody knows; globals of all kinds.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 66 };
static const int squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
int changed[MOST];
static int hidden[MOST];
static struct { float x, y; int tag; } points[MOST];
_Thread_local int own_bias = 3;

__attribute__((noinline)) static int gcd(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}

#pragma omp declare simd
__attribute__((noinline)) static float bump(float x) { return x < 0 ? -x * 2 : x + 1; }

__attribute__((noinline)) static void add_to(int *at, int what) { *at += what; }

__attribute__((noinline)) void with_gcd(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = gcd(in[i] + 1, 36);
}

__attribute__((noinline)) void with_simd(float *out, const float *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = bump(in[i]);
}

__attribute__((noinline)) void with_math(float *out, const float *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = sqrtf(fabsf(in[i]) * 4) + floorf(in[i] / 2);
}

__attribute__((noinline)) void with_pointer(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    add_to(&out[i], in[i] * 2);
}

__attribute__((noinline)) void with_library(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = abs(in[i] - 50) + (in[i] > 70 ? atoi("12") : 0);
}

__attribute__((noinline)) void with_globals(const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    changed[i] += squares[in[i] & 15];
    hidden[i] = changed[i] - own_bias;
    points[i].x = (float)in[i];
    points[i].y = points[i].x / 2;
    points[i].tag ^= i;
  }
}

int main(void) {
  static int in[MOST], out[MOST];
  static float f[MOST], g[MOST];
  for (int i = 0; i < MOST; i++) {
    in[i] = i * 37 % 101;
    f[i] = (float)(i % 9) - 4;
  }
  unsigned hash = 0;
  for (int n = 0; n <= MOST; n++) {
    with_gcd(out, in, n);
    with_simd(g, f, n);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)out[i] + (unsigned)(int)g[i];
    with_math(g, f, n);
    with_pointer(out, in, n);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)out[i] + (unsigned)(int)(g[i] * 8);
    with_library(out, in, n);
    with_globals(in, n);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)out[i] + (unsigned)(changed[i] + hidden[i] + points[i].tag) +
             (unsigned)(int)(points[i].x + points[i].y * 2);
    printf("%u\n", hash);
  }
}
