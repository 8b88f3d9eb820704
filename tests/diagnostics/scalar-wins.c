// heddle vectorize FILE --func walk --param uniform,varying --lanes 8 --target znver4 --report -o OUT/f.o
// Lanes read here and there, and do little with what they read.
#define TABLE(number) table[at + ((unsigned long)number << 20)]
unsigned long walk(const unsigned long *table, unsigned long at) {
  unsigned long all = 0;
  while (at != 0) {
    all ^= TABLE(1) ^ TABLE(2) ^ TABLE(3) ^ TABLE(4) ^ TABLE(5) ^ TABLE(6) ^ TABLE(7) ^ TABLE(8) ^ TABLE(9);
    at = TABLE(0);
  }
  return all;
}

// output
// note: @walk: vectorized for 8 lanes [code-shape]
//   branches: 2 in the source, 1 in the vector code
//   instructions: 47 vector, 5 scalar
//   loads and stores: 0 contiguous, 10 gathered or scattered, 0 scalar
// note: scalar-wins.c:7:12: @walk: scalar code is likely faster: an iteration of 8 lanes takes 101.6 cycles as vector code, and 80.0 as scalar code, on znver4 [scalar-wins]
// exit code 0
