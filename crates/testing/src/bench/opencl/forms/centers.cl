// Nearest of sixteen centers in four dimensions, coordinates apart or side by side.
//! extent 16384
//! input f:65536 global const float *a
//! input f:64 global const float *centers
//! output uint I
//! layout apart
float least = INFINITY;
r = 0;
for (int k = 0; k < 16; k++) {
  float distance = 0.0f;
  for (int i = 0; i < 4; i++) {
#ifdef APART
    float difference = a[i * w + x] - centers[k * 4 + i];
#else
    float difference = a[x * 4 + i] - centers[k * 4 + i];
#endif
    distance += difference * difference;
  }
  if (distance < least) {
    least = distance;
    r = k;
  }
}
