// heddle analyze FILE --lanes 8 --param speed=varying
int twice(int x) { return 2 * x; }

// output
// error: @twice: no parameter `speed` [parameter-shapes]
//   help: the parameters are `x`
// exit code 2
