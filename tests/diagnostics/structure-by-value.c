// heddle vectorize FILE --func length2 --lanes 8 --target avx2 -o OUT/f.o
struct point { double x, y; };
double length2(struct point p) { return p.x * p.x + p.y * p.y; }

// output
// error: @length2: `p` is split into 2 values, which does not match the C prototype [no-abi-form]
//   help: pass it by address, or write LLVM IR (`.ll`), which keeps Heddle's own signature
// exit code 1
