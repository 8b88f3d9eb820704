// heddle vectorize FILE --func pick --param uniform,linear:1 --lanes 8 --target avx2 --report -o OUT/f.o
// Every third element of a table: loads and shuffles, or gathers.
int pick(const int *table, long i) { return table[3 * i] + table[3 * i + 1]; }

// output
// note: @pick: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 0 in the vector code
//   instructions: 10 vector, 4 scalar
//   loads and stores: 3 contiguous, 0 gathered or scattered, 0 scalar
// note: gathers.c:3:45: @pick: 2 loads of `table`: in whole vectors by 12 bytes; cost 67 instead of 178 on avx2 [access-form]
// exit code 0
