// Counts of bytes: each work-item has counters of its own in local memory, which the group adds up.
#define GROUP 128
#define BINS 256

kernel void count(global const uchar *data, local uchar *counters, global uint *sums) {
  uint item = get_local_id(0);
  for (uint i = 0; i < BINS; i++)
    counters[item * BINS + i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < BINS - 1; i++) {
    uint value = data[get_group_id(0) * GROUP * (BINS - 1) + i * GROUP + item];
    counters[item * BINS + value]++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < BINS / GROUP; i++) {
    uint sum = 0;
    for (uint j = 0; j < GROUP; j++)
      sum += counters[j * BINS + i * GROUP + item];
    sums[get_group_id(0) * BINS + i * GROUP + item] = sum;
  }
}
