// heddle vectorize FILE --func half -o OUT/f.o
float half(float x) {
  return x / 2
}

// output
// error: syntax.c: clang reports errors [front-end]
//   syntax.c:3:15: error: expected ';' after return statement
//       3 |   return x / 2
//         |               ^
//         |               ;
//   1 error generated.
// exit code 1
