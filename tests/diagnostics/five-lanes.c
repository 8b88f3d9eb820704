// heddle vectorize FILE --func twice --lanes 5 --target avx2 -o OUT/f.o
int twice(int x) { return 2 * x; }

// output
// error: @twice: it has no form in the x86 vector ABI for 5 lanes: the number of lanes is no power of two; LLVM IR of it (`.ll`) keeps the form that Heddle makes [no-abi-form]
// exit code 1
