// heddle vectorize FILE --func splat --lanes 8 --target avx2 -o OUT/f.o
typedef float float4 __attribute__((vector_size(16)));
float4 splat(float x) { return (float4){x, x, x, x}; }

// output
// error: @splat: the x86 vector ABI has no signature for 8 lanes: the function returns several values [no-abi-form]
//   help: write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
