// A guard around streaming accesses: only what hangs on the thread's number diverges.
// run: @scale(11, 3, &x, &y) lanes=4 local=8 groups=2 with x: i32 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]; y: i32 zero 11
#include "kernel.h"
KERNEL scale(int n, int a, GLOBAL const int *x, GLOBAL int *y) {
  int i = INDEX;
  if (i < n) y[i] += a * x[i];
}
