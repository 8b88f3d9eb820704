// Rows minus their mean, times their scale.
//! extent 512 512
//! input f:262144 global const float *a
//! input f:512 global const float *mean
//! input f:512 global const float *scale
//! output float F
//! variant float4 x/4 float4
#ifdef FLOAT4
r = (vload4(y * w + x, a) - mean[y]) * scale[y];
#else
r = (a[y * w + x] - mean[y]) * scale[y];
#endif
