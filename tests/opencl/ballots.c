// Shuffles, ballots and votes of sub-groups, in all lanes and in some, of all types, against local memory.
// covers: cl_khr_subgroup_shuffle cl_khr_subgroup_shuffle_relative cl_khr_subgroup_ballot cl_khr_subgroup_non_uniform_vote
#include "check.h"

static const char *source =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#if !defined cl_khr_subgroup_shuffle || !defined cl_khr_subgroup_shuffle_relative || \\\n"
    "    !defined cl_khr_subgroup_ballot || !defined cl_khr_subgroup_non_uniform_vote\n"
    "#error an extension is missing\n"
    "#endif\n"
    "#define MOVED(T) \\\n"
    "  kernel void moved_##T(global int *errors) { \\\n"
    "    local T values[256]; \\\n"
    "    int l = get_local_id(0), lane = get_sub_group_local_id(), base = l - lane, n = get_sub_group_size(), wrong = 0; \\\n"
    "    T x = (T)(l * 7 % 100); \\\n"
    "    values[l] = x; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    int from = (lane * 3 + 1) % n; \\\n"
    "    wrong += sub_group_shuffle(x, from) != values[base + from]; \\\n"
    "    wrong += sub_group_shuffle_xor(x, 3) != values[base + (lane ^ 3)]; \\\n"
    "    T up = sub_group_shuffle_up(x, 2), down = sub_group_shuffle_down(x, 3); \\\n"
    "    wrong += lane >= 2 && up != values[base + lane - 2]; \\\n"
    "    wrong += lane + 3 < n && down != values[base + lane + 3]; \\\n"
    "    wrong += sub_group_broadcast_first(x) != values[base] || sub_group_non_uniform_broadcast(x, 5) != values[base + 5]; \\\n"
    "    if (lane % 3) { \\\n"
    "      wrong += sub_group_broadcast_first(x) != values[base + 1] || sub_group_non_uniform_broadcast(x, 2) != values[base + 2]; \\\n"
    "      wrong += sub_group_non_uniform_all_equal(x) || !sub_group_non_uniform_all_equal((T)3); \\\n"
    "    } \\\n"
    "    if (wrong) { atomic_add(errors, wrong); } \\\n"
    "  }\n"
    "MOVED(char) MOVED(uchar) MOVED(short) MOVED(ushort) MOVED(int) MOVED(uint) MOVED(long) MOVED(ulong)\n"
    "MOVED(half) MOVED(float) MOVED(double)\n"
    // Bits of a mask are those that a condition on `i` says, below the size of the sub-group.
    "#define BITS(mask, condition) \\\n"
    "  { \\\n"
    "    uint4 m = mask; \\\n"
    "    uint words[4] = {m.x, m.y, m.z, m.w}; \\\n"
    "    for (int i = 0; i < 128; i++) wrong += (words[i / 32] >> i % 32 & 1) != (i < n && (condition)); \\\n"
    "  }\n"
    "kernel void ballots(global int *errors) {\n"
    "  int lane = get_sub_group_local_id(), n = get_sub_group_size(), wrong = 0;\n"
    "  uint4 third = sub_group_ballot(lane % 3 == 1);\n"
    "  BITS(third, i % 3 == 1)\n"
    "  wrong += sub_group_inverse_ballot(third) != (lane % 3 == 1);\n"
    "  wrong += sub_group_ballot_bit_extract(third, n - 1 - lane) != ((n - 1 - lane) % 3 == 1);\n"
    "  wrong += sub_group_ballot_bit_count(third) != (n + 1) / 3;\n"
    "  wrong += sub_group_ballot_inclusive_scan(third) != (lane + 2) / 3;\n"
    "  wrong += sub_group_ballot_exclusive_scan(third) != (lane + 1) / 3;\n"
    "  wrong += sub_group_ballot_find_lsb(third) != 1 || sub_group_ballot_find_msb(third) != (n - 2) / 3 * 3 + 1;\n"
    "  BITS(get_sub_group_eq_mask(), i == lane)\n"
    "  BITS(get_sub_group_ge_mask(), i >= lane)\n"
    "  BITS(get_sub_group_gt_mask(), i > lane)\n"
    "  BITS(get_sub_group_le_mask(), i <= lane)\n"
    "  BITS(get_sub_group_lt_mask(), i < lane)\n"
    "  wrong += sub_group_elect() != (lane == 0);\n"
    "  if (lane % 2) {\n"
    "    BITS(sub_group_ballot(lane > 3), i > 3 && i % 2)\n"
    "    wrong += sub_group_elect() != (lane == 1);\n"
    "    wrong += !sub_group_non_uniform_any(lane == 5) || sub_group_non_uniform_any(lane == 4);\n"
    "    wrong += !sub_group_non_uniform_all(lane % 2) || sub_group_non_uniform_all(lane == 1);\n"
    "  }\n"
    "  if (wrong) { atomic_add(errors, wrong); }\n"
    "}\n"
    // Halves keep all bits: here those of a signaling NaN.
    "kernel void halves(global int *errors) {\n"
    "  half x = as_half((ushort)(0x7c01 + get_sub_group_local_id()));\n"
    "  int wrong = as_ushort(sub_group_broadcast(x, 2)) != 0x7c03;\n"
    "  wrong += as_ushort(sub_group_shuffle(x, 1)) != 0x7c02;\n"
    "  wrong += as_ushort(sub_group_broadcast_first(x)) != 0x7c01;\n"
    "  wrong += as_ushort(sub_group_rotate(x, 0)) != as_ushort(x);\n"
    "  half3 v = sub_group_non_uniform_broadcast((half3)(x), 3);\n"
    "  wrong += as_ushort(v.x) != 0x7c04 || as_ushort(v.z) != 0x7c04;\n"
    "  if (wrong) { atomic_add(errors, wrong); }\n"
    "}\n"
    // A wrong expectation.
    "kernel void wrong(global int *errors) {\n"
    "  if (sub_group_shuffle((int)get_sub_group_local_id(), 1) != 2) { atomic_inc(errors); }\n"
    "}\n";

int main(void) {
  setenv("HEDDLE_TRIALS", "off", 1);
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel kernels[32];
  cl_uint count, noticed = 0;
  CHECK(clCreateKernelsInProgram(program, 32, kernels, &count));
  EXPECT(count == 14);
  for (cl_uint i = 0; i < count; i++) {
    cl_int errors = 0, error;
    char name[64];
    cl_mem to = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof errors, &errors, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernels[i], 0, sizeof to, &to));
    size_t items = 256;
    CHECK(clEnqueueNDRangeKernel(s.queue, kernels[i], 1, NULL, &items, &items, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof errors, &errors, 0, NULL, NULL));
    CHECK(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    int is_wrong = !strcmp(name, "wrong");
    if (errors && !is_wrong) fprintf(stderr, "%s: %d errors\n", name, errors);
    EXPECT((errors != 0) == is_wrong);
    noticed += is_wrong;
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(kernels[i]));
  }
  EXPECT(noticed == 1);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
