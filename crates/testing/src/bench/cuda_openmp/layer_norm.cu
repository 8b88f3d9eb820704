// Layer normalization of rows: mean and variance by shuffles and shared memory, then scale and offset.
__device__ float block_sum(float value) {
  __shared__ float partial[32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(~0u, value, by);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(~0u, value, by);
    if (threadIdx.x == 0) partial[0] = value;
  }
  __syncthreads();
  value = partial[0];
  __syncthreads();
  return value;
}

extern "C" __global__ void layer_norm(const float *in, const float *scale, const float *offset, float *out, int columns, float epsilon) {
  const float *row = in + (size_t)blockIdx.x * columns;
  float *to = out + (size_t)blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  float mean = block_sum(sum) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float off = row[i] - mean;
    squares += off * off;
  }
  float inverse = rsqrtf(block_sum(squares) / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = (row[i] - mean) * inverse * scale[i] + offset[i];
}
