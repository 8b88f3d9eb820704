// Product of a matrix and a vector, a row for each item.
//! extent 1024
//! input f:524288 global const float *a
//! input f:512 global const float *v
//! output float F
r = 0.0f;
for (int k = 0; k < 512; k++)
  r += a[x * 512 + k] * v[k];
