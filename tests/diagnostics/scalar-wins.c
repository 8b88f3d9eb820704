// heddle vectorize FILE --func walk --params uniform,varying --lanes 8 --target znver4 --report -o OUT/f.o
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
// note: @walk: it is vector code for 8 lanes [code-shape]
//   branches: 2 of the source, 2 of the vector code
//   instructions: 49 on vectors, 7 scalar
//   loads and stores: 0 contiguous, 10 gathered or scattered, 0 scalar
// note: scalar-wins.c:7:12: @walk: scalar code would win: an iteration keeps the machine busy for 101.6 cycles as vector code of 8 lanes, and for 80.0 if they run one after the other, on znver4 [scalar-wins]
// exit code 0
