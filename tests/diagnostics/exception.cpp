// heddle vectorize FILE --func check -o OUT/f.o -- -fexceptions
struct Lock { Lock(); ~Lock(); };
int may_throw(int x);
extern "C" int check(int x) {
  Lock lock;
  return may_throw(x);
}

// output
// error: exception.cpp:6:10: @check: unsupported instruction `invoke`: exceptions [not-imported]
//       return may_throw(x);
//              ^^^^^^^^^
//   in LLVM IR: `%3 = invoke noundef i32 @_Z9may_throwi(i32 noundef %0)`
//   help: compile with -fno-exceptions, or -C panic=abort
// exit code 1
