// Kernels of driver_api.cpp, compiled to PTX by clang without a CUDA SDK.

#define KERNEL __attribute__((nvptx_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))

static int thread(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static int block(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
static int threads(void) { return __nvvm_read_ptx_sreg_ntid_x(); }

CONSTANT float coefficients[4] = {1, 0, 0, 0};
GLOBAL int calls = 7;

struct pair {
  char small;
  double large;
};

KERNEL void polynomial(float *out, const float *in, int count) {
  int i = block() * threads() + thread();
  if (i < count) {
    float x = in[i];
    out[i] = ((coefficients[3] * x + coefficients[2]) * x + coefficients[1]) * x + coefficients[0];
  }
  if (i == 0)
    calls += 1;
}

extern SHARED int dynamic[];

KERNEL void reverse(int *values) {
  int i = thread();
  dynamic[i] = values[i];
  __syncthreads();
  values[i] = dynamic[threads() - 1 - i];
}

KERNEL void sums(float *sum, const float *a, int count) {
  for (int k = count - 1; k >= 0; k--)
    sum[thread()] += a[k];
}

KERNEL void by_value(double *out, struct pair pair, short scale) { *out = pair.small + pair.large * scale; }
