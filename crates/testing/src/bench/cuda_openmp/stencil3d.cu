// One step of a 7-point stencil in a volume: a thread goes through a column of planes and keeps three of its values.
extern "C" __global__ void stencil(const float *in, float *out, int width, int height, int depth, float center, float around) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  int plane = width * height, at = y * width + x + plane;
  float below = in[at - plane], own = in[at];
  for (int z = 1; z < depth - 1; z++, at += plane) {
    float above = in[at + plane];
    out[at] = center * own + around * (below + above + in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
    below = own;
    own = above;
  }
}
