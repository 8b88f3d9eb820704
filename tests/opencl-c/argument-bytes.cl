/*
Branches and addresses that depend on what is passed by value.
; run: @shifted(&o, &s) lanes=4 local=4 groups=2 with o: i32 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]; s: i64 [2, 1] -> o: [0, 1, 20, 21, 22, 23, 24, 25, 26, 27]
; run: @shifted(&o, &s) lanes=4 local=4 groups=2 with o: i32 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]; s: i64 [0, 0] -> o: [-1, -2, -3, -4, -5, -6, -7, -8, 8, 9]
*/
struct Place { long offset, is_sum; };
kernel void shifted(global int *o, struct Place place) {
  long i = get_global_id(0);
  if (place.is_sum) {
    o[place.offset + i] = 20 + i;
  } else {
    for (long k = place.offset; k <= i; ++k) o[i] = -1 - k;
  }
}
