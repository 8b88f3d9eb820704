// heddle vectorize FILE --func twice -o OUT/f.o
typedef unsigned _BitInt(256) big;
void twice(big *x) { *x += *x; }

// output
// error: wide-integer.c:3:28: @twice: integers of 256 bits have more than 128; take them apart in the source [not-imported]
//     void twice(big *x) { *x += *x; }
//                                ^
//   in LLVM IR: `%2 = load i256, ptr %0, align 8`
// exit code 1
