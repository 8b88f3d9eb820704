// A row of a matrix a block, a column a thread: the loop goes by the matrix' width, and the row's elements are shared.
// run: @dot(3, 8, &a, &b, &c) lanes=4 local=8 groups=2 with a: i32 [1, 2, 3, 4, 5, 6]; b: i32 zero 24; c: i32 zero 16
#include "kernel.h"
KERNEL dot(int inner, int width, GLOBAL const int *a, GLOBAL const int *b, GLOBAL int *c) {
  int row = BLOCK, column = THREAD, sum = 0;
  for (int k = 0; k < inner; k++) sum += a[row * inner + k] * b[k * width + column];
  c[row * width + column] = sum;
}
