// heddle vectorize FILE --func turn --param uniform,linear:1 --lanes 8 --target avx2 --report -o OUT/f.o
// An `int` index that is promised to be linear does not wrap around: no version for that.
void turn(float *a, int i) {
  float x = a[2 * i];
  a[2 * i] = a[2 * i + 1];
  a[2 * i + 1] = x;
}

// output
// note: @turn: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 0 in the vector code
//   instructions: 8 vector, 6 scalar
//   loads and stores: 4 contiguous, 0 gathered or scattered, 0 scalar
// note: linear-int.c:4:13: @turn: 2 loads of `a`: in whole vectors by 8 bytes; cost 36 instead of 178 on avx2 [access-form]
// note: linear-int.c:5:12: @turn: 2 stores of `a`: in whole vectors by 8 bytes; cost 40 instead of 192 on avx2 [access-form]
// exit code 0
