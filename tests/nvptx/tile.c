// A stencil on a tile in shared memory: borders are the thread's, barriers the group's.
// run: @tile(16, &x, &out) lanes=4 local=8 groups=2 with x: i32 [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]; out: i32 zero 16
#include "kernel.h"
SHARED int line[66];
KERNEL tile(int n, GLOBAL const int *x, GLOBAL int *out) {
  int t = THREAD, i = INDEX, size = BLOCK_SIZE;
  line[t + 1] = x[i];
  if (t == 0) line[0] = i > 0 ? x[i - 1] : 0;
  if (t == size - 1) line[size + 1] = i + 1 < n ? x[i + 1] : 0;
  SYNC;
  out[i] = line[t] + 2 * line[t + 1] + line[t + 2];
}
