// Softmax of rows: a block takes a row, and reduces it by shuffles and shared memory.
__device__ float block_reduce(float value, bool is_max) {
  __shared__ float partial[32];
  for (int by = 16; by > 0; by /= 2) {
    float other = __shfl_xor_sync(~0u, value, by);
    value = is_max ? fmaxf(value, other) : value + other;
  }
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? partial[lane] : (is_max ? -INFINITY : 0.0f);
  for (int by = 16; by > 0; by /= 2) {
    float other = __shfl_xor_sync(~0u, value, by);
    value = is_max ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
  const float *row = in + (size_t)blockIdx.x * columns;
  float *to = out + (size_t)blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
  most = block_reduce(most, true);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
  sum = block_reduce(sum, false);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = expf(row[i] - most) / sum;
}
