// Matrices, as Rodinia's lud and gaussian and the SDK's matrixMul.
#include "device.cuh"

// launch: @lud_diagonal(&a, 8) local=8 groups=1 with a: f32 below 9 64
KERNEL lud_diagonal(float *a, int size) {
  __shared__ float tile[8][8];
  int column = threadIdx.x;
  for (int row = 0; row < size; row++) tile[row][column] = a[row * size + column] + (row == column ? 20.0f : 0.0f);
  __syncthreads();
  for (int step = 0; step < size - 1; step++) {
    if (column > step) {
      for (int i = 0; i < step; i++) tile[column][step] -= tile[column][i] * tile[i][step];
      tile[column][step] /= tile[step][step];
    }
    __syncthreads();
    if (column > step)
      for (int i = 0; i <= step; i++) tile[step + 1][column] -= tile[step + 1][i] * tile[i][column];
    __syncthreads();
  }
  for (int row = 0; row < size; row++) a[row * size + column] = tile[row][column];
}

// launch: @gaussian_factors(&a, &m, 16, 3) local=16 groups=1 with a: f32 below 9 256; m: f32 zero 256
KERNEL gaussian_factors(const float *a, float *m, int size, int step) {
  int row = thread_number();
  if (row >= size - 1 - step) return;
  m[size * (row + step + 1) + step] = a[size * (row + step + 1) + step] / (a[size * step + step] + 1.0f);
}

// launch: @gaussian_eliminate(&a, &b, &m, 16, 3) local=4x4 groups=4x4 with a: f32 below 9 256; b: f32 below 9 16; m: f32 random 256
KERNEL gaussian_eliminate(float *a, float *b, const float *m, int size, int step) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size - 1 - step || y >= size - step) return;
  int row = x + 1 + step, column = y + step;
  a[size * row + column] -= m[size * row + step] * a[size * step + column];
  if (y == 0) b[row] -= m[size * row + step] * b[step];
}

// launch: @matmul(&a, &b, &c, 16) local=16x2 groups=1x8 with a: f32 random 256; b: f32 random 256; c: f32 zero 256
KERNEL matmul(const float *a, const float *b, float *c, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < size; k++) sum += a[y * size + k] * b[k * size + x];
  c[y * size + x] = sum;
}

// launch: @matmul_tiled(&a, &b, &c, 16) local=8x8 groups=2x2 with a: f32 random 256; b: f32 random 256; c: f32 zero 256
KERNEL matmul_tiled(const float *a, const float *b, float *c, int size) {
  __shared__ float left[8][8], right[8][8];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
  float sum = 0;
  for (int tile = 0; tile < size / 8; tile++) {
    left[ty][tx] = a[y * size + tile * 8 + tx];
    right[ty][tx] = b[(tile * 8 + ty) * size + x];
    __syncthreads();
    for (int k = 0; k < 8; k++) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  c[y * size + x] = sum;
}

// launch: @spmv(&rows, &columns, &values, &x, &y, 60) local=32 groups=2 with rows: i32 step 4 65; columns: i32 below 64 256; values: f64 random 256; x: f64 random 64; y: f64 zero 64
KERNEL spmv(const int *rows, const int *columns, const double *values, const double *x, double *y, int count) {
  int row = thread_number();
  if (row >= count) return;
  double sum = 0;
  for (int at = rows[row]; at < rows[row + 1]; at++) sum += values[at] * x[columns[at]];
  y[row] = sum;
}

// launch: @matvec_warps(&a, &x, &y, 40) local=64 groups=2 with a: f32 random 160; x: f32 random 40; y: f32 zero 4
KERNEL matvec_warps(const float *a, const float *x, float *y, int columns) {
  int row = thread_number() / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int column = lane; column < columns; column += 32) sum += a[row * columns + column] * x[column];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
  if (lane == 0) y[row] = sum;
}

// launch: @cholesky_column(&a, 8, 2) local=8 groups=1 with a: f64 below 9 64
KERNEL cholesky_column(double *a, int size, int column) {
  int row = threadIdx.x;
  double root = sqrt(a[column * size + column] + 30.0);
  if (row == column) a[row * size + column] = root;
  if (row > column) a[row * size + column] /= root;
}

// launch: @normalize_rows(&a, &norms, 12) local=32 groups=1 with a: f32 random 384; norms: f32 zero 32
KERNEL normalize_rows(float *a, float *norms, int columns) {
  float *row = a + threadIdx.x * columns, sum = 0;
  for (int i = 0; i < columns; i++) sum += row[i] * row[i];
  float norm = sqrtf(sum);
  norms[threadIdx.x] = norm;
  if (norm > 0)
    for (int i = 0; i < columns; i++) row[i] /= norm;
}
