// Squared distances of all pairs of points with eight coordinates.
//! extent 256 256
//! input f:2048 global const float *a
//! input f:2048 global const float *b
//! output float F
//! variant array
r = 0.0f;
#ifdef ARRAY
float differences[8];
for (int k = 0; k < 8; k++)
  differences[k] = a[y * 8 + k] - b[x * 8 + k];
for (int k = 0; k < 8; k++)
  r += differences[k] * differences[k];
#else
for (int k = 0; k < 8; k++) {
  float difference = a[y * 8 + k] - b[x * 8 + k];
  r += difference * difference;
}
#endif
