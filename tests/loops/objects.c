// Objects that each iteration has for itself, whose addresses are partly computed before the loop.
#include <stdio.h>

enum { MOST = 75 };

// `&digits[n & 7]` is the same in all iterations, and so is which of two objects is meant; what is there is not.
__attribute__((noinline)) void at_one_place(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    unsigned digits[8], others[8];
    for (int k = 0; k < 8; k++) {
      digits[k] = (unsigned)in[i] >> k;
      others[k] = (unsigned)(in[i] * k);
    }
    unsigned *chosen = n & 1 ? digits : others;
    if (digits[n & 7] & 1)
      for (int k = 0; k < 8; k++)
        digits[k & in[i] & 7] += chosen[(n >> 1) & 7];
    unsigned sum = 0;
    for (int k = 0; k < 8; k++)
      sum = sum * 3 + digits[k] + others[7 - k];
    out[i] = (int)sum;
  }
}

static inline unsigned middle(const unsigned *values, int n, int u) {
  unsigned stack[8] = {0};
  int top = 0, steps = 0;
  stack[top++] = values[u & 3];
  while (top > 0 && steps++ < 12) {
    unsigned v = stack[--top];
    if (top < 7)
      stack[top++] = v * 2 + 1;
    if (top < 7)
      stack[top++] = v >> 1;
  }
  return stack[n & 7] + stack[u & 7];
}

__attribute__((noinline)) void inlined(int *out, const int *in, int n, int u) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    unsigned values[4] = {(unsigned)in[i], (unsigned)i, (unsigned)u, (unsigned)(in[i] ^ u)};
    out[i] = (int)(values[n & 3] > 9 ? middle(values, n, u) : values[u & 3]);
  }
}

int main(void) {
  int in[MOST], out[MOST];
  unsigned drawn = 5;
  for (int i = 0; i < MOST; i++)
    in[i] = (int)((drawn = drawn * 1664525 + 1013904223) >> 12);
  for (int n = MOST - 9; n < MOST; n++) {
    unsigned sums[2] = {0, 0};
    at_one_place(out, in, n);
    for (int i = 0; i < n; i++)
      sums[0] = sums[0] * 31 + (unsigned)out[i];
    inlined(out, in, n, n * 77);
    for (int i = 0; i < n; i++)
      sums[1] = sums[1] * 31 + (unsigned)out[i];
    printf("%x %x\n", sums[0], sums[1]);
  }
}
