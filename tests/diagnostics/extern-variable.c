// heddle vectorize FILE --func g --param uniform,linear:1 --lanes 8 --target avx2 -o OUT/f.o
// A variable of another file is a symbol.
extern int n;
void g(int *p, long i) {
  n++;
  p[i] = n;
}

// output
// exit code 0
