/* What SYCL's compilers make of kernels: ids of 64 bits behind wrappers, accessors as structures in a structure of all arguments,
   ranges that are rounded up, and elements of sub-groups one behind the other. All accesses to buffers are contiguous. */

typedef struct {
  ulong access, memory, offset;
  float *data;
} accessor;

typedef struct {
  ulong index, in_group, of_group;
} item;

typedef struct {
  accessor to, from;
  float factor;
} arguments;

accessor accessed(global float *data, ulong access, ulong memory, ulong offset) {
  accessor made = {access, memory, offset, data + offset};
  return made;
}

item current(void) {
  item made = {get_global_id(0) - get_global_offset(0), get_local_id(0), get_group_id(0)};
  return made;
}

float *element(const accessor *of, ulong index) { return of->data + index; }

void scale(const arguments *given, const item *at) {
  *element(&given->to, at->index) += given->factor * *element(&given->from, at->index);
}

kernel void plain(global float *to, ulong to_access, ulong to_memory, ulong to_offset, global float *from, ulong from_access,
                  ulong from_memory, ulong from_offset, float factor) {
  arguments given = {accessed(to, to_access, to_memory, to_offset), accessed(from, from_access, from_memory, from_offset), factor};
  item at = current();
  scale(&given, &at);
}

kernel void rounded(ulong count, global float *to, ulong to_access, ulong to_memory, ulong to_offset, global float *from,
                    ulong from_access, ulong from_memory, ulong from_offset, float factor) {
  arguments given = {accessed(to, to_access, to_memory, to_offset), accessed(from, from_access, from_memory, from_offset), factor};
  ulong step = get_global_size(0);
  for (item at = current(); at.index < count; at.index += step)
    scale(&given, &at);
}

kernel void sub_groups(global float *to, global const float *from, ulong count) {
  uint lanes = get_max_sub_group_size();
  ulong base = 4 * (get_group_id(0) * get_local_size(0) + get_sub_group_id() * lanes);
  if (base + 4 * lanes <= count) {
    float4 loaded;
    loaded.s0 = from[base + get_sub_group_local_id()];
    loaded.s1 = from[base + lanes + get_sub_group_local_id()];
    loaded.s2 = from[base + 2 * lanes + get_sub_group_local_id()];
    loaded.s3 = from[base + 3 * lanes + get_sub_group_local_id()];
    loaded *= loaded;
    to[base + get_sub_group_local_id()] = loaded.s0;
    to[base + lanes + get_sub_group_local_id()] = loaded.s1;
    to[base + 2 * lanes + get_sub_group_local_id()] = loaded.s2;
    to[base + 3 * lanes + get_sub_group_local_id()] = loaded.s3;
  }
}
