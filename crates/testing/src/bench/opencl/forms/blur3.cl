// Mean of 27 neighbours in three dimensions, inner points only.
//! extent 64 64 32
//! input f:131072 global const float *a
//! output float F
r = 0.0f;
if (x > 0 && y > 0 && z > 0 && x + 1 < w && y + 1 < h && z + 1 < d) {
  for (int k = -1; k <= 1; k++)
    for (int j = -1; j <= 1; j++)
      for (int i = -1; i <= 1; i++)
        r += a[((z + k) * h + y + j) * w + x + i];
  r *= 1.0f / 27.0f;
}
