// Histogram of bytes: each block counts in shared memory, and adds its counts to those of all.
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int count) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
