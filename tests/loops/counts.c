// Ways to count: down, by steps, by pointers, in narrow and in wide types, with bounds that are met or stepped over.
#include <stdint.h>
#include <stdio.h>

enum { MOST = 300 };
static int out[MOST];

__attribute__((noinline)) void down(int n) {
#pragma omp simd
  for (int i = n - 1; i >= 0; i--)
    out[i] = i * 3;
}

__attribute__((noinline)) void by_threes(int n) {
#pragma omp simd
  for (unsigned i = 1; i < (unsigned)n; i += 3)
    out[i] = (int)i * 5;
}

__attribute__((noinline)) void down_by_fours(int n) {
#pragma omp simd
  for (long i = n - 1; i > 2; i -= 4)
    out[i] = (int)i * 7;
}

__attribute__((noinline)) void wide(int64_t from, int64_t to) {
#pragma omp simd
  for (int64_t i = from; i <= to; i++)
    out[i - from] = (int)(i >> 3);
}

__attribute__((noinline)) void narrow(uint8_t from, uint8_t to) {
#pragma omp simd
  for (uint8_t i = from; i < to; i++)
    out[i] = i * 9;
}

__attribute__((noinline)) void pointers(int *begin, int *end) {
#pragma omp simd
  for (int *p = begin; p != end; p++)
    *p = *p * 2 + 1;
}

__attribute__((noinline)) void fixed(const int *in) {
#pragma omp simd
  for (int i = 0; i < 100; i++)
    out[i] = in[i] & 0xff;
}

__attribute__((noinline)) void variable_step(int n, int step) {
#pragma omp simd
  for (int i = 0; i < n; i += step)
    out[i] = i ^ step;
}

__attribute__((noinline)) long none(long n) {
  long s = 0;
#pragma omp simd reduction(+ : s)
  for (long i = 0; i < n; i++)
    s += i & 5;
  return s;
}

int main(void) {
  unsigned hash = 0;
  static int in[MOST];
  for (int i = 0; i < MOST; i++)
    in[i] = i * 1237;
  for (int n = 0; n < 100; n++) {
    down(n), by_threes(n), down_by_fours(n + 50);
    wide((int64_t)1 << 40, ((int64_t)1 << 40) + n);
    narrow((uint8_t)(n / 2), (uint8_t)(n + 100));
    pointers(out, out + n);
    if (n % 10 == 0)
      fixed(in);
    variable_step(n + 100, n % 7 + 1);
    for (int i = 0; i < MOST; i++)
      hash = hash * 31 + (unsigned)out[i];
    printf("%u %ld\n", hash, none(n));
  }
}
