// heddle vectorize FILE --func add --param uniform,varying,linear:1 --lanes 8 --target avx2 -o OUT/f.o
// Three shapes for three parameters; but no caller of the C prototype passes a vector of vectors.
typedef float float4 __attribute__((vector_size(16)));
void add(float4 *out, float4 a, int i) { out[i] += a; }

// output
// error: @add: `a` is split into 4 values, which does not match the C prototype [no-abi-form]
//   help: pass it by address, or write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
