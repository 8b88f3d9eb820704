// heddle vectorize FILE --func sum -o OUT/f.o
#include <stdarg.h>
int sum(int count, ...) {
  va_list all;
  va_start(all, count);
  int total = 0;
  for (int i = 0; i < count; i++) total += va_arg(all, int);
  va_end(all);
  return total;
}

// output
// error: @sum: variable number of arguments [not-imported]
//   help: give the function a fixed number of arguments
// exit code 1
