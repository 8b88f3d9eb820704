// heddle vectorize FILE --func length2 --lanes 8 --target avx2 -o OUT/f.o
struct point { double x, y; };
double length2(struct point p) { return p.x * p.x + p.y * p.y; }

// output
// error: @length2: `p` is taken apart into 2 numbers, which no caller of the prototype does; pass it by address, or write LLVM IR (`.ll`), which keeps the form that Heddle makes [no-abi-form]
// exit code 1
