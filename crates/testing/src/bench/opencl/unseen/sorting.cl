// Sorting, searching and scans.

//! global=32768 local=256 args=i:32768:1000000,I:32768,l:1024
kernel void rank_in_group(global const int *in, global int *out, local int *keys) {
  int l = get_local_id(0), n = get_local_size(0), key = in[get_global_id(0)], rank = 0;
  keys[l] = key;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < n; i++)
    rank += keys[i] < key || (keys[i] == key && i < l);
  out[get_group_id(0) * n + rank] = key;
}

//! global=32768 local=128 args=i:32768:65536,I:32768
kernel void insertion16(global const int *in, global int *out) {
  int v[16], base = get_global_id(0) / 16 * 16;
  for (int i = 0; i < 16; i++)
    v[i] = in[base + i];
  for (int i = 1; i < 16; i++) {
    int key = v[i], j = i - 1;
    while (j >= 0 && v[j] > key) {
      v[j + 1] = v[j];
      j--;
    }
    v[j + 1] = key;
  }
  out[get_global_id(0)] = v[get_global_id(0) % 16];
}

//! global=65536 args=r:65536:3,i:65536:196608,I:65536,n=65536
kernel void binary_search(global const int *sorted, global const int *wanted, global int *out, int n) {
  int key = wanted[get_global_id(0)], low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[get_global_id(0)] = low;
}

//! global=65536 local=256 args=i:65536:100,I:65536,l:2048
kernel void scan_groups(global const int *in, global int *out, local int *buffer) {
  int l = get_local_id(0), n = get_local_size(0), from = 0;
  buffer[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < n; d *= 2) {
    int to = n - from;
    buffer[to + l] = buffer[from + l] + (l >= d ? buffer[from + l - d] : 0);
    from = to;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = buffer[from + l];
}

//! global=65536 local=256 args=i:65536:16,I:4096,l:64
kernel void digit_counts(global const uint *keys, global uint *counts, local uint *bins) {
  uint l = get_local_id(0);
  if (l < 16)
    bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&bins[keys[get_global_id(0)] & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16)
    counts[l * get_num_groups(0) + get_group_id(0)] = bins[l];
}

//! global=32768 args=r:16384:2,r:16384:2,I:32768,n=16384
kernel void merge_rank(global const int *a, global const int *b, global int *out, int n) {
  int i = get_global_id(0);
  int is_second = i >= n, key = is_second ? b[i - n] + 1 : a[i], low = 0, high = n;
  global const int *other = is_second ? a : b;
  while (low < high) {
    int m = (low + high) >> 1;
    if (other[m] + !is_second < key)
      low = m + 1;
    else
      high = m;
  }
  out[(is_second ? i - n : i) + low] = key;
}
