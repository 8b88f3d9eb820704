// heddle vectorize FILE --func scale --param x=linear(ref:4) -o OUT/f.o
void scale(float *x) { *x *= 2; }

// output
// error: invalid value 'x=linear(ref:4)' for '--param <[NAME=]SHAPE>': unknown word `linear(ref:4)`
//   help: write `uniform`, `varying` or `linear:4`
//
// For more information, try '--help'.
// exit code 2
