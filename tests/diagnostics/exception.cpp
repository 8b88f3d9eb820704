// heddle vectorize FILE --func check -o OUT/f.o -- -fexceptions
struct Lock { Lock(); ~Lock(); };
int may_throw(int x);
extern "C" int check(int x) {
  Lock lock;
  return may_throw(x);
}

// output
// error: exception.cpp:6:10: @check: `invoke` is refused (exceptions); compile with -fno-exceptions, or -C panic=abort [not-imported]
//       return may_throw(x);
//              ^^^^^^^^^
//   in LLVM IR: `%3 = invoke noundef i32 @_Z9may_throwi(i32 noundef %0)`
// exit code 1
