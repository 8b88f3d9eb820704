// heddle vectorize FILE --func f --params uniform,varying --lanes 8 --target avx2 -o OUT/f.o
#include <heddle.h>
int f(int *lock, int x) {
  while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
    if (heddle_any(x > 3)) x--;
  }
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
  return x;
}

// output
// error: spin-lock-and-vote.c:4:10: @f: a loop waits by `atomic_rmw` for what another lane does: lanes go on one by one then, and `any` wants them together; take it out of the loop, or let no lane wait for another [waits-together]
//       while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
//              ^^^^^^^^^^^^^^^^^^^
//   said by `progress`
// exit code 1
