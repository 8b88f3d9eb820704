// heddle vectorize FILE --func axpy --param uniform,linear:4 -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: @axpy: 2 shapes for 3 parameters [parameter-shapes]
//   help: write one shape for each parameter, as in `uniform,varying,linear:4`, or by name: `n=uniform`
// exit code 1
