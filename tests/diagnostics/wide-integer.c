// heddle vectorize FILE --func twice -o OUT/f.o
typedef unsigned _BitInt(256) big;
void twice(big *x) { *x += *x; }

// output
// error: wide-integer.c:3:28: @twice: integers of 256 bits, more than 128 [not-imported]
//     void twice(big *x) { *x += *x; }
//                                ^
//   in LLVM IR: `%2 = load i256, ptr %0, align 8`
//   help: split them in the source
// exit code 1
