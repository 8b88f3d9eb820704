// Sum of two arrays.
//! extent 512 512
//! input f:262144 global const float *a
//! input f:262144 global const float *b
//! output float F
//! variant float4 x/4 float4
#ifdef FLOAT4
r = vload4(y * w + x, a) + vload4(y * w + x, b);
#else
r = a[y * w + x] + b[y * w + x];
#endif
