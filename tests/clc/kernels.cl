// What the report tells of: gathers, masks, barriers, a retained loop, a fixed size of groups, local memory, atomics.
kernel void lookup(global float *to, global const float *table, global const uint *index, uint count) {
  size_t i = get_global_id(0);
  float sum = 0.0f;
  for (uint j = 0; j < count; j++)
    sum += table[index[i] + j];
  if (sum > 1.0f)
    to[i] = sum;
}

kernel void total(global const float *from, global float *to, local float *part) {
  size_t own = get_local_id(0);
  part[own] = from[get_global_id(0)];
  for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own < step)
      part[own] += part[own + step];
  }
  if (own == 0)
    to[get_group_id(0)] = part[0];
}

kernel __attribute__((reqd_work_group_size(4, 4, 1))) void turn(global float *to, global const float *from) {
  local float tile[16];
  size_t x = get_local_id(0), y = get_local_id(1);
  tile[y * 4 + x] = from[get_global_id(1) * get_global_size(0) + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = tile[x * 4 + y];
}

kernel void count(global volatile int *bins, global const uchar *bytes) {
  atomic_inc(&bins[bytes[get_global_id(0)]]);
}
