// heddle vectorize FILE --func axpy --param alpha=uniform -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: @axpy: no parameter `alpha` [parameter-shapes]
//   help: the parameters are `a`, `x`, `y`
// exit code 1
