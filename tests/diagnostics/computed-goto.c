// heddle vectorize FILE --func run -o OUT/f.o
int run(const unsigned char *code, int value) {
  static void *const targets[] = {&&add, &&twice, &&done};
next:
  goto *targets[*code++];
add:
  value += 1;
  goto next;
twice:
  value *= 2;
  goto next;
done:
  return value;
}

// output
// error: @run.targets: `ptr blockaddress(@run, %11)` as initial value [not-imported]
//   help: compute it at run time
// error: computed-goto.c:5:9: @run: use of @run.targets: `ptr blockaddress(@run, %11)` as initial value [not-imported]
//       goto *targets[*code++];
//             ^^^^^^^
//   in LLVM IR: `%9 = getelementptr inbounds nuw ptr, ptr @run.targets, i64 %8`
//   help: compute it at run time
// exit code 1
