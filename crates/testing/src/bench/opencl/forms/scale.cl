// Each element by a factor.
//! extent 512 512
//! input f:262144 global const float *a
//! input x=2.5 float factor
//! output float F
//! variant float4 x/4 float4
#ifdef FLOAT4
float4 v = vload4(y * w + x, a);
r = factor * v + 1.0f;
#else
r = factor * a[y * w + x] + 1.0f;
#endif
