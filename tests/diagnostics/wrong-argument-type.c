// heddle vectorize FILE --func f -o OUT/f.o
int f(int x) { return x.value + y; }

// output
// error: wrong-argument-type.c: clang reports errors [front-end]
//   wrong-argument-type.c:2:24: error: member reference base type 'int' is not a structure or union
//       2 | int f(int x) { return x.value + y; }
//         |                       ~^~~~~~
//   wrong-argument-type.c:2:33: error: use of undeclared identifier 'y'
//       2 | int f(int x) { return x.value + y; }
//         |                                 ^
//   2 errors generated.
// exit code 1
