// Sizes of sub-groups: required ones, the usual one, and one that no kernel may require.
__attribute__((intel_reqd_sub_group_size(8))) kernel void eight(global int *to) {
  to[get_global_id(0)] = sub_group_reduce_add((int)get_sub_group_size());
}

__attribute__((intel_reqd_sub_group_size(32))) kernel void thirty_two(global int *to) {
  to[get_global_id(0)] = sub_group_reduce_add((int)get_sub_group_size());
}

kernel void usual(global int *to) { to[get_global_id(0)] = sub_group_reduce_add((int)get_sub_group_size()); }

__attribute__((intel_reqd_sub_group_size(12))) kernel void twelve(global int *to) { to[get_global_id(0)] = 1; }
