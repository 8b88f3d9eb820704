/*
Atomics of both kinds.
; run: @old(&a, &t) lanes=4 local=8 with a: i32 zero 6; t: local i32 zero 1 -> a: [28, 7, 0, 8, 0, 28]
; run: @new(&a, &l) lanes=4 local=8 with a: i32 [0, 5, 100, 0]; l: i64 zero 1 -> a: [36, 0, 107, 1]; l: [36]
; run: @exchanged(&a) lanes=1 local=1 with a: i32 [3, 4, 0, 0, 0, 0] -> a: [9, 4, 1, 0, 4, 3]
*/
kernel void old(global int *a, local int *t) {
  int i = get_local_id(0);
  atomic_add(a, i);
  atomic_max(a + 1, i);
  atomic_min(a + 2, i);
  atomic_inc(a + 3);
  atomic_and(a + 4, 0);
  atom_add(t, i);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0) {
    a[5] = atomic_xchg(t, 1);
  }
}
kernel void new(global atomic_int *a, global atomic_long *l) {
  int i = get_local_id(0);
  atomic_fetch_add(a, i + 1);
  atomic_fetch_min_explicit(a + 1, i, memory_order_relaxed);
  atomic_fetch_max_explicit(a + 2, 100 + i, memory_order_acq_rel, memory_scope_work_group);
  atomic_flag_test_and_set(a + 3);
  atomic_fetch_add_explicit(l, i + 1, memory_order_seq_cst, memory_scope_all_svm_devices);
}
kernel void exchanged(global atomic_int *a) {
  int expected = 3;
  int was = atomic_compare_exchange_strong(a, &expected, 9);
  int other = 5;
  int no = atomic_compare_exchange_weak_explicit(a + 1, &other, 9, memory_order_acquire, memory_order_relaxed);
  atomic_store(a + 2, was);
  atomic_store_explicit(a + 3, no, memory_order_release);
  atomic_init(a + 4, other);
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
  atomic_store(a + 5, expected);
}
