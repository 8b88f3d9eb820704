// A polynomial by Horner's rule.
//! extent 262144
//! input f:262144 global const float *a
//! output float F
//! variant array
//! variant float4 x/4 float4
#ifdef FLOAT4
float4 v = vload4(x, a);
#else
float v = a[x];
#endif
#ifdef ARRAY
float factors[8];
for (int i = 0; i < 8; i++)
  factors[i] = 0.5f * i - 1.0f;
r = factors[0];
for (int i = 1; i < 8; i++)
  r = r * v + factors[i];
#else
r = -1.0f;
for (int i = 1; i < 8; i++)
  r = r * v + (0.5f * i - 1.0f);
#endif
