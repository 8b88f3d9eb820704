// heddle vectorize FILE --func count --param uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
void count(int *bins, unsigned char value) { __atomic_fetch_add(&bins[value], 1, __ATOMIC_RELAXED); }

// output
// note: @count: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 1 in the vector code
//   instructions: 5 vector, 7 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: atomic.c:2:46: @count: atomic operation runs one lane at a time [lane-by-lane]
//   help: combine the lanes' values and update memory once
// exit code 0
