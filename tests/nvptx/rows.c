// Rows of a sparse matrix: each thread has its own bounds.
// run: @rows(5, &start, &value, &out) lanes=4 local=8 groups=1 with start: i32 [0, 2, 2, 5, 6, 9]; value: i32 [1, 2, 3, 4, 5, 6, 7, 8, 9]; out: i32 zero 5
#include "kernel.h"
KERNEL rows(int n, GLOBAL const int *start, GLOBAL const int *value, GLOBAL int *out) {
  int row = INDEX;
  if (row >= n) return;
  int sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++) sum += value[k];
  out[row] = sum;
}
