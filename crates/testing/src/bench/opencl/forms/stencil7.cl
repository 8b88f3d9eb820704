// Seven-point stencil in three dimensions, inner points only.
//! extent 64 64 64
//! input f:262144 global const float *a
//! output float F
INDEX i = (z * h + y) * w + x;
r = a[i];
if (x > 0 && y > 0 && z > 0 && x + 1 < w && y + 1 < h && z + 1 < d)
  r = 0.4f * r + 0.1f * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w] + a[i - w * h] + a[i + w * h]);
