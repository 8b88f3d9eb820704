// heddle vectorize FILE --func f --param uniform,varying --lanes 8 --target avx2 -o OUT/f.o
#include <heddle.h>
int f(int *lock, int x) {
  while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
    if (heddle_any(x > 3)) x--;
  }
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
  return x;
}

// output
// error: spin-lock-and-vote.c:4:10: @f: the loop waits by `atomic_rmw` for another lane: lanes advance one by one, but `any` needs them together [waits-together]
//       while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
//              ^^^^^^^^^^^^^^^^^^^
//   in pass `progress`
//   help: take it out of the loop, or let no lane wait for another
// exit code 1
