// heddle vectorize FILE --func axpy --params alpha=uniform -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: @axpy: it has no parameter `alpha`; it has `a`, `x`, `y` [parameter-shapes]
// exit code 1
