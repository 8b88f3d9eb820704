// All threads look for one key in one table, and all of them leave the loop at once.
// run: @lookup(6, 7, &table, &out) lanes=4 local=8 groups=1 with table: i32 [2, 9, 4, 7, 1, 3]; out: i32 zero 8
#include "kernel.h"
KERNEL lookup(int n, int key, GLOBAL const int *restrict table, GLOBAL int *restrict out) {
  int k = 0;
  while (k < n && table[k] != key) k++;
  out[INDEX] = k + THREAD;
}
