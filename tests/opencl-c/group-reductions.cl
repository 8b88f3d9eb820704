/*
Reductions of groups: with fewer work-items than leaders, as many, and more, with a rest and without; several in a row.
; run: @reduced(&o) lanes=4 local=1 with o: i32 zero 4 -> o: [-2, -2, -2, 1]
; run: @reduced(&o) lanes=4 local=5 with o: i32 zero 4 -> o: [5, 5, -3, 3]
; run: @reduced(&o) lanes=8 local=15 with o: i32 zero 4 -> o: [1, 5, -5, 3]
; run: @reduced(&o) lanes=4 local=16 with o: i32 zero 4 -> o: [5, 5, -5, 3]
; run: @reduced(&o) lanes=8 local=17 with o: i32 zero 4 -> o: [5, 5, -5, 3]
; run: @reduced(&o) lanes=4 local=40 with o: i32 zero 4 -> o: [1, 5, -5, 3]
; run: @reduced(&o) lanes=16 local=40 with o: i32 zero 4 -> o: [1, 5, -5, 3]
; run: @reduced(&o) lanes=32 local=48 with o: i32 zero 4 -> o: [1, 5, -5, 3]
; run: @rounded(&o) lanes=4 local=40 with o: f32 zero 40 -> o: [16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0]
; run: @rounded(&o) lanes=16 local=40 with o: f32 zero 40 -> o: [16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0, 16777254.0]
*/
kernel void reduced(global int *o) {
  int i = get_local_id(0), n = get_local_size(0), x = (7 * i + 3) % 11 - 5;
  int sum = work_group_reduce_add(x), most = work_group_reduce_max(x), least = work_group_reduce_min(x);
  int votes = work_group_all(x < 99) + 2 * work_group_any(x == 5);
  // The last work-item knows the results, too.
  if (i == n - 1) {
    o[0] = sum;
    o[1] = most;
    o[2] = least;
    o[3] = votes;
  }
}
// The order of additions depends on the size of the group only: the first of 16 sums stays 2^24 until it meets the others.
kernel void rounded(global float *o) {
  int i = get_local_id(0);
  o[i] = work_group_reduce_add(i == 0 ? 16777216.0f : 1.0f);
}
