// The words of OpenCL C that the kernels of the benchmark use, for clang's CUDA.
#include <__clang_cuda_builtin_vars.h>

#define kernel extern "C" __attribute__((__global__))
#define local __attribute__((shared))
#define global
#define constant
#define FLT_MAX 3.402823466e38f
#define CLK_LOCAL_MEM_FENCE
#define barrier(fence) __syncthreads()
#define DEVICE static __attribute__((device, always_inline)) inline

typedef unsigned uint;
typedef unsigned char uchar;
struct alignas(16) float4 {
  float x, y, z, w;
};
DEVICE float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
DEVICE unsigned get_local_id(int way) { return way == 0 ? threadIdx.x : threadIdx.y; }
DEVICE unsigned get_group_id(int way) { return way == 0 ? blockIdx.x : blockIdx.y; }
DEVICE unsigned get_global_id(int way) {
  return way == 0 ? blockIdx.x * blockDim.x + threadIdx.x : blockIdx.y * blockDim.y + threadIdx.y;
}
DEVICE unsigned get_global_size(int way) { return way == 0 ? gridDim.x * blockDim.x : gridDim.y * blockDim.y; }
DEVICE float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
DEVICE void atomic_inc(uint *at) { __nvvm_atom_add_gen_i((int *)at, 1); }
DEVICE void atomic_add(uint *at, uint x) { __nvvm_atom_add_gen_i((int *)at, x); }
