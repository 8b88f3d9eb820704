// heddle vectorize FILE --func twice --lanes 0 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: `0` is not a brush [pass-option]
//   help: write the number of lanes, as in `8` or, for two dimensions, `8x2`; at most 512 lanes
// exit code 1
