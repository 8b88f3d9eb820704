// Trace of the cube of a matrix of four by four in private arrays.
//! extent 16384
//! input f:262144 global const float *a
//! output float F
float m[16], square[16];
for (int i = 0; i < 16; i++)
  m[i] = a[x * 16 + i];
for (int i = 0; i < 4; i++)
  for (int j = 0; j < 4; j++) {
    float sum = 0.0f;
    for (int k = 0; k < 4; k++)
      sum += m[i * 4 + k] * m[k * 4 + j];
    square[i * 4 + j] = sum;
  }
r = 0.0f;
for (int i = 0; i < 4; i++)
  for (int k = 0; k < 4; k++)
    r += square[i * 4 + k] * m[k * 4 + i];
