// A walk over a tree with a stack of its own in each thread, but all threads walk the same way.
// run: @tree(&left, &right, &out) lanes=4 local=8 groups=1 with left: i32 [1, 3, 0, 0]; right: i32 [2, 0, 0, 0]; out: i32 zero 8
#include "kernel.h"
KERNEL tree(GLOBAL const int *restrict left, GLOBAL const int *restrict right, GLOBAL int *restrict out) {
  int stack[16], top = 0, seen = 0;
  stack[top++] = 0;
  while (top > 0) {
    int node = stack[--top];
    seen += node + 1;
    if (left[node] && top < 15) stack[top++] = left[node];
    if (right[node] && top < 15) stack[top++] = right[node];
  }
  out[INDEX] = seen + THREAD;
}
