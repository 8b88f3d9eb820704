// What is the same in a round of a loop that threads leave apart is not the same after it.
// run: @last(&limit, &table, &out) lanes=4 local=8 groups=1 with limit: i32 [1, 5, 3, 9, 2, 2, 7, 4]; table: i32 [5, 1, 4, 2, 8, 3, 7, 6, 0, 9]; out: i32 zero 8
#include "kernel.h"
KERNEL last(GLOBAL const int *limit, GLOBAL const int *restrict table, GLOBAL int *restrict out) {
  int most = limit[INDEX], step = 0, found;
  do {
    found = table[step];
    if (found > 4) step++;
    step++;
  } while (step < most);
  out[INDEX] = found;
}
