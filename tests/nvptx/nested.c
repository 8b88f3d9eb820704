// A loop of all threads in one that they leave apart: who is there goes round it together.
// run: @nested(4, &x, &out) lanes=4 local=8 groups=1 with x: i32 [1, 0, 3, 2, 2, 5, 0, 1]; out: i32 zero 8
#include "kernel.h"
KERNEL nested(int width, GLOBAL const int *x, GLOBAL int *out) {
  int rounds = x[INDEX], sum = 0;
  for (int i = 0; i < rounds; i++)
    for (int j = 0; j < width; j++) {
      if (j == 2) continue;
      sum += (i ^ j) * rounds;
    }
  out[INDEX] = sum;
}
