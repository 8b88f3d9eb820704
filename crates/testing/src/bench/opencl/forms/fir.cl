// Filter of sixteen factors.
//! extent 65536
//! input f:65552 global const float *a
//! input f:16 constant float *factors
//! output float F
//! variant array
r = 0.0f;
#ifdef ARRAY
float values[16];
for (int k = 0; k < 16; k++)
  values[k] = a[x + k];
for (int k = 0; k < 16; k++)
  r += factors[k] * values[k];
#else
for (int k = 0; k < 16; k++)
  r += factors[k] * a[x + k];
#endif
