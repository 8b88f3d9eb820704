// heddle vectorize FILE --func add --param uniform,varying,varying,varying,varying,linear:1 -o OUT/f.ll
// Shapes are for the parameters of the source, not for what a vector is taken apart into.
typedef float float4 __attribute__((vector_size(16)));
void add(float4 *out, float4 a, int i) { out[i] += a; }

// output
// error: @add: 6 shapes for 3 parameters [parameter-shapes]
//   help: write one shape for each parameter, as in `uniform,varying,linear:4`, or by name: `n=uniform`
// exit code 1
