// What a block does hangs on its number.
// run: @modes(&x, &out) lanes=4 local=8 groups=3 with x: i32 zero 24; out: i32 zero 24
#include "kernel.h"
KERNEL modes(GLOBAL const int *x, GLOBAL int *out) {
  int i = INDEX, v = x[i];
  switch (BLOCK) {
  case 0: v = v * 3 + 1; break;
  case 1: v = v / 3 - 7; break;
  default:
    if (v > 5) v = 5;
  }
  out[i] = v;
}
