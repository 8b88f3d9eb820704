// heddle vectorize FILE --func twice --lanes 5 --target avx2 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: @twice: the x86 vector ABI has no signature for 5 lanes: the number of lanes is not a power of two [no-abi-form]
//   help: write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
