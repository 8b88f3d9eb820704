// heddle analyze FILE --lanes 8 --why speed
int twice(int x) { return 2 * x; }

// output
// error: there is no `speed` here: --why takes a name of the source, a line, a value (v12) or a block (block2)
// exit code 2
