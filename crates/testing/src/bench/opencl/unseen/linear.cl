// Linear algebra.

//! global=1048576 args=f:1048576,f:1048576,F:1048576,x=2.5,n=1048576
kernel void saxpy(global const float *x, global const float *y, global float *out, float a, int n) {
  int i = get_global_id(0);
  if (i < n)
    out[i] = a * x[i] + y[i];
}

//! global=1024 local=64 args=f:1048576,f:1024,F:1024,n=1024
kernel void gemv(global const float *a, global const float *x, global float *y, int n) {
  int row = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * x[k];
  y[row] = sum;
}

//! global=1024 local=64 args=f:1048576,f:1024,F:1024,n=1024
kernel void gemv_transposed(global const float *a, global const float *x, global float *y, int n) {
  int column = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[k * n + column] * x[k];
  y[column] = sum;
}

//! global=256,256 local=16,16 args=f:65536,f:65536,F:65536,n=256
kernel void gemm_naive(global const float *a, global const float *b, global float *c, int n) {
  int row = get_global_id(0), column = get_global_id(1);
  float sum = 0.0f;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

//! global=64,256 local=8,8 args=d:65536,d:65536,D:65536,n=256
kernel void dgemm_four(global const double *a, global const double *b, global double *c, int n) {
  int column = get_global_id(0) * 4, row = get_global_id(1);
  double4 sum = 0.0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * vload4(0, b + k * n + column);
  vstore4(sum, 0, c + row * n + column);
}

//! global=65536 local=128 args=f:1048576,f:1048576,F:1048576
kernel void product4x4(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0) * 16;
  float m[16];
  for (int r = 0; r < 4; r++)
    for (int k = 0; k < 4; k++) {
      float sum = 0;
      for (int j = 0; j < 4; j++)
        sum += a[i + r * 4 + j] * b[i + j * 4 + k];
      m[r * 4 + k] = sum;
    }
  for (int k = 0; k < 16; k++)
    c[i + k] = m[k];
}

//! global=65536 local=256 args=f:65536,F:256,l:1024
kernel void dot_groups(global const float *x, global float *out, local float *part) {
  uint l = get_local_id(0);
  part[l] = x[get_global_id(0)] * x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s)
      part[l] += part[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = part[0];
}

//! global=512,512 args=f:262144,F:262144,n=512,n=77
kernel void eliminate(global const float *a, global float *out, int n, int pivot) {
  int row = get_global_id(0), column = get_global_id(1);
  float value = a[row * n + column];
  if (row > pivot && column >= pivot)
    value -= a[row * n + pivot] / (a[pivot * n + pivot] + 1.0f) * a[pivot * n + column];
  out[row * n + column] = value;
}

//! global=16384 local=64 args=f:147456,F:16384
kernel void determinant3(global const float *m, global float *out) {
  global const float *a = m + 9 * get_global_id(0);
  out[get_global_id(0)] = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
}
