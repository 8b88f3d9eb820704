// Attention of one head: products of queries and keys, softmax of their rows, products with values. Tiles are 16 x 16.
#define TILE 16

// out = scale * a * transposed b; rows of both have `depth` numbers.
extern "C" __global__ void scores(const float *a, const float *b, float *out, int count, int depth, float scale) {
  __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < depth; start += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * depth + start + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(blockIdx.x * TILE + threadIdx.y) * depth + start + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[threadIdx.x][k];
    __syncthreads();
  }
  out[row * count + column] = scale * sum;
}

extern "C" __global__ void softmax_rows(float *rows, int count) {
  __shared__ float partial[4];
  float *row = rows + (size_t)blockIdx.x * count;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) most = fmaxf(most, row[i]);
  for (int by = 16; by > 0; by /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = most;
  __syncthreads();
  most = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float e = expf(row[i] - most);
    row[i] = e;
    sum += e;
  }
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  float inverse = 1.0f / (partial[0] + partial[1] + partial[2] + partial[3]);
  for (int i = threadIdx.x; i < count; i += blockDim.x) row[i] *= inverse;
}

// out = a * b; a has `count` columns, b and out have `depth`.
extern "C" __global__ void weigh(const float *a, const float *b, float *out, int count, int depth) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < count; start += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * count + start + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * depth + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  out[row * depth + column] = sum;
}
