// heddle vectorize FILE --func twice --lanes 100000 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: `100000` is not a brush [pass-option]
//   help: write the number of lanes, as in `8` or, for two dimensions, `8x2`; at most 512 lanes
// exit code 1
