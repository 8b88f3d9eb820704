// Softmax's denominator of each row, a row for each item.
//! extent 2048
//! input f:131072 global const float *a
//! output float F
float most = a[x * 64];
for (int k = 1; k < 64; k++)
  most = fmax(most, a[x * 64 + k]);
r = 0.0f;
for (int k = 0; k < 64; k++)
  r += native_exp(a[x * 64 + k] - most);
