// heddle vectorize FILE --func twice --lanes 8 --target avx2 -o OUT/f.o
_Float16 twice(_Float16 x) { return x + x; }

// output
// error: @twice: it has no form in the x86 vector ABI for 8 lanes: it has no vectors of f16; LLVM IR of it (`.ll`) keeps the form that Heddle makes [no-abi-form]
// exit code 1
