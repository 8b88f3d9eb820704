// heddle vectorize FILE --func pick --params uniform,linear:1 --lanes 8 --target avx2 --report -o OUT/f.o
// An unsigned index may wrap around between two lanes: that is asked when it runs.
float pick(const float *table, unsigned i) { return table[i + 7]; }

// output
// note: @pick: it is vector code for 8 lanes [code-shape]
//   branches: 0 of the source, 1 of the vector code
//   instructions: 10 on vectors, 9 scalar
//   loads and stores: 1 contiguous, 1 gathered or scattered, 0 scalar
// note: version-range.c:3:53: @pick: a load of `table`: side by side if `i + 7` <= 4294967288 in lane 0: cost 25 instead of 89 on avx2 [access-form]
// exit code 0
