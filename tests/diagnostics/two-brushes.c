// heddle vectorize FILE --func neighbour --lanes 8 --brushes 2 --target avx2 -o OUT/f.o
#include <heddle.h>
int neighbour(int x) { return x - heddle_shuffle(x, heddle_lane() + 1); }

// output
// error: two-brushes.c:3:53: @neighbour: `lane`: it depends on which lanes are in its brush, and would see 2 brushes as one; let one run at a time, or write all lanes as one brush if that is meant [sees-brush]
//     int neighbour(int x) { return x - heddle_shuffle(x, heddle_lane() + 1); }
//                                                         ^^^^^^^^^^^
//   said by `brushes`
// exit code 1
