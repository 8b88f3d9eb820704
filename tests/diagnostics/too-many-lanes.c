// heddle vectorize FILE --func twice --lanes 100000 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: `100000` is no brush; write its lanes, as in `8` or, along two dimensions, `8x2`; at most 512 in all [pass-option]
// exit code 1
