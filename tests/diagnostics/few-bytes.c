// heddle vectorize FILE --func next --lanes 4 --target avx2 -o OUT/f.o
// Four bytes fill no register.
unsigned char next(unsigned char c) { return c + 1; }

// output
// error: @next: the x86 vector ABI has no signature for 4 lanes: i8 values fill no 64-bit register; use 8 lanes [no-abi-form]
//   help: write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
