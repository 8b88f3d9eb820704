// heddle vectorize FILE --func splat --lanes 8 --target avx2 -o OUT/f.o
typedef float float4 __attribute__((vector_size(16)));
float4 splat(float x) { return (float4){x, x, x, x}; }

// output
// error: @splat: it has no form in the x86 vector ABI for 8 lanes: it gives several values; LLVM IR of it (`.ll`) keeps the form that Heddle makes [no-abi-form]
// exit code 1
