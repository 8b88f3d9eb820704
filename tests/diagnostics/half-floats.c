// heddle vectorize FILE --func twice --lanes 8 --target avx2 -o OUT/f.o
_Float16 twice(_Float16 x) { return x + x; }

// output
// error: @twice: the x86 vector ABI has no signature for 8 lanes: it has no vectors of f16 [no-abi-form]
//   help: write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
