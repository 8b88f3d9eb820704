// heddle vectorize FILE --func scale --params x=linear(ref:4) -o OUT/f.o
void scale(float *x) { *x *= 2; }

// output
// error: invalid value 'x=linear(ref:4)' for '--params <[NAME=]SHAPE>': `linear(ref:4)` means nothing here; write `uniform`, `varying` or `linear:4`
//
// For more information, try '--help'.
// exit code 2
