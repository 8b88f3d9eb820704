// heddle vectorize FILE --func forever --lanes 8 --target avx2 --report -o OUT/f.o
void forever(volatile int *p) { for (;;) *p += 1; }

// output
// note: @forever: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 2 in the vector code
//   instructions: 6 vector, 14 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 2 scalar
// note: infinite-loop.c:2:45: @forever: volatile `load` runs one lane at a time [lane-by-lane]
//   help: remove `volatile` if nothing else accesses the memory
// note: infinite-loop.c:2:45: @forever: volatile `store` runs one lane at a time [lane-by-lane]
//   help: remove `volatile` if nothing else accesses the memory
// exit code 0
