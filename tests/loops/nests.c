// Loops around loops and calls whose independence is promised for some iterations only, or has to be proved.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 70, ROW = 9 };
static unsigned hash;

static void eat(const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    hash = hash * 31 + ((const unsigned char *)data)[at];
}

__attribute__((noinline)) void safelen_with_loop(int *out, const int *in, int n, int m) {
#pragma omp simd safelen(8)
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < m; j++)
      s = s * 3 + in[i * m + j];
    out[i] = s;
  }
}

__attribute__((noinline)) int reduction_with_loop(const int *in, int n, int m) {
  int t = 0;
#pragma omp simd reduction(+ : t) safelen(16)
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = in[i] & 7; j < m; j++)
      s ^= in[j] * i;
    t += s;
  }
  return t;
}

__attribute__((noinline)) void safelen_with_private_array(int *out, const int *in, int n) {
  int t[8];
#pragma omp simd safelen(8) private(t)
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 8; k++)
      t[k] = in[i] * k;
    out[i] = t[in[i] & 7] - t[(in[i] >> 3) & 7];
  }
}

// LLVM makes a `memset` of the first inner loop.
__attribute__((noinline)) void counts_of_own(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int t[64];
    for (int k = 0; k < 64; k++)
      t[k] = 0;
    for (int k = 0; k < (in[i] & 31); k++)
      t[(k * k) & 63]++;
    int b = 0;
    for (int k = 0; k < 64; k++)
      b = b * 3 + t[k];
    out[i] = b;
  }
}

__attribute__((noinline)) void rows_set_and_filled(int *out, const int *in, int n, int m) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < m; k++)
      out[i * m + k] = 0;
    for (int k = 0; k < m; k += 2)
      out[i * m + k] += in[k] * i;
  }
}

// What inner loops set is hoisted and merged, and each has variables of its own.
__attribute__((noinline)) void tree_of_values(float *out, const float *in, int n, int m) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    float value[9], price = in[i];
    for (int k = 0; k < 8; k++)
      price *= 0.5f;
    for (int k = 0; k <= 8; k++) {
      value[k] = price > m ? price - m : 0;
      price *= 2;
    }
    for (int step = 8; step > 0; step--)
      for (int k = 0; k < step; k++)
        value[k] = 0.5f * (value[k] + value[k + 1]);
    out[i] = value[0];
  }
}

// Proved: each iteration has a row of its own.
__attribute__((noinline)) void rows_apart(int *restrict out, const int *restrict in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    for (int k = 0; k < ROW; k++)
      out[i * ROW + k] = in[k] ^ (k > 0 ? out[i * ROW + k - 1] : i);
}

__attribute__((noinline)) void rows_upwards(int (*restrict out)[ROW], const int *restrict in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = n - 1; i >= 0; i--)
    for (int k = 0; k < ROW; k++)
      out[i][k] = in[i] * k;
}

// Rows overlap by one number.
__attribute__((noinline)) void rows_together(int *restrict out, const int *restrict in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    for (int k = 0; k < ROW; k++)
      out[i * (ROW - 1) + k] += in[k] + i;
}

// The row before is read.
__attribute__((noinline)) void row_before(int *restrict out, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 1; i < n; i++)
    for (int k = 0; k < ROW; k++)
      out[i * ROW + k] += out[(i - 1) * ROW + k];
}

// Two names that may be of one array.
__attribute__((noinline)) void two_names(int *out, const int *in, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++)
    for (int k = 0; k < ROW; k++)
      out[i * ROW + k] = in[i * ROW + k + 1] * 3;
}

__attribute__((noinline)) void counted(int *restrict out, const int *restrict in, int n) {
#pragma omp simd safelen(8)
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++)
      out[in[i] & 7] += k + i;
}

__attribute__((noinline)) void in_order(int *restrict out, const int *restrict in, int n) {
#pragma omp simd safelen(8)
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int k = 0; k < (in[i] & 3); k++)
      s += in[k];
#pragma omp ordered simd
    out[in[i] & 7] += s;
  }
}

__attribute__((noinline)) double roots(double *restrict out, const double *restrict in, int n) {
  double most = 0;
#pragma clang loop vectorize(enable)
  for (int i = 0; i < n; i++) {
    double r = sqrt(in[i]);
    out[i] = r;
    most = most < r ? r : most;
  }
  return most;
}

__attribute__((noinline)) int scanned(int *out, const int *in, int n) {
  int s = 0;
#pragma omp simd reduction(inscan, + : s)
  for (int i = 0; i < n; i++) {
    s += in[i];
#pragma omp scan inclusive(s)
    out[i] = s;
  }
  return s;
}

#pragma omp declare reduction(widest : int : omp_out = omp_out > omp_in ? omp_out : omp_in) initializer(omp_priv = -5)
__attribute__((noinline)) int own_reduction(const int *in, int n) {
  int most = -5;
#pragma omp simd reduction(widest : most)
  for (int i = 0; i < n; i++)
    most = most > in[i] ? most : in[i];
  return most;
}

