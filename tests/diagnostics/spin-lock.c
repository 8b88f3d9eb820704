// heddle vectorize FILE --func deposit --params uniform,uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
void deposit(int *lock, int *balance, int amount) {
  while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {}
  *balance += amount;
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

// output
// note: @deposit: it is vector code for 8 lanes [code-shape]
//   branches: 1 of the source, 7 of the vector code
//   instructions: 23 on vectors, 29 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 3 scalar
// note: spin-lock.c:3:10: @deposit: a loop waits by `atomic_rmw` for what another lane does: lanes go on one block a round [waits]
// note: spin-lock.c:5:3: @deposit: an atomic store runs for one lane after the other; let one lane store for all, if it is one place [lane-by-lane]
// note: spin-lock.c:3:10: @deposit: an atomic operation runs for one lane after the other; combine what lanes do, and let one lane do it for all [lane-by-lane]
// exit code 0
