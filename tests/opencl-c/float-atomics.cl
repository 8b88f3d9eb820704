/*
Atomics on floats of all widths (cl_ext_float_atomics): sums, differences, minima, maxima, accesses.
; run: @floats(&a, &t) lanes=4 local=8 with a: f32 [0.0, 0.0, 3.5, -1.0, 2.0, 0.0, 0.0]; t: local f32 zero 2 -> a: [28.0, -28.0, 0.0, 7.0, 8.0, 14.0, 7.0]
; run: @doubles(&a, &t) lanes=4 local=8 with a: f64 [0.0, 0.0, 3.5, -1.0, 2.0, 0.0, 0.0]; t: local f64 zero 2 -> a: [28.0, -28.0, 0.0, 7.0, 8.0, 14.0, 7.0]
; run: @halves(&a, &t) lanes=4 local=8 with a: f16 [0.0, 0.0, 3.5, -1.0, 2.0, 0.0, 0.0]; t: local f16 zero 2 -> a: [28.0, -28.0, 0.0, 7.0, 8.0, 14.0, 7.0]
; run: @floats(&a, &t) lanes=1 local=8 with a: f32 [0.0, 0.0, 3.5, -1.0, 2.0, 0.0, 0.0]; t: local f32 zero 2 -> a: [28.0, -28.0, 0.0, 7.0, 8.0, 14.0, 7.0]
; run: @halves(&a, &t) lanes=16 local=8 with a: f16 [0.0, 0.0, 3.5, -1.0, 2.0, 0.0, 0.0]; t: local f16 zero 2 -> a: [28.0, -28.0, 0.0, 7.0, 8.0, 14.0, 7.0]
*/
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL(name, T) \
  kernel void name(global atomic_##T *a, local atomic_##T *t) { \
    int i = get_local_id(0); \
    atomic_fetch_add(a, (T)i); \
    atomic_fetch_sub_explicit(a + 1, (T)i, memory_order_relaxed); \
    atomic_fetch_min(a + 2, (T)i); \
    atomic_fetch_max_explicit(a + 3, (T)i, memory_order_acq_rel, memory_scope_work_group); \
    if (i == 3) { \
      atomic_store(a + 4, atomic_load(a + 4) + atomic_exchange_explicit(a + 4, (T)6, memory_order_seq_cst)); \
      atomic_fetch_add(a + 4, (T)4); \
    } \
    atomic_fetch_add_explicit(t, (T)(i / 2.0f), memory_order_relaxed, memory_scope_work_group); \
    atomic_fetch_max(t + 1, (T)i); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (i == 0) { \
      atomic_store_explicit(a + 5, atomic_load_explicit(t, memory_order_acquire), memory_order_release); \
      atomic_store(a + 6, atomic_load_explicit(t + 1, memory_order_relaxed, memory_scope_device)); \
    } \
  }
KERNEL(floats, float)
KERNEL(doubles, double)
KERNEL(halves, half)
