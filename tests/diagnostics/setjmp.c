// heddle vectorize FILE --func guarded -o OUT/f.o
#include <setjmp.h>
extern jmp_buf escape;
int compute(int x);
int guarded(int x) {
  if (setjmp(escape)) return -1;
  return compute(x);
}

// output
// error: setjmp.c:6:7: @guarded: @_setjmp may return twice [not-imported]
//       if (setjmp(escape)) return -1;
//           ^^^^^^
//   in LLVM IR: `%2 = call i32 @_setjmp(ptr noundef nonnull @escape)`
//   help: remove setjmp
// exit code 1
