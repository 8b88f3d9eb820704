// heddle vectorize FILE --func twice --lanes 0 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: `0` is no brush; write its lanes, as in `8` or, along two dimensions, `8x2`; at most 512 in all [pass-option]
// exit code 1
