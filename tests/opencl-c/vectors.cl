/*
What a first kernel uses: vectors, conversions, dot, atomics; and the ways into and out of memory.
; run: @first(&a, &b, &c) lanes=2 local=2 with a: f32 [1.5, 2.5, -9.0, 200.0, 0.5, -0.5, 3.5, 1e30]; b: i32 zero 2; c: i32 zero 1 -> a: [2.0, 2.0, -3.0, 100.0, 0.0, 0.0, 4.0, 100.0]; b: [780, 2147483647]; c: [2]
; run: @threes(&a, &b) lanes=2 local=2 with a: i16 [1, 2, 3, 4, 5, 6]; b: i16 zero 9 -> b: [3, 2, 1, 6, 5, 4, 0, 0, 0]
; run: @halves(&h, &f) lanes=1 local=1 with h: i16 [15360, -16384, 1, 31743, 0, 0, 0, 0]; f: f32 zero 4 -> f: [1.0, -2.0, 5.9604645e-8, 65504.0]; h: [15360, -16384, 1, 31743, 13653, 13654, 13653, 13654]
; run: @shuffled(&a, &m, &b) lanes=1 local=1 with a: i32 [10, 11, 12, 13]; m: i32 [3, 0, 7, 5]; b: i32 zero 8 -> b: [13, 10, 13, 11, 13, 10, 113, 111]
; run: @layout(&o) lanes=1 local=1 with o: i32 zero 8 -> o: [16, 16, 8, 32, 16, 8, 4, 48]
*/
kernel void first(global float *a, global int *b, global int *c) {
  size_t i = get_global_id(0);
  float4 v = vload4(i, a);
  int4 w = clamp(convert_int4_rte(v), -3, 100);
  vstore4(convert_float4(w), i, a);
  b[i] = convert_int_sat_rte(dot(v, (float4)(1, 2, 3, 4)));
  atomic_add(c, w.x);
}

kernel void threes(global const short *a, global short *b) {
  size_t i = get_global_id(0);
  vstore3(vload3(i, a).zyx, i, b);
}

kernel void halves(global half *h, global float *f) {
  vstore4(vload_half4(0, h), 0, f);
  float third = 0x1.555556p-2f;
  vstore_half_rtz(third, 4, h);
  vstore_half_rtp(third, 5, h);
  vstore_half_rtn(third, 6, h);
  vstore_half_rtp((double)third, 7, h);
}

kernel void shuffled(global const int4 *a, global const uint4 *m, global int4 *b) {
  b[0] = shuffle(*a, *m);
  b[1] = shuffle2(*a, *a + 100, *m);
}

struct inner { char c; int3 v; };
struct outer { int a; long b; struct inner c; };
kernel void layout(global int *o) {
  o[0] = sizeof(int3);
  o[1] = __alignof__(float3);
  o[2] = sizeof(size_t);
  o[3] = sizeof(struct inner);
  o[4] = __builtin_offsetof(struct outer, c);
  o[5] = sizeof(void *);
  o[6] = sizeof(uchar3);
  o[7] = sizeof(struct outer);
}
