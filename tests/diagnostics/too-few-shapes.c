// heddle vectorize FILE --func axpy --params uniform,linear:4 -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: @axpy: it has 3 parameters, and 2 shapes are given; give one for each, as in `uniform,varying,linear:4`, or by name: `n=uniform` [parameter-shapes]
// exit code 1
