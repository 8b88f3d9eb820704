// heddle vectorize FILE --func axpy --params a=unifrom -o OUT/f.o
void axpy(float a, const float *x, float *y) { *y += a * *x; }

// output
// error: invalid value 'a=unifrom' for '--params <[NAME=]SHAPE>': `unifrom` means nothing here; write `uniform`, `varying` or `linear:4`
//
// For more information, try '--help'.
// exit code 2
