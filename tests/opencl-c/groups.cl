/*
What work-items of a group do together.
; run: @copied(&a, &b, &t) lanes=4 local=6 groups=2 with a: i32 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]; b: i32 zero 12; t: local i32 zero 6 -> b: [6, 5, 4, 3, 2, 1, 12, 11, 10, 9, 8, 7]
; run: @strided(&a, &b, &t) lanes=4 local=3 with a: i32 [1, 2, 3, 4, 5, 6]; b: i32 zero 3; t: local i32 zero 3 -> b: [1, 3, 5]
; run: @collected(&o) lanes=4 local=6 groups=1 with o: i32 zero 36 -> o: [21, 1, 0, 4, 1, 1, 21, 3, 1, 4, 1, 1, 21, 6, 3, 4, 1, 1, 21, 10, 6, 4, 1, 1, 21, 15, 10, 4, 1, 1, 21, 21, 15, 4, 1, 1]
; run: @floats(&o) lanes=4 local=3 with o: f32 zero 9 -> o: [1.5, -inf, 0.5, 1.5, 0.5, 0.5, 1.5, 1.0, 0.5]
; run: @sub_groups(&o) lanes=4 local=6 with o: i32 zero 36 -> o: [0, 4, 2, 10, 0, 1, 0, 4, 2, 10, 1, 1, 0, 4, 2, 10, 3, 1, 0, 4, 2, 10, 6, 1, 1, 2, 2, 11, 0, 5, 1, 2, 2, 11, 5, 5]
; run: @queries(&o) lanes=4 local=6 with o: i32 zero 36 -> o: [2, 1, 5, 1, 0, 14, 1, 1, 5, 0, 1, 12, 4, 1, 5, 0, 1, 8, 3, 1, 5, 0, 2, 0, 6, 5, 1, 1, 0, 2, 5, 5, 1, 0, 1, 0]
; run: @dimensions(&o) lanes=2 local=2x3 groups=2x1 with o: i32 zero 6 -> o: [4, 3, 1, 1, 2, 3]
*/
kernel void copied(global int *a, global int *b, local int *t) {
  size_t n = get_local_size(0), at = get_group_id(0) * n, i = get_local_id(0);
  event_t e = async_work_group_copy(t, a + at, n, 0);
  wait_group_events(1, &e);
  b[at + i] = t[n - 1 - i];
}
kernel void strided(global int *a, global int *b, local int *t) {
  event_t e = async_work_group_strided_copy(t, a, 3, 2, 0);
  wait_group_events(1, &e);
  b[get_local_id(0)] = t[get_local_id(0)];
}
kernel void collected(global int *o) {
  int i = get_local_id(0), x = i + 1;
  o[6 * i] = work_group_reduce_add(x);
  o[6 * i + 1] = work_group_scan_inclusive_add(x);
  o[6 * i + 2] = work_group_scan_exclusive_add(x);
  o[6 * i + 3] = work_group_broadcast(x, 3);
  o[6 * i + 4] = work_group_all(x > 0) && !work_group_all(x > 1);
  o[6 * i + 5] = work_group_any(x == 6) && !work_group_any(x == 7);
}
kernel void floats(global float *o) {
  int i = get_local_id(0);
  float x = i == 0 ? 0.5f : i == 1 ? 1.0f : 1.5f;
  o[3 * i] = work_group_reduce_max(x);
  o[3 * i + 1] = work_group_scan_exclusive_max(x);
  o[3 * i + 2] = work_group_scan_inclusive_min(x);
}
kernel void sub_groups(global int *o) {
  int i = get_local_linear_id(), x = i + 1;
  o[6 * i] = get_sub_group_id();
  o[6 * i + 1] = get_sub_group_size();
  o[6 * i + 2] = get_num_sub_groups();
  o[6 * i + 3] = sub_group_reduce_add(x);
  o[6 * i + 4] = sub_group_scan_exclusive_add(x);
  o[6 * i + 5] = sub_group_broadcast(x, 0);
}
kernel void dimensions(global int *o) {
  for (uint d = 0; d < 4; ++d) {
    if (d < 3) {
      o[d] = get_global_size(d);
    } else {
      o[d] = get_local_size(d);
    }
  }
  o[4] = get_num_groups(0);
  o[5] = get_local_size(1);
}
kernel void queries(global int *o) {
  int i = get_local_linear_id(), x = i + 1;
  uint4 odd = sub_group_ballot(x & 1);
  o[6 * i] = sub_group_shuffle_xor(x, 1);
  o[6 * i + 1] = sub_group_broadcast_first((short)x);
  o[6 * i + 2] = odd.x;
  o[6 * i + 3] = sub_group_elect();
  o[6 * i + 4] = sub_group_ballot_exclusive_scan(odd);
  o[6 * i + 5] = get_sub_group_gt_mask().x;
}
