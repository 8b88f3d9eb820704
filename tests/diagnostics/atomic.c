// heddle vectorize FILE --func count --params uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
void count(int *bins, unsigned char value) { __atomic_fetch_add(&bins[value], 1, __ATOMIC_RELAXED); }

// output
// note: @count: it is vector code for 8 lanes [code-shape]
//   branches: 0 of the source, 1 of the vector code
//   instructions: 5 on vectors, 7 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: atomic.c:2:46: @count: an atomic operation runs for one lane after the other; combine what lanes do, and let one lane do it for all [lane-by-lane]
// exit code 0
