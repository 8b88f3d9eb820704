// Threads leave the loop apart; how far it has come is shared by those who are in it, and not any more after it.
// run: @escape(9, &out) lanes=4 local=8 groups=1 with out: i32 zero 8
#include "kernel.h"
KERNEL escape(int most, GLOBAL int *out) {
  int x = THREAD * 3, i = 0;
  while (i < most && x < 40) {
    x = x + x / 2 + 1;
    i++;
  }
  out[INDEX] = i;
}
