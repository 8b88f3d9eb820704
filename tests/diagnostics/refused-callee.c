// heddle vectorize FILE --func scale --lanes 8 --target avx2 --report -o OUT/f.o
// What is called may be refused: then it is called as it is, for one lane after the other.
__attribute__((noinline)) static float precise(float x) {
  long double y = x;
  return (float)(y * y * 1.0000000001L);
}
float scale(float x) { return precise(x) + 1; }

// output
// warning: refused-callee.c:4:19: @precise: floats of type x86_fp80, wider than 64 bits [not-imported]
//       long double y = x;
//                       ^
//   in LLVM IR: `%2 = fpext float %0 to x86_fp80`
//   help: use `double` instead of `long double`
// note: @scale: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 1 in the vector code
//   instructions: 5 vector, 6 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: refused-callee.c:7:31: @scale: call of @precise runs one lane at a time [lane-by-lane]
//   help: define the function in this module, or declare a vector form with `#pragma omp declare simd`
// exit code 0
