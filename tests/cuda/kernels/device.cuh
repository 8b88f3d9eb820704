// What CUDA's headers bring, for clang without them; NVRTC has it all built in.
#pragma once
#ifndef __CUDACC_RTC__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define DEVICE static __device__ __forceinline__
#include <__clang_cuda_builtin_vars.h>

typedef __SIZE_TYPE__ size_t;
DEVICE int __syncthreads_count(int x) { return __nvvm_bar0_popc(x); }
DEVICE int __syncthreads_or(int x) { return __nvvm_bar0_or(x); }
DEVICE void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
DEVICE void __threadfence() { __nvvm_membar_gl(); }
DEVICE unsigned __ballot_sync(unsigned mask, int x) { return __nvvm_vote_ballot_sync(mask, x); }
DEVICE int __any_sync(unsigned mask, int x) { return __nvvm_vote_any_sync(mask, x); }
DEVICE int __all_sync(unsigned mask, int x) { return __nvvm_vote_all_sync(mask, x); }
DEVICE int __shfl_sync(unsigned mask, int x, int from) { return __nvvm_shfl_sync_idx_i32(mask, x, from, 31); }
DEVICE int __shfl_up_sync(unsigned mask, int x, int by) { return __nvvm_shfl_sync_up_i32(mask, x, by, 0); }
DEVICE int __shfl_down_sync(unsigned mask, int x, int by) { return __nvvm_shfl_sync_down_i32(mask, x, by, 31); }
DEVICE int __shfl_xor_sync(unsigned mask, int x, int by) { return __nvvm_shfl_sync_bfly_i32(mask, x, by, 31); }
DEVICE float __shfl_down_sync(unsigned mask, float x, int by) { return __nvvm_shfl_sync_down_f32(mask, x, by, 31); }
DEVICE float __shfl_xor_sync(unsigned mask, float x, int by) { return __nvvm_shfl_sync_bfly_f32(mask, x, by, 31); }
DEVICE int atomicAdd(int *at, int x) { return __nvvm_atom_add_gen_i(at, x); }
DEVICE unsigned atomicAdd(unsigned *at, unsigned x) { return __nvvm_atom_add_gen_i((int *)at, x); }
DEVICE float atomicAdd(float *at, float x) { return __nvvm_atom_add_gen_f(at, x); }
DEVICE int atomicMin(int *at, int x) { return __nvvm_atom_min_gen_i(at, x); }
DEVICE int atomicMax(int *at, int x) { return __nvvm_atom_max_gen_i(at, x); }
DEVICE unsigned atomicOr(unsigned *at, unsigned x) { return __nvvm_atom_or_gen_i((int *)at, x); }
DEVICE unsigned atomicXor(unsigned *at, unsigned x) { return __nvvm_atom_xor_gen_i((int *)at, x); }
DEVICE int atomicExch(int *at, int x) { return __nvvm_atom_xchg_gen_i(at, x); }
DEVICE int atomicCAS(int *at, int old, int x) { return __nvvm_atom_cas_gen_i(at, old, x); }
DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
DEVICE float fminf(float x, float y) { return __builtin_fminf(x, y); }
DEVICE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
DEVICE double fabs(double x) { return __builtin_fabs(x); }
DEVICE float floorf(float x) { return __builtin_floorf(x); }
DEVICE int abs(int x) { return x < 0 ? -x : x; }
DEVICE int min(int x, int y) { return x < y ? x : y; }
DEVICE int max(int x, int y) { return x > y ? x : y; }
DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
DEVICE int __ffs(int x) { return __builtin_ffs(x); }
DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
DEVICE unsigned __umulhi(unsigned x, unsigned y) { return __nvvm_mulhi_ui(x, y); }
#else
#define DEVICE static __device__ __forceinline__
#endif

// Two to the power of x, and the logarithm, as the GPU approximates them.
DEVICE float power_of_two(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float logarithm(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float exponential(float x) { return power_of_two(x * 1.44269504f); }
DEVICE int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }
#define KERNEL extern "C" __global__ void
