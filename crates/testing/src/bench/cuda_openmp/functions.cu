// Elementary functions of the elements of two arrays.
extern "C" __global__ void functions(const float *x, const float *y, float *out, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = atan2f(y[at], x[at]) + sinf(x[at]) * expf(-fabsf(y[at]));
}
