// Product of a sparse matrix in compressed rows and a vector: a warp takes a row.
extern "C" __global__ void spmv(const int *starts, const int *columns, const double *values, const double *x, double *y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
  if (lane == 0) y[row] = sum;
}
