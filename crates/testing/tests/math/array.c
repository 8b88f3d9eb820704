// A mathematical function over arrays: `-DFILE="sinf.c" -DREAL=float -DARRAY=array_sinf -D'CALL(x, y)=sinf(x)'`.
#include FILE

void ARRAY(REAL *restrict results, const REAL *restrict x, const REAL *restrict y, long count) {
  for (long i = 0; i < count; i++)
    results[i] = CALL(x[i], y[i]);
}
