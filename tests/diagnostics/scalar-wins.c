// heddle vectorize FILE --func chase --params uniform,varying --lanes 8 --target znver4 --report -o OUT/f.o
// Nothing is done with what is gathered but to follow it.
long chase(const long *next, long at) {
  while (next[at] != at) at = next[at];
  return at;
}
