// heddle vectorize FILE --func mean -o OUT/f.o
double mean(const double *values, int count) {
  long double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i];
  return (double)(sum / count);
}

// output
// error: @mean: `%13 = phi x86_fp80 [ 0xK00000000000000000000, %4 ], [ %17, %11 ]`: floats of type x86_fp80, wider than 64 bits [not-imported]
//   help: use `double` instead of `long double`
// exit code 1
