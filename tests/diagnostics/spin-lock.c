// heddle vectorize FILE --func deposit --param uniform,uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
void deposit(int *lock, int *balance, int amount) {
  while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {}
  *balance += amount;
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

// output
// note: @deposit: vectorized for 8 lanes [code-shape]
//   branches: 1 in the source, 6 in the vector code
//   instructions: 22 vector, 24 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 3 scalar
// note: spin-lock.c:3:10: @deposit: the loop waits by `atomic_rmw` for another lane: lanes advance one block a round [waits]
// note: spin-lock.c:3:10: @deposit: atomic operation runs one lane at a time [lane-by-lane]
//   help: combine the lanes' values and update memory once
// exit code 0
