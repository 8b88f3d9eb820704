// Product of square matrices, an element of the result for each item.
//! extent 256 256
//! input f:65536 global const float *a
//! input f:65536 global const float *b
//! output float F
//! variant float4 x/4 float4
#ifdef FLOAT4
r = 0.0f;
for (INDEX k = 0; k < h; k++)
  r += a[y * h + k] * vload4(k * w + x, b);
#else
r = 0.0f;
for (INDEX k = 0; k < w; k++)
  r += a[y * w + k] * b[k * w + x];
#endif
