/*
; run: @reversed(&a, &t) lanes=4 local=4 groups=2 with a: i32 [1, 2, 3, 4, 5, 6, 7, 8]; t: local i32 zero 4 -> ; a: [4, 3, 2, 1, 8, 7, 6, 5]
*/
__kernel void reversed(__global int *a, __local int *t) {
  size_t i = get_local_id(0), n = get_local_size(0);
  t[i] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_group_id(0) * n + i] = t[n - 1 - i];
}
