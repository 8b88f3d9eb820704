// A tree in shared memory: the loop and its barriers are the group's, the guard inside is the thread's.
// run: @sum(&x, &y) lanes=4 local=8 groups=2 with x: i32 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]; y: i32 zero 2
#include "kernel.h"
SHARED int part[64];
KERNEL sum(GLOBAL const int *x, GLOBAL int *y) {
  int t = THREAD;
  part[t] = x[INDEX];
  SYNC;
  for (int s = BLOCK_SIZE / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    SYNC;
  }
  if (t == 0) y[BLOCK] = part[0];
}
