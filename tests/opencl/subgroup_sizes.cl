// Kernels of `subgroup_sizes.c`, as OpenCL C and as SPIR-V.
#define KERNEL(name) \
  kernel void name(global int *to) { \
    int l = get_local_id(0); \
    global int *at = to + 5 * get_global_id(0); \
    at[0] = get_max_sub_group_size(); \
    at[1] = get_sub_group_size(); \
    at[2] = get_sub_group_id(); \
    at[3] = get_sub_group_local_id(); \
    at[4] = sub_group_reduce_add(l); \
  }
__attribute__((intel_reqd_sub_group_size(8))) KERNEL(eight)
__attribute__((intel_reqd_sub_group_size(16))) KERNEL(sixteen)
__attribute__((intel_reqd_sub_group_size(32))) KERNEL(thirty_two)
KERNEL(usual)
