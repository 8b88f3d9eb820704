// Heat in a plate: one step of a 5-point stencil; borders keep their temperature.
extern "C" __global__ void heat(const float *in, float *out, int width, int height, float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int at = y * width + x;
  float center = in[at];
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[at] = center;
    return;
  }
  out[at] = center + rate * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4.0f * center);
}
