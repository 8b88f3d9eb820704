// A binary search for each thread's own key: the number of rounds is shared, what happens in them is not.
// run: @search(3, &table, &keys, &out) lanes=4 local=8 groups=1 with table: i32 [1, 3, 5, 7, 9, 11, 13, 15]; keys: i32 [0, 3, 4, 7, 15, 20, 9, 1]; out: i32 zero 8
#include "kernel.h"
KERNEL search(int rounds, GLOBAL const int *table, GLOBAL const int *keys, GLOBAL int *out) {
  int key = keys[INDEX], at = 0;
  for (int k = rounds - 1; k >= 0; k--)
    if (table[at + (1 << k) - 1] < key) at += 1 << k;
  out[INDEX] = at;
}
