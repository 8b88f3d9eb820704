// A loop that compilers leave scalar: how long each iteration takes is its own.
void picture(int *out, const float *across, const float *down, int count) {
#pragma omp simd
  for (int i = 0; i < count; i++) {
    float x = 0, y = 0;
    int steps = 0;
    while (steps < 256 && x * x + y * y < 4) {
      float t = x * x - y * y + across[i];
      y = 2 * x * y + down[i];
      x = t;
      steps++;
    }
    out[i] = steps;
  }
}
