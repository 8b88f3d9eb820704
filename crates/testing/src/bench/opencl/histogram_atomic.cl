// Counts of bytes, by atomics on counters of the group and then on those of all.
kernel void count(global const uchar *data, global uint *sums, uint length) {
  local uint counters[256];
  uint item = get_local_id(0);
  counters[item] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < length; i += get_global_size(0))
    atomic_inc(&counters[data[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&sums[item], counters[item]);
}
