// heddle vectorize FILE --func axpy --param a=unifrom -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: invalid value 'a=unifrom' for '--param <[NAME=]SHAPE>': unknown word `unifrom`
//   help: write `uniform`, `varying` or `linear:4`
//
// For more information, try '--help'.
// exit code 2
