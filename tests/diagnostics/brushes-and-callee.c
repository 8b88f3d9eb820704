// heddle vectorize FILE --func f --param uniform,linear:1 --brushes 2 --lanes 8 --target avx2 -o OUT/f.o
// What is called asks nobody: two brushes may run side by side.
__attribute__((noinline)) int helper(int x) { return x * x + 1; }
void f(int *o, long i) { o[i] = helper(o[i]); }

// output
// exit code 0
