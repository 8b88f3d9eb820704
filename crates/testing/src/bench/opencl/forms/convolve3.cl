// Convolution with three by three factors, inner points only.
//! extent 512 512
//! input f:262144 global const float *a
//! input f:9 constant float *factors
//! output float F
//! variant array
r = 0.0f;
if (x > 0 && y > 0 && x + 1 < w && y + 1 < h) {
#ifdef ARRAY
  float values[9];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      values[j * 3 + i] = a[(y + j - 1) * w + x + i - 1];
  for (int k = 0; k < 9; k++)
    r += factors[k] * values[k];
#else
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      r += factors[j * 3 + i] * a[(y + j - 1) * w + x + i - 1];
#endif
}
