// heddle vectorize FILE --func apply --param uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
int apply(int (*callback)(int), int x) { return callback(x) + 1; }

// output
// note: @apply: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 1 in the vector code
//   instructions: 5 vector, 6 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: callback.c:2:49: @apply: call of an external function runs one lane at a time [lane-by-lane]
//   help: define the function in this module, or declare a vector form with `#pragma omp declare simd`
// exit code 0