struct pair {
  int x, y;
};
#pragma omp declare reduction(both : struct pair : omp_out.x += omp_in.x, omp_out.y ^= omp_in.y) initializer(omp_priv = {0, 0})
__attribute__((noinline)) int reduction_of_structures(const int *in, int n) {
  struct pair p = {0, 0};
#pragma omp simd reduction(both : p)
  for (int i = 0; i < n; i++) {
    p.x += in[i];
    p.y ^= in[i] * 3;
  }
  return p.x + 5 * p.y;
}

// clang's code has one copy of the array for all lanes, and says that iterations are independent.
__attribute__((noinline, used)) int reduction_of_array(const int *in, int n) {
  int h[4] = {0};
#pragma omp simd reduction(+ : h[ : 4])
  for (int i = 0; i < n; i++)
    h[in[i] & 3] += in[i];
  return h[0] + 3 * h[1] + 5 * h[2] + 7 * h[3];
}

// A local array that iterations do not share.
__attribute__((noinline)) int local_array(const int *in, int n) {
  int h[MOST];
  for (int i = 0; i < MOST; i++)
    h[i] = i;
#pragma omp simd
  for (int i = 0; i < n; i++)
    h[i] = h[i] * 3 + in[i];
  int s = 0;
  for (int i = 0; i < MOST; i++)
    s = s * 7 + h[i];
  return s;
}

__attribute__((noinline)) int last_if(int *out, const int *in, int n) {
  int last = -1;
#pragma omp simd lastprivate(conditional : last)
  for (int i = 0; i < n; i++) {
    if (i == 0 || in[i] > 50)
      last = i;
    out[i] = in[i];
  }
  return last;
}

__attribute__((noinline)) int duff(int *out, const int *in, int n) {
  int r = 0;
#pragma omp simd reduction(+ : r)
  for (int i = 0; i < n; i++) {
    int c = in[i] & 15, s = 0, k = (c + 3) / 4;
    if (c)
      switch (c & 3) {
        do {
        case 0: s += 1;
        case 3: s += 3;
        case 2: s ^= 5;
        case 1: s += 7;
        } while (--k > 0);
      }
    r += s;
    out[i] = s;
  }
  return r;
}

__attribute__((noinline)) void loops_with_two_entries(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int x = in[i], c = 0;
    if (x & 1)
      goto second;
  first:
    c++;
    x >>= 1;
    if (x == 0)
      goto end;
  second:
    c += 3;
    x -= 1;
    if (x > 0 && c < 100)
      goto first;
  end:
    out[i] = c;
  }
}

__attribute__((noinline)) void many_ways_out(int *out, const int *in, int n, int m) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    int r = -1;
    for (int j = 0; j < m; j++) {
      if (in[j] == i) {
        r = j;
        break;
      }
      if (in[j] > 1000)
        goto out;
      for (int k = 0; k < j; k++)
        if (in[k] == i * 2) {
          r = 1000 + k;
          goto out;
        }
    }
  out:
    out[i] = r;
  }
}

int main(void) {
  static int a[MOST * ROW + 8], b[MOST * ROW + 8];
  static double d[MOST], e[MOST];
  static float f[MOST], g[MOST];
  for (int n = 0; n <= MOST; n += n < 36 ? 1 : 7) {
    for (int i = 0; i < MOST * ROW; i++)
      a[i] = i * 37 % 101;
    for (int i = 0; i < MOST; i++)
      d[i] = f[i] = a[i];
    memset(b, 0, sizeof b);
    safelen_with_loop(b, a, n, 5), eat(b, sizeof b);
    printf("%d ", reduction_with_loop(a, n, 20));
    safelen_with_private_array(b, a, n), eat(b, sizeof b);
    counts_of_own(b, a, n), eat(b, sizeof b);
    rows_set_and_filled(b, a, n, 5), eat(b, sizeof b);
    tree_of_values(g, f, n, 30), eat(g, sizeof g);
    rows_apart(b, a, n), eat(b, sizeof b);
    rows_upwards((int(*)[ROW])b, a, n), eat(b, sizeof b);
    rows_together(b, a, n), eat(b, sizeof b);
    row_before(b, n), eat(b, sizeof b);
    two_names(b, b, n), eat(b, sizeof b);
    counted(b, a, n), eat(b, sizeof b);
    in_order(b, a, n), eat(b, sizeof b);
    printf("%g ", roots(e, d, n)), eat(e, sizeof e);
    printf("%d %d ", scanned(b, a, n), own_reduction(a, n)), eat(b, sizeof b);
    printf("%d %d ", reduction_of_structures(a, n), local_array(a, n));
    printf("%d ", last_if(b, a, n)), eat(b, sizeof b);
    printf("%d ", duff(b, a, n)), eat(b, sizeof b);
    loops_with_two_entries(b, a, n), eat(b, sizeof b);
    many_ways_out(b, a, n, 20), eat(b, sizeof b);
    printf("%u\n", hash);
  }
}
