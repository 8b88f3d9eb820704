// Bits of ballots in sub-groups, also of those that are not full.
#include "check.h"

static const char *source =
    "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable\n"
    "kernel void bits(global uint *out, global const uint4 *in) {\n"
    "  size_t i = get_global_id(0); uint4 v = in[i];\n"
    "  out[8 * i] = get_max_sub_group_size(); out[8 * i + 1] = get_sub_group_local_id();\n"
    "  out[8 * i + 2] = sub_group_ballot_find_msb(v); out[8 * i + 3] = sub_group_ballot_find_lsb(v);\n"
    "  out[8 * i + 4] = sub_group_ballot_bit_count(v); out[8 * i + 5] = sub_group_ballot_inclusive_scan(v);\n"
    "  out[8 * i + 6] = sub_group_ballot_exclusive_scan(v); out[8 * i + 7] = get_sub_group_id();\n"
    "}\n";

static unsigned long long state = 88172645463325252ull;
static unsigned long long next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static cl_mem buffer(struct setting s, size_t bytes, void *from) {
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, bytes, from, &error);
  CHECK(error);
  return memory;
}

static void bits(struct setting s, cl_program program) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "bits", &error);
  CHECK(error);
  static cl_uint out[8 * 256];
  static cl_uint4 in[256];
  // Groups whose last sub-group is not full, of one and of several sub-groups.
  for (size_t local = 1; local <= 64; local += local < 20 ? 1 : 11) {
    size_t global = 3 * local;
    for (size_t i = 0; i < global; i++)
      for (int k = 0; k < 4; k++) in[i].s[k] = i % 5 == 0 ? 0xffffffffu : (cl_uint)next();
    cl_mem to = buffer(s, sizeof out, out), from = buffer(s, sizeof in, in);
    CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
    CHECK(clSetKernelArg(kernel, 1, sizeof from, &from));
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    for (size_t i = 0; i < global; i++) {
      cl_uint *of = out + 8 * i;
      unsigned long long value = in[i].s[0] | (unsigned long long)in[i].s[1] << 32;
      // Bits count below the size of the largest sub-group, also in a smaller one.
      if (of[0] < 64) value &= (1ull << of[0]) - 1;
      unsigned long long to_here = ((2ull << of[1]) - 1) & value, before = ((1ull << of[1]) - 1) & value;
      if (value) {
        EXPECT(of[2] == 63 - (cl_uint)__builtin_clzll(value));
        EXPECT(of[3] == (cl_uint)__builtin_ctzll(value));
      }
      EXPECT(of[4] == (cl_uint)__builtin_popcountll(value));
      EXPECT(of[5] == (cl_uint)__builtin_popcountll(to_here) && of[6] == (cl_uint)__builtin_popcountll(before));
    }
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
  }
  CHECK(clReleaseKernel(kernel));
}

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  bits(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
