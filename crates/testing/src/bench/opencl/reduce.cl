// The sums of what groups read, by a tree in local memory.
#define GROUP 256

kernel void sum(global const float *in, global float *out, int length) {
  local float part[GROUP];
  int item = get_local_id(0);
  float own = 0.0f;
  for (int i = get_global_id(0); i < length; i += get_global_size(0))
    own += in[i];
  part[item] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
    if (item < half_way)
      part[item] += part[item + half_way];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0)
    out[get_group_id(0)] = part[0];
}
