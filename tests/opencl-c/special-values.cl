/*
Special values of mathematical functions, as the specification lists them.
; run: @turns(&o) lanes=1 local=1 with o: f32 zero 12 -> o: [0.0, -0.0, 0.0, -0.0, 0.0, 0.0, 0.0, -0.0, inf, -inf, nan, -1.0]
; run: @powers(&o) lanes=1 local=1 with o: f32 zero 16 -> o: [nan, 1.0, inf, 0.0, nan, nan, nan, inf, -inf, inf, -2.0, nan, -0.0, 0.0, nan, -1.0]
; run: @parts(&o, &e) lanes=1 local=1 with o: f32 zero 14; e: i32 zero 8 -> o: [0.99999994, -1.0, 0.0, inf, 0.5, 1e-45, -0.0, 0.5, inf, -149.0, 1e-45, -3.0, 2.0, 1.0]; e: [-148, -149, 2147483647, -2147483648, 1, 0, -2, 3]
; run: @gammas(&o, &s) lanes=1 local=1 with o: f32 zero 8; s: i32 zero 3 -> o: [inf, -inf, nan, inf, 24.0, inf, 0.0, 0.0]; s: [1, -1, 1]
; run: @geometry(&o) lanes=1 local=1 with o: f32 zero 12 -> o: [5e30, 0.6, 0.8, 0.0, 0.0, 1.0, 0.0, 1e-40, -3.0, 6.0, -3.0, 0.15625]
*/
kernel void turns(global float *o) {
  o[0] = sinpi(0.0f);
  o[1] = sinpi(-0.0f);
  o[2] = sinpi(3.0f);
  o[3] = sinpi(-3.0f);
  o[4] = cospi(0.5f);
  o[5] = cospi(-1.5f);
  o[6] = tanpi(2.0f);
  o[7] = tanpi(3.0f);
  o[8] = tanpi(0.5f);
  o[9] = tanpi(1.5f);
  o[10] = cospi(INFINITY);
  o[11] = cospi(1e30f) - 2.0f;
}
kernel void powers(global float *o) {
  o[0] = powr(-1.0f, 2.0f);
  o[1] = powr(2.0f, 0.0f);
  o[2] = powr(0.0f, -1.0f);
  o[3] = powr(-0.0f, 3.0f);
  o[4] = powr(0.0f, 0.0f);
  o[5] = powr(1.0f, INFINITY);
  o[6] = powr(INFINITY, 0.0f);
  o[7] = rootn(-0.0f, -2);
  o[8] = rootn(-0.0f, -3);
  o[9] = rootn(0.0f, -3);
  o[10] = rootn(-8.0f, 3);
  o[11] = rootn(-8.0f, 2);
  o[12] = rootn(-0.0f, 3);
  o[13] = rootn(-0.0f, 2);
  o[14] = rootn(1.0f, 0);
  o[15] = pown(-1.0f, 2147483647);
}
kernel void parts(global float *o, global int *e) {
  float whole, other;
  int q;
  o[0] = fract(-1e-10f, &whole);
  o[1] = whole;
  o[2] = fract(INFINITY, &whole);
  o[3] = whole;
  o[4] = frexp(0x1p-149f, &q);
  e[0] = q;
  o[5] = nextafter(0.0f, 1.0f);
  o[6] = modf(-0.0f, &whole);
  o[7] = remquo(2.5f, -1.0f, &q);
  e[6] = q;
  o[8] = logb(-INFINITY);
  o[9] = logb(0x1p-149f);
  o[10] = ldexp(1.0f, -149);
  o[11] = maxmag(2.0f, -3.0f);
  o[12] = minmag(2.0f, -3.0f);
  o[13] = fdim(3.0f, 2.0f);
  e[1] = ilogb(0x1p-149f);
  e[2] = ilogb(INFINITY);
  e[3] = ilogb(0.0f);
  e[4] = ilogb(2.0f);
  e[5] = as_int(nan(1u)) != 0x7fc00001;
  remquo(11.0f, 4.0f, &q);
  e[7] = q;
}
kernel void gammas(global float *o, global int *s) {
  int sign;
  o[0] = tgamma(0.0f);
  o[1] = tgamma(-0.0f);
  o[2] = tgamma(-2.0f);
  o[3] = tgamma(40.0f);
  o[4] = tgamma(5.0f);
  o[5] = lgamma(-3.0f);
  o[6] = lgamma(1.0f);
  o[7] = lgamma_r(2.0f, &sign);
  s[0] = sign;
  lgamma_r(-0.5f, &sign);
  s[1] = sign;
  lgamma_r(-1.5f, &sign);
  s[2] = sign;
}
kernel void geometry(global float *o) {
  o[0] = length((float2)(3e30f, 4e30f));
  float2 n = normalize((float2)(3e-30f, 4e-30f));
  o[1] = n.x;
  o[2] = n.y;
  float3 z = normalize((float3)(0.0f));
  o[3] = z.x;
  float3 i = normalize((float3)(0.0f, INFINITY, 5.0f));
  o[4] = i.x;
  o[5] = i.y;
  o[6] = i.z;
  o[7] = fast_length(1e-40f);
  vstore3(cross((float3)(1, 2, 3), (float3)(4, 5, 6)), 0, o + 8);
  o[11] = smoothstep(0.0f, 1.0f, 0.25f);
}
