// heddle vectorize FILE --func apply --params uniform,varying --lanes 8 --target avx2 --report -o OUT/f.o
int apply(int (*callback)(int), int x) { return callback(x) + 1; }

// output
// note: @apply: it is vector code for 8 lanes [code-shape]
//   branches: 0 of the source, 1 of the vector code
//   instructions: 5 on vectors, 6 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: callback.c:2:49: @apply: a call of what is defined elsewhere runs for one lane after the other; define it in this module, or declare a vector form, by `#pragma omp declare simd` [lane-by-lane]
// exit code 0
