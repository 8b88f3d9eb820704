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

// launch: @product_by_warps(&a, &b, &c) local=64 groups=2 with a: f32 below 9 1024; b: f32 below 9 256; c: f32 zero 1024
KERNEL product_by_warps(const float *a, const float *b, float *c) {
  // Each warp has sixteen rows of sixteen numbers.
  int first = thread_number() / 32 * 256;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < 16; k += 8) {
    unsigned x[4], y[4];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.tf32 {%0, %1, %2, %3}, [%4], 16;"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "l"(a + first + k) : "memory");
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k8.tf32 {%0, %1, %2, %3}, [%4], 16;"
                 : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "l"(b + k * 16) : "memory");
    asm volatile("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
  }
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k8.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 16;" ::"l"(c + first),
               "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]), "f"(sum[4]), "f"(sum[5]), "f"(sum[6]), "f"(sum[7])
               : "memory");
}

// Sixteen numbers that are passed by value.
struct Sixteen {
  int numbers[16];
};

// launch: @filter_by_value(&a, &b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 3) local=32 groups=2 with a: i32 below 9 80; b: i32 zero 64
KERNEL filter_by_value(const int *a, int *b, Sixteen weights, int step) {
  int index = thread_number(), sum = 0;
  for (int i = 0; i < 16; i++) sum += a[index + i] * weights.numbers[i * step % 16];
  b[index] = sum;
}
