// heddle vectorize FILE --func noisy --lanes 8 --target avx2 --report -o OUT/f.o
int rand(void);
float noisy(float x) {
  if (x > 0) return x + rand() % 100;
  return x;
}

// output
// note: @noisy: it is vector code for 8 lanes [code-shape]
//   branches: 1 of the source, 2 of the vector code
//   instructions: 10 on vectors, 8 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: outside-call.c:4:25: @noisy: the call of @rand runs for one lane after the other; define it in this module, or declare a vector form, by `#pragma omp declare simd` [lane-by-lane]
// exit code 0
