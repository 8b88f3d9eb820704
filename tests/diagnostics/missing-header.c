// heddle vectorize FILE --func f -o OUT/f.o
#include "my_types.h"
number f(number x) { return x; }

// output
// error: missing-header.c: clang reports errors [front-end]
//   missing-header.c:2:10: fatal error: 'my_types.h' file not found
//       2 | #include "my_types.h"
//         |          ^~~~~~~~~~~~
//   1 error generated.
// exit code 1
