// What an atomic operation gives back is each thread's own.
// run: @histogram(&x, &bins, &first) lanes=4 local=8 groups=1 with x: i32 [1, 0, 1, 3, 2, 1, 0, 3]; bins: i32 zero 4; first: i32 zero 4
#include "kernel.h"
KERNEL histogram(GLOBAL const int *x, GLOBAL int *bins, GLOBAL int *first) {
  int bin = x[INDEX] & 3;
  if (__atomic_fetch_add(&bins[bin], 1, __ATOMIC_RELAXED) == 0) first[bin] = INDEX;
}
