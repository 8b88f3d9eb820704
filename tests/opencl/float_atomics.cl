// Kernels of `float_atomics.c`, as OpenCL C and as SPIR-V. Sums stay small, so that every order of additions gives the same one.
// covers: cl_ext_float_atomics
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#ifndef cl_ext_float_atomics
#error no extension
#endif
// clang writes the instructions of SPIR-V for builtins of its own only.
#ifdef __SPIRV__
#define atomic_fetch_min_explicit(at, x, order, ...) __opencl_atomic_fetch_min(at, x, order, memory_scope_device)
#define atomic_fetch_max_explicit(at, x, order, ...) __opencl_atomic_fetch_max(at, x, order, memory_scope_device)
#define atomic_fetch_min(at, x) atomic_fetch_min_explicit(at, x, memory_order_seq_cst)
#define atomic_fetch_max(at, x) atomic_fetch_max_explicit(at, x, memory_order_seq_cst)
#endif
#define EACH(at, x) \
  atomic_fetch_add(at, x); \
  atomic_fetch_add_explicit(at, x, memory_order_relaxed); \
  atomic_fetch_add_explicit(at, x, memory_order_acq_rel, memory_scope_device); \
  atomic_fetch_sub(at + 1, x); \
  atomic_fetch_sub_explicit(at + 1, x, memory_order_relaxed); \
  atomic_fetch_sub_explicit(at + 1, x, memory_order_seq_cst, memory_scope_work_group); \
  atomic_fetch_min(at + 2, -y); \
  atomic_fetch_min_explicit(at + 2, x, memory_order_release); \
  atomic_fetch_min_explicit(at + 2, x, memory_order_acquire, memory_scope_all_svm_devices); \
  atomic_fetch_max(at + 3, y); \
  atomic_fetch_max_explicit(at + 3, x, memory_order_seq_cst); \
  atomic_fetch_max_explicit(at + 3, x, memory_order_relaxed, memory_scope_device);
// The first work-item alone exchanges, loads and stores.
#define ACCESSES(at) \
  atomic_store(at + 4, atomic_exchange(at + 3, atomic_load(at + 3))); \
  atomic_store_explicit(at + 5, atomic_exchange_explicit(at + 4, atomic_load_explicit(at + 4, memory_order_acquire), memory_order_relaxed), memory_order_release); \
  atomic_store_explicit(at + 6, atomic_exchange_explicit(at + 5, atomic_load_explicit(at + 5, memory_order_relaxed, memory_scope_device), memory_order_acq_rel, memory_scope_device), memory_order_relaxed, memory_scope_device);
// The address in local memory is no constant, since clang counts bytes of constant ones as elements in SPIR-V.
#define KERNEL(T) \
  kernel void in_global_##T(global atomic_##T *at, global float *to, global T *old) { \
    T x = (T)(get_global_id(0) % 2), y = (T)(get_global_id(0) % 64); \
    EACH(at, x) \
    old[get_global_id(0)] = atomic_fetch_add(at + 7, (T)1); \
  } \
  kernel void read_##T(global atomic_##T *at, global float *to) { \
    ACCESSES(at) \
    for (int i = 0; i < 8; i++) to[i] = atomic_load(at + i); \
  } \
  kernel void in_local_##T(global float *to) { \
    local atomic_##T memory[8], *at = memory + get_local_id(1); \
    T x = (T)(get_global_id(0) % 2), y = (T)(get_global_id(0) % 64); \
    if (get_local_id(0) < 8) atomic_store(at + get_local_id(0), (T)0); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    EACH(at, x) \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (get_local_id(0) == 0) { \
      ACCESSES(at) \
      for (int i = 0; i < 8; i++) to[i] = atomic_load(at + i); \
    } \
  } \
  kernel void in_generic_##T(global atomic_##T *elsewhere, global float *to, int is_local) { \
    local atomic_##T here[8]; \
    atomic_##T *at = is_local ? (atomic_##T *)here : (atomic_##T *)elsewhere; \
    T x = (T)(get_global_id(0) % 2), y = (T)(get_global_id(0) % 64); \
    if (get_local_id(0) < 8) atomic_store(at + get_local_id(0), (T)0); \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    EACH(at, x) \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    if (get_local_id(0) == 0) { \
      ACCESSES(at) \
      for (int i = 0; i < 8; i++) to[i] = atomic_load(at + i); \
    } \
  }
KERNEL(half)
KERNEL(float)
KERNEL(double)
