// heddle vectorize FILE --func next --lanes 4 --target avx2 -o OUT/f.o
// Four bytes fill no register.
unsigned char next(unsigned char c) { return c + 1; }

// output
// error: @next: it has no form in the x86 vector ABI for 4 lanes: so few i8 fill no register of 64 bits, ask for 8 lanes; LLVM IR of it (`.ll`) keeps the form that Heddle makes [no-abi-form]
// exit code 1
