// heddle analyze FILE --lanes 8 --param speed=varying
int twice(int x) { return 2 * x; }

// output
// error: @twice: it has no parameter `speed`; its parameters are `x` [parameter-shapes]
// exit code 2
