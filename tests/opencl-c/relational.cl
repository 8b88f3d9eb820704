/*
Relational functions: 1 of scalars, all ones of vectors.
; run: @scalars(nan, 1.0, &o) lanes=1 local=1 with o: i32 zero 12 -> o: [0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0]
; run: @vectors(&o) lanes=1 local=1 with o: i64 zero 8 -> o: [0, -1, -1, 0, -1, 0, 0, -1]
; run: @any_all(&o) lanes=1 local=1 with o: i32 zero 5 -> o: [1, 0, 0, 1, 1]
; run: @selects(&o) lanes=1 local=1 with o: i32 zero 6 -> o: [2, 1, 2, 240, 1, 2]
*/
kernel void scalars(float x, float y, global int *o) {
  o[0] = isequal(x, x);
  o[1] = isnotequal(x, x);
  o[2] = isless(x, y);
  o[3] = isnan(x);
  o[4] = isunordered(x, y);
  o[5] = isordered(x, y);
  o[6] = isfinite(x);
  o[7] = isnormal(y);
  o[8] = signbit(-y);
  o[9] = isinf(y);
  o[10] = isinf(y / 0.0f);
  o[11] = islessgreater(y, y);
}
kernel void vectors(global long4 *o) {
  double4 x = (double4)(1.0, 0x1p-1074, INFINITY, NAN);
  o[0] = isinf(x) | isequal(x, (double4)(0x1p-1074));
  o[1] = isnormal(x) | isnan(x);
}
kernel void any_all(global int *o) {
  o[0] = any((int3)(0, 0, -1));
  o[1] = any((int3)(1, 1, 1));
  o[2] = all((char4)(-1, -1, -1, 1));
  o[3] = all((char4)(-1, -128, -1, -2));
  o[4] = any((long16)(-1));
}
kernel void selects(global int *o) {
  o[0] = select(1, 2, 1);
  o[1] = select(1, 2, 0);
  int2 v = select((int2)(1, 1), (int2)(2, 2), (int2)(1, -1));
  o[2] = v.y;
  o[3] = bitselect(0xff, 0xf0, 0x0f);
  o[4] = v.x;
  o[5] = select(1.0f, 2.0f, 1u);
}
