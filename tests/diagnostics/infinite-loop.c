// heddle vectorize FILE --func forever --lanes 8 --target avx2 --report -o OUT/f.o
void forever(volatile int *p) { for (;;) *p += 1; }

// output
// note: @forever: it is vector code for 8 lanes [code-shape]
//   branches: 0 of the source, 2 of the vector code
//   instructions: 6 on vectors, 14 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 2 scalar
// note: infinite-loop.c:2:45: @forever: a volatile `load` runs for one lane after the other; take `volatile` away where nothing else looks at it [lane-by-lane]
// note: infinite-loop.c:2:45: @forever: a volatile `store` runs for one lane after the other; take `volatile` away where nothing else looks at it [lane-by-lane]
// exit code 0
