// Bilateral filter of a gray picture: weights by distance, which are constants, and by difference of brightness.
#define RADIUS 3
__constant__ float near[2 * RADIUS + 1][2 * RADIUS + 1];

extern "C" __global__ void bilateral(const float *in, float *out, int width, int height, float factor) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float center = in[y * width + x], sum = 0, weights = 0;
  for (int dy = -RADIUS; dy <= RADIUS; dy++)
    for (int dx = -RADIUS; dx <= RADIUS; dx++) {
      int from_x = min(max(x + dx, 0), width - 1), from_y = min(max(y + dy, 0), height - 1);
      float value = in[from_y * width + from_x], off = value - center;
      float weight = near[dy + RADIUS][dx + RADIUS] * expf(off * off * factor);
      sum += weight * value;
      weights += weight;
    }
  out[y * width + x] = sum / weights;
}
