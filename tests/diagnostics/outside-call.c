// heddle vectorize FILE --func noisy --lanes 8 --target avx2 --report -o OUT/f.o
int rand(void);
float noisy(float x) {
  if (x > 0) return x + rand() % 100;
  return x;
}

// output
// note: @noisy: vectorized for 8 lanes [code-shape]
//   branches: 1 in the source, 2 in the vector code
//   instructions: 10 vector, 8 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: outside-call.c:4:25: @noisy: call of @rand runs one lane at a time [lane-by-lane]
//   help: define the function in this module, or declare a vector form with `#pragma omp declare simd`
// exit code 0
