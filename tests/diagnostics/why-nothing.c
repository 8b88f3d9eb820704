// heddle analyze FILE --lanes 8 --why speed
int twice(int x) { return 2 * x; }

// output
// error: nothing named `speed`: --why takes a source name, a line, a value (v12) or a block (block2)
// exit code 2
