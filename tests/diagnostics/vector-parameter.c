// heddle vectorize FILE --func add --params uniform,varying,linear:1 --lanes 8 --target avx2 -o OUT/f.o
// Three shapes for three parameters; but no caller of the C prototype passes a vector of vectors.
typedef float float4 __attribute__((vector_size(16)));
void add(float4 *out, float4 a, int i) { out[i] += a; }

// output
// error: @add: `a` is taken apart into 4 numbers, which no caller of the prototype does; pass it by address, or write LLVM IR (`.ll`), which keeps the form that Heddle makes [no-abi-form]
// exit code 1
