/*
Products and bit operations of groups, of cl_khr_work_group_uniform_arithmetic and cl_khr_subgroup_non_uniform_arithmetic.
; run: @products(&o) lanes=4 local=6 with o: i32 zero 30 -> o: [720, 0, 1, 7, 0, 720, 1, 2, 7, 8, 720, 3, 6, 7, 0, 720, 0, 24, 7, 8, 720, 4, 5, 7, 0, 720, 1, 30, 7, 6]
*/
#define GROUP __attribute__((overloadable, convergent, nothrow))
GROUP int work_group_reduce_mul(int);
GROUP int work_group_scan_exclusive_xor(int);
GROUP int sub_group_scan_inclusive_mul(int);
GROUP int sub_group_reduce_or(int);
GROUP int sub_group_reduce_mul(int);
kernel void products(global int *o) {
  int i = get_local_id(0), x = i + 1;
  o[5 * i] = work_group_reduce_mul(x);
  o[5 * i + 1] = work_group_scan_exclusive_xor(x);
  o[5 * i + 2] = sub_group_scan_inclusive_mul(x);
  o[5 * i + 3] = sub_group_reduce_or(x);
  // Lanes that are not active do not count.
  if (i & 1) o[5 * i + 4] = sub_group_reduce_mul(x);
}
