// heddle vectorize FILE --func pick --param uniform,linear:1 --lanes 8 --target avx2 --report -o OUT/f.o
// An unsigned index may wrap around between two lanes: the code tests it.
float pick(const float *table, unsigned i) { return table[i + 7]; }

// output
// note: @pick: vectorized for 8 lanes [code-shape]
//   branches: 0 in the source, 1 in the vector code
//   instructions: 10 vector, 9 scalar
//   loads and stores: 1 contiguous, 1 gathered or scattered, 0 scalar
// note: version-range.c:3:53: @pick: load of `table`: contiguous where `i + 7` <= 4294967288; cost 25 instead of 89 on avx2 [access-form]
// exit code 0
