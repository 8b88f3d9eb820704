// heddle vectorize FILE --func f --target avx2 -o OUT/no/such/folder/f.s
int f(int x) { return x; }

// output
// error: OUT/no/such/folder/f.s: No such file or directory (os error 2) [output]
// exit code 2
