// heddle vectorize FILE --func scale --lanes 8 --target avx2 --report -o OUT/f.o
// What is called may be refused: then it is called as it is, for one lane after the other.
__attribute__((noinline)) static float precise(float x) {
  long double y = x;
  return (float)(y * y * 1.0000000001L);
}
float scale(float x) { return precise(x) + 1; }

// output
// warning: refused-callee.c:4:19: @precise: floats of type x86_fp80 are wider than 64 bits; use `double` instead of `long double` [not-imported]
//       long double y = x;
//                       ^
//   in LLVM IR: `%2 = fpext float %0 to x86_fp80`
// note: @scale: it is vector code for 8 lanes [code-shape]
//   branches: 0 of the source, 1 of the vector code
//   instructions: 5 on vectors, 6 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: refused-callee.c:7:31: @scale: the call of @precise runs for one lane after the other; define it in this module, or declare a vector form, by `#pragma omp declare simd` [lane-by-lane]
// exit code 0
