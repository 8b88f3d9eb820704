// heddle vectorize FILE --func neighbour --lanes 8 --brushes 2 --target avx2 -o OUT/f.o
#include <heddle.h>
int neighbour(int x) { return x - heddle_shuffle(x, heddle_lane() + 1); }

// output
// error: two-brushes.c:3:53: @neighbour: `lane`: the result depends on the lanes of the brush, and 2 brushes would be observed as one [sees-brush]
//     int neighbour(int x) { return x - heddle_shuffle(x, heddle_lane() + 1); }
//                                                         ^^^^^^^^^^^
//   in pass `brushes`
//   help: run one brush at a time, or write one wide brush
// exit code 1
