// The discrete cosine transform of blocks of 8×8, one work-group each.
kernel void transform(global float *out, global const float *in, constant float *basis, uint width) {
  local float half_way[64];
  uint x = get_local_id(0), y = get_local_id(1);
  uint corner = get_group_id(1) * 8 * width + get_group_id(0) * 8;
  float sum = 0.0f;
  for (uint k = 0; k < 8; k++)
    sum += basis[y * 8 + k] * in[corner + k * width + x];
  half_way[y * 8 + x] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0.0f;
  for (uint k = 0; k < 8; k++)
    sum += half_way[y * 8 + k] * basis[x * 8 + k];
  out[corner + y * width + x] = sum;
}
