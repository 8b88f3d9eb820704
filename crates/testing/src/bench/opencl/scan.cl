// Running sums: of each block, of the sums of blocks, and both together.
#define GROUP 256

kernel void blocks(global const int *in, global int *out, global int *sums) {
  local int part[2 * GROUP];
  int item = get_local_id(0), at = get_global_id(0);
  int from = 0, to = GROUP;
  part[item] = in[at];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int distance = 1; distance < GROUP; distance *= 2) {
    int value = part[from + item];
    if (item >= distance)
      value += part[from + item - distance];
    part[to + item] = value;
    from = GROUP - from;
    to = GROUP - to;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[at] = part[from + item];
  if (item == GROUP - 1)
    sums[get_group_id(0)] = part[from + item];
}

kernel void add(global int *out, global const int *sums) {
  if (get_group_id(0) > 0)
    out[get_global_id(0)] += sums[get_group_id(0) - 1];
}
