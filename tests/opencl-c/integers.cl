/*
Integer functions at the ends of their types.
; run: @signed8(&o) lanes=1 local=1 with o: i8 zero 16 -> o: [-128, -1, 127, -128, -1, 0, -64, 127, 8, 7, 3, -128, -86, 127, 4, 0]
; run: @signed64(&o) lanes=1 local=1 with o: i64 zero 8 -> o: [-1, 9223372036854775807, -9223372036854775808, -1, 4611686018427387903, 64, -9223372036854775808, -1]
; run: @unsigned32(&o) lanes=1 local=1 with o: i32 zero 12 -> o: [-2, -1, -1, 0, -2147483648, -2147483648, 31, 32, 6, 10, 12, 305419896]
; run: @vectors(&o) lanes=1 local=1 with o: i32 zero 8 -> o: [5, 1, 7, 8, 4, 3, 4, 4]
*/
kernel void signed8(global char *o) {
  char least = CHAR_MIN, most = CHAR_MAX;
  o[0] = (char)abs(least);
  o[1] = (char)abs_diff(least, most);
  o[2] = add_sat(most, (char)1);
  o[3] = sub_sat(least, (char)1);
  o[4] = hadd(least, most);
  o[5] = rhadd(least, most);
  o[6] = mul_hi(least, most);
  o[7] = mad_sat(most, most, most);
  o[8] = clz((char)0);
  o[9] = ctz(least);
  o[10] = popcount((char)0x61);
  o[11] = max(least, least);
  o[12] = rotate((char)0x55, (char)9);
  o[13] = clamp(most, (char)0, most);
  o[14] = min((char)4, most);
  o[15] = mad_hi((char)1, (char)1, (char)0);
}

kernel void signed64(global long *o) {
  long least = LONG_MIN, most = LONG_MAX;
  o[0] = mul_hi(least, 2L);
  o[1] = mad_sat(most, most, least);
  o[2] = mad_sat(least, most, most);
  o[3] = hadd(least, most);
  o[4] = mul_hi(most, most);
  o[5] = clz(0L);
  o[6] = mad_sat(least, 1L, 0L);
  o[7] = mad_sat(most, -1L, most) - 1;
}

kernel void unsigned32(global uint *o) {
  uint most = UINT_MAX;
  o[0] = mul_hi(most, most);
  o[1] = mad_sat(most, most, most);
  o[2] = add_sat(most, 1u);
  o[3] = sub_sat(0u, 1u);
  o[4] = rhadd(most, 0u);
  o[5] = rotate(1u, 31u);
  o[6] = ctz(0x80000000u);
  o[7] = ctz(0u);
  o[8] = mul24(2u, 3u);
  o[9] = mad24(2u, 3u, 4u);
  o[10] = (uint)(upsample((uchar)0, (uchar)12));
  o[11] = upsample((ushort)0x1234, (ushort)0x5678);
}

kernel void vectors(global int4 *o) {
  int4 a = (int4)(5, -1, 7, -8);
  o[0] = convert_int4(abs(a));
  o[1] = select((int4)(1, 2, 3, 4), (int4)(4, 3, 2, 1), (int4)(-1, 1, 0, 0) << 31) + (int4)(0, 0, 1, 0);
}
