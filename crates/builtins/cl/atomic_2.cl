// Atomics and fences of OpenCL C 2 and 3. `volatile` in their types changes nothing.
#include "common.h"

// With explicit order and scope; without, both default to the strongest.
#define STRONGEST memory_order_seq_cst, memory_scope_device
#define FETCH(name, T, V, space) \
  FUNCTION T atomic_##name(volatile space atomic_##T *at, V value) { \
    return __opencl_atomic_##name((space atomic_##T *)at, value, STRONGEST); \
  } \
  FUNCTION T atomic_##name##_explicit(volatile space atomic_##T *at, V value, memory_order order) { \
    return __opencl_atomic_##name((space atomic_##T *)at, value, order, memory_scope_device); \
  } \
  FUNCTION T atomic_##name##_explicit(volatile space atomic_##T *at, V value, memory_order order, memory_scope scope) { \
    return __opencl_atomic_##name((space atomic_##T *)at, value, order, memory_scope_device); \
  }
#define ACCESS(T, space) \
  FETCH(exchange, T, T, space) \
  FUNCTION void atomic_init(volatile space atomic_##T *at, T value) { *(space T *)at = value; } \
  FUNCTION T atomic_load(volatile space atomic_##T *at) { \
    return __opencl_atomic_load((space atomic_##T *)at, STRONGEST); \
  } \
  FUNCTION T atomic_load_explicit(volatile space atomic_##T *at, memory_order order) { \
    return __opencl_atomic_load((space atomic_##T *)at, order, memory_scope_device); \
  } \
  FUNCTION T atomic_load_explicit(volatile space atomic_##T *at, memory_order order, memory_scope scope) { \
    return __opencl_atomic_load((space atomic_##T *)at, order, memory_scope_device); \
  } \
  FUNCTION void atomic_store(volatile space atomic_##T *at, T value) { \
    __opencl_atomic_store((space atomic_##T *)at, value, STRONGEST); \
  } \
  FUNCTION void atomic_store_explicit(volatile space atomic_##T *at, T value, memory_order order) { \
    __opencl_atomic_store((space atomic_##T *)at, value, order, memory_scope_device); \
  } \
  FUNCTION void atomic_store_explicit(volatile space atomic_##T *at, T value, memory_order order, memory_scope scope) { \
    __opencl_atomic_store((space atomic_##T *)at, value, order, memory_scope_device); \
  }
#define COMPARE(kind, T, space, old) \
  FUNCTION bool atomic_compare_exchange_##kind(volatile space atomic_##T *at, old T *expected, T value) { \
    return __opencl_atomic_compare_exchange_##kind((space atomic_##T *)at, expected, value, memory_order_seq_cst, \
                                                   STRONGEST); \
  } \
  FUNCTION bool atomic_compare_exchange_##kind##_explicit(volatile space atomic_##T *at, old T *expected, T value, \
                                                          memory_order success, memory_order failure) { \
    return __opencl_atomic_compare_exchange_##kind((space atomic_##T *)at, expected, value, success, failure, \
                                                   memory_scope_device); \
  } \
  FUNCTION bool atomic_compare_exchange_##kind##_explicit(volatile space atomic_##T *at, old T *expected, T value, \
                                                          memory_order success, memory_order failure, \
                                                          memory_scope scope) { \
    return __opencl_atomic_compare_exchange_##kind((space atomic_##T *)at, expected, value, success, failure, \
                                                   memory_scope_device); \
  }
#define ARITHMETIC(T, space) \
  FETCH(fetch_add, T, T, space) \
  FETCH(fetch_sub, T, T, space) \
  FETCH(fetch_and, T, T, space) \
  FETCH(fetch_or, T, T, space) \
  FETCH(fetch_xor, T, T, space) \
  FETCH(fetch_min, T, T, space) \
  FETCH(fetch_max, T, T, space)
#define COMPARES(T, space, old) COMPARE(strong, T, space, old) COMPARE(weak, T, space, old)
#define NEW(T, space) \
  ACCESS(T, space) \
  COMPARES(T, space, __global) \
  COMPARES(T, space, __local) \
  COMPARES(T, space, __private) \
  COMPARES(T, space, __generic)
#define NEW_INTEGERS(space) \
  NEW(int, space) NEW(uint, space) NEW(long, space) NEW(ulong, space) NEW(float, space) NEW(double, space) \
  ARITHMETIC(int, space) ARITHMETIC(uint, space) ARITHMETIC(long, space) ARITHMETIC(ulong, space)
// `cl_ext_float_atomics`.
#define FLOATING(T, space) \
  FETCH(fetch_add, T, T, space) FETCH(fetch_sub, T, T, space) FETCH(fetch_min, T, T, space) FETCH(fetch_max, T, T, space)
// clang's table declares the stored half as an atomic one.
#define STORE_HALF(space) \
  FUNCTION void atomic_store(volatile space atomic_half *at, atomic_half value) { \
    __opencl_atomic_store((space atomic_half *)at, (half)value, STRONGEST); \
  } \
  FUNCTION void atomic_store_explicit(volatile space atomic_half *at, atomic_half value, memory_order order) { \
    __opencl_atomic_store((space atomic_half *)at, (half)value, order, memory_scope_device); \
  } \
  FUNCTION void atomic_store_explicit(volatile space atomic_half *at, atomic_half value, memory_order order, \
                                      memory_scope scope) { \
    __opencl_atomic_store((space atomic_half *)at, (half)value, order, memory_scope_device); \
  }
#define NEW_FLOATS(space) \
  ACCESS(half, space) STORE_HALF(space) FLOATING(half, space) FLOATING(float, space) FLOATING(double, space)
// Pointer atomics add byte differences to the integer address.
#define FETCH_POINTER(name, space) FETCH(name, ulong, long, space)
#define NEW_SPACE(space) \
  NEW_INTEGERS(space) NEW_FLOATS(space) FETCH_POINTER(fetch_add, space) FETCH_POINTER(fetch_sub, space)
NEW_SPACE(__generic)
NEW_SPACE(__global)
NEW_SPACE(__local)

#define FLAG(space) \
  FUNCTION bool atomic_flag_test_and_set_explicit(volatile space atomic_flag *at, memory_order order, \
                                                  memory_scope scope) { \
    return __opencl_atomic_exchange((space atomic_int *)at, 1, order, memory_scope_device) != 0; \
  } \
  FUNCTION bool atomic_flag_test_and_set_explicit(volatile space atomic_flag *at, memory_order order) { \
    return __opencl_atomic_exchange((space atomic_int *)at, 1, order, memory_scope_device) != 0; \
  } \
  FUNCTION bool atomic_flag_test_and_set(volatile space atomic_flag *at) { \
    return __opencl_atomic_exchange((space atomic_int *)at, 1, STRONGEST) != 0; \
  } \
  FUNCTION void atomic_flag_clear_explicit(volatile space atomic_flag *at, memory_order order, memory_scope scope) { \
    __opencl_atomic_store((space atomic_int *)at, 0, order, memory_scope_device); \
  } \
  FUNCTION void atomic_flag_clear_explicit(volatile space atomic_flag *at, memory_order order) { \
    __opencl_atomic_store((space atomic_int *)at, 0, order, memory_scope_device); \
  } \
  FUNCTION void atomic_flag_clear(volatile space atomic_flag *at) { \
    __opencl_atomic_store((space atomic_int *)at, 0, STRONGEST); \
  }
FLAG(__generic)
FLAG(__global)
FLAG(__local)

// Fences.
FUNCTION void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  if (order == memory_order_acquire) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
  } else if (order == memory_order_release) {
    __atomic_thread_fence(__ATOMIC_RELEASE);
  } else if (order == memory_order_acq_rel) {
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
  } else if (order == memory_order_seq_cst) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
}
FUNCTION void mem_fence(cl_mem_fence_flags flags) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
FUNCTION void read_mem_fence(cl_mem_fence_flags flags) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
FUNCTION void write_mem_fence(cl_mem_fence_flags flags) { __atomic_thread_fence(__ATOMIC_RELEASE); }
// The memory of a generic pointer is unknown: both flags are always correct.
PURE cl_mem_fence_flags get_fence(const __generic void *at) { return CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE; }
PURE cl_mem_fence_flags get_fence(__generic void *at) { return CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE; }
