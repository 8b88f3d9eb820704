// A function that is not inlined, called with what all threads share and with what they do not.
// run: @calls(&x, 5, &out) lanes=4 local=8 groups=1 with x: i32 [1, 0, 3, 2, 2, 5, 0, 1]; out: i32 zero 8
#include "kernel.h"
__attribute__((noinline)) static int gcd(int a, int b) {
  while (b != 0) {
    int r = a % b;
    a = b;
    b = r;
  }
  return a;
}
KERNEL calls(GLOBAL const int *x, int n, GLOBAL int *out) {
  int shared = gcd(n, 15);
  if (shared > 3) out[INDEX] = gcd(x[INDEX], n);
}
