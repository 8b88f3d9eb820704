// A matrix turned over, tile by tile through local memory.
#define TILE 16

kernel void transpose(global float *out, global const float *in, uint width, uint height) {
  local float tile[TILE * TILE];
  uint x = get_local_id(0), y = get_local_id(1);
  tile[y * TILE + x] = in[get_global_id(1) * width + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint column = get_group_id(1) * TILE + x, row = get_group_id(0) * TILE + y;
  out[row * height + column] = tile[x * TILE + y];
}
