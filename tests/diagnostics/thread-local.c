// heddle vectorize FILE --func next -o OUT/f.o
static _Thread_local unsigned state = 1;
unsigned next(unsigned salt) {
  state = state * 1664525 + salt;
  return state;
}

// output
// error: @state: thread-local variable [not-imported]
//   help: pass its address
// error: thread-local.c:4:11: @next: unsupported intrinsic llvm.threadlocal.address: thread-local variable [not-imported]
//       state = state * 1664525 + salt;
//               ^^^^^
//   in LLVM IR: `%2 = tail call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @state)`
//   help: pass its address
// exit code 1
