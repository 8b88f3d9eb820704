// A step of an LU factorization without pivots: the factors of a column, then the rest of the matrix.
extern "C" __global__ void divide(double *a, int n, int step) {
  int row = step + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) a[row * n + step] /= a[step * n + step];
}

extern "C" __global__ void eliminate(double *a, int n, int step) {
  int column = step + 1 + blockIdx.x * blockDim.x + threadIdx.x, row = step + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < n) a[row * n + column] -= a[row * n + step] * a[step * n + column];
}
