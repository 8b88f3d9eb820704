// Estimates pi: each thread draws points of a sequence of its own; warps and then blocks add up those in the circle.
extern "C" __global__ void count_hits(unsigned *hits, unsigned samples) {
  unsigned state = blockIdx.x * blockDim.x + threadIdx.x + 1, inside = 0;
  for (unsigned i = 0; i < samples; i++) {
    state = state * 1664525u + 1013904223u;
    float x = (state >> 20) * (1.0f / 4096.0f);
    state = state * 1664525u + 1013904223u;
    float y = (state >> 20) * (1.0f / 4096.0f);
    inside += x * x + y * y < 1.0f;
  }
  __shared__ unsigned sums[8];
  for (int by = 16; by > 0; by /= 2) inside += __shfl_down_sync(~0u, inside, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = inside;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++) sum += sums[i];
    atomicAdd(hits, sum);
  }
}
