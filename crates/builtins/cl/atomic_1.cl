// Atomics of OpenCL C 1: relaxed, device scope. `volatile` in their types changes nothing.
#include "common.h"

#define RELAXED memory_order_relaxed, memory_scope_device
#define OLD(T, space, prefix) \
  FUNCTION T prefix##_add(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_add((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_sub(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_sub((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_xchg(volatile space T *at, T value) { \
    return __opencl_atomic_exchange((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_inc(volatile space T *at) { \
    return __opencl_atomic_fetch_add((space atomic_##T *)at, (T)1, RELAXED); \
  } \
  FUNCTION T prefix##_dec(volatile space T *at) { \
    return __opencl_atomic_fetch_sub((space atomic_##T *)at, (T)1, RELAXED); \
  } \
  FUNCTION T prefix##_cmpxchg(volatile space T *at, T expected, T value) { \
    __opencl_atomic_compare_exchange_strong((space atomic_##T *)at, &expected, value, memory_order_relaxed, RELAXED); \
    return expected; \
  } \
  FUNCTION T prefix##_min(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_min((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_max(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_max((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_and(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_and((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_or(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_or((space atomic_##T *)at, value, RELAXED); \
  } \
  FUNCTION T prefix##_xor(volatile space T *at, T value) { \
    return __opencl_atomic_fetch_xor((space atomic_##T *)at, value, RELAXED); \
  }
#define OLD_SPACES(T, prefix) OLD(T, __global, prefix) OLD(T, __local, prefix)
OLD_SPACES(int, atomic)
OLD_SPACES(uint, atomic)
OLD_SPACES(int, atom)
OLD_SPACES(uint, atom)
OLD_SPACES(long, atom)
OLD_SPACES(ulong, atom)
#define OLD_FLOAT(space) \
  FUNCTION float atomic_xchg(volatile space float *at, float value) { \
    return __opencl_atomic_exchange((space atomic_float *)at, value, RELAXED); \
  }
OLD_FLOAT(__global)
OLD_FLOAT(__local)
