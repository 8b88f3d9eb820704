// Products of many small matrices.
//! extent 16 16 256
//! input f:65536 global const float *a
//! input f:65536 global const float *b
//! output float F
r = 0.0f;
for (int k = 0; k < 16; k++)
  r += a[(z * h + y) * 16 + k] * b[(z * 16 + k) * w + x];
