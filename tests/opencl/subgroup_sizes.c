// Kernels that require a size of sub-groups: what the device offers, what kernels say, and what their work-items see.
// Arguments: `subgroup_sizes.cl`, and a module of it in SPIR-V.
// covers: cl_intel_required_subgroup_size
#include "check.h"

enum { SUB_GROUP_SIZES = 0x4108, SPILL_MEM_SIZE = 0x4109, COMPILE_SUB_GROUP_SIZE = 0x410a };

static size_t sub_group_info(struct setting s, cl_kernel kernel, cl_uint name, size_t items) {
  size_t value = 0, size;
  CHECK(clGetKernelSubGroupInfo(kernel, s.device, name, items ? sizeof items : 0, items ? &items : NULL, sizeof value, &value, &size));
  EXPECT(size == sizeof value);
  return value;
}

// Runs a kernel of one buffer; each work-item tells the size of sub-groups, its sub-group and lane, and a sum of its sub-group.
static void run(struct setting s, cl_kernel kernel, int size, int items) {
  static cl_int found[128][5];
  cl_int error;
  cl_mem to = clCreateBuffer(s.context, 0, sizeof found, NULL, &error);
  CHECK(error);
  size_t global = 2 * items, group = items;
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, 2 * items * sizeof *found, found, 0, NULL, NULL));
  for (int i = 0; i < 2 * items; i++) {
    int l = i % items, lane = l % size, sum = 0, first = l - lane;
    int last = first + size < items ? first + size : items;
    for (int k = first; k < last; k++) sum += k;
    cl_int *it = found[i];
    int holds = it[0] == size && it[1] == last - first && it[2] == l / size && it[3] == lane && it[4] == sum;
    if (!holds) fprintf(stderr, "work-item %d in sub-groups of %d: %d %d %d %d %d\n", i, size, it[0], it[1], it[2], it[3], it[4]);
    EXPECT(holds);
  }
  CHECK(clReleaseMemObject(to));
}

static void sized(struct setting s, cl_program program, const char *name, size_t size) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  EXPECT(sub_group_info(s, kernel, COMPILE_SUB_GROUP_SIZE, 0) == size);
  EXPECT(sub_group_info(s, kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 64) == size);
  EXPECT(sub_group_info(s, kernel, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 50) == (50 + size - 1) / size);
  size_t most;
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL));
  EXPECT(sub_group_info(s, kernel, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0) == most / size);
  size_t multiple, count = 3, local = 0;
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple, &multiple, NULL));
  EXPECT(multiple == size);
  CHECK(clGetKernelSubGroupInfo(kernel, s.device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, sizeof count, &count, sizeof local, &local, NULL));
  EXPECT(local == 3 * size);
  cl_ulong spilled = 1;
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, SPILL_MEM_SIZE, sizeof spilled, &spilled, NULL));
  EXPECT(spilled == 0);
  run(s, kernel, size, 64);
  // The last sub-group is a partial one.
  run(s, kernel, size, 50);
  CHECK(clReleaseKernel(kernel));
}

static const char *unsupported =
    "__attribute__((intel_reqd_sub_group_size(5))) kernel void odd(global int *to) { to[0] = get_max_sub_group_size(); }\n"
    "kernel void usual(global int *to) { to[0] = get_max_sub_group_size(); }\n";

// Copies a module, and requires three sub-groups of the kernel `usual`. Returns the bytes.
static size_t require_sub_groups(const cl_uint *module, size_t bytes, cl_uint *to) {
  enum { EXECUTION_MODE = 16, ENTRY_POINT = 15, SUBGROUPS_PER_WORKGROUP = 36 };
  size_t words = bytes / 4, at = 5, written = 5;
  cl_uint kernel = 0;
  memcpy(to, module, 20);
  while (at < words) {
    size_t length = module[at] >> 16;
    int opcode = module[at] & 0xffff;
    if (kernel && opcode != ENTRY_POINT) {
      const cl_uint mode[] = {4 << 16 | EXECUTION_MODE, kernel, SUBGROUPS_PER_WORKGROUP, 3};
      memcpy(to + written, mode, sizeof mode);
      written += 4;
      kernel = 0;
    }
    if (opcode == ENTRY_POINT && !strcmp((const char *)(module + at + 3), "usual")) kernel = module[at + 2];
    memcpy(to + written, module + at, 4 * length);
    written += length;
    at += length;
  }
  return 4 * written;
}

// A kernel that requires a number of sub-groups runs in groups that have so many, and in no others.
static void counted(struct setting s, cl_program program) {
  static cl_int found[1024][5];
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "usual", &error);
  CHECK(error);
  EXPECT(sub_group_info(s, kernel, CL_KERNEL_COMPILE_NUM_SUB_GROUPS, 0) == 3);
  size_t size = sub_group_info(s, kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 64);
  cl_mem to = clCreateBuffer(s.context, 0, sizeof found, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  size_t global = 6 * size, group = 2 * size, fits = 3 * size, other = 6 * size - 1;
  EXPECT(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL) == CL_INVALID_WORK_GROUP_SIZE);
  EXPECT(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &other, NULL, 0, NULL, NULL) == CL_INVALID_WORK_GROUP_SIZE);
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &fits, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, global * sizeof *found, found, 0, NULL, NULL));
  for (size_t i = 0; i < global; i++) EXPECT(found[i][2] == (cl_int)(i % fits / size));
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
}

int main(int count, char **arguments) {
  struct setting s = start(0);
  size_t sizes[8], bytes;
  CHECK(clGetDeviceInfo(s.device, SUB_GROUP_SIZES, sizeof sizes, sizes, &bytes));
  int has_all = 0;
  for (size_t i = 0; i < bytes / sizeof *sizes; i++) {
    has_all += sizes[i] == 8 || sizes[i] == 16 || sizes[i] == 32;
    EXPECT(i == 0 || sizes[i - 1] < sizes[i]);
  }
  EXPECT(has_all == 3);
  cl_uint most;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof most, &most, NULL));
  EXPECT(most >= 4096 / 8);
  static char source[4096];
  static _Alignas(4) char module[1 << 16];
  FILE *file = fopen(arguments[1], "rb");
  EXPECT(count == 3 && file);
  EXPECT(fread(source, 1, sizeof source - 1, file) > 100);
  fclose(file);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_int error;
  sized(s, program, "eight", 8);
  sized(s, program, "sixteen", 16);
  sized(s, program, "thirty_two", 32);
  cl_kernel usual = clCreateKernel(program, "usual", &error);
  CHECK(error);
  EXPECT(sub_group_info(s, usual, COMPILE_SUB_GROUP_SIZE, 0) == 0);
  char text[256];
  CHECK(clReleaseKernel(usual));
  usual = clCreateKernel(program, "eight", &error);
  CHECK(clGetKernelInfo(usual, CL_KERNEL_ATTRIBUTES, sizeof text, text, NULL));
  EXPECT(!strcmp(text, "intel_reqd_sub_group_size(8)"));
  CHECK(clReleaseKernel(usual));
  CHECK(clReleaseProgram(program));
  // Sizes that are not offered refuse the kernel, and no other one.
  program = build(s, unsupported, "-cl-std=CL3.0");
  static char log[4096];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  EXPECT(strstr(log, "sub-groups of 5 work-items"));
  EXPECT(!clCreateKernel(program, "odd", &error) && error == CL_INVALID_KERNEL_DEFINITION);
  usual = clCreateKernel(program, "usual", &error);
  CHECK(error);
  CHECK(clReleaseKernel(usual));
  CHECK(clReleaseProgram(program));
  file = fopen(arguments[2], "rb");
  EXPECT(file);
  bytes = fread(module, 1, sizeof module, file);
  fclose(file);
  program = clCreateProgramWithIL(s.context, module, bytes, &error);
  CHECK(error);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  sized(s, program, "eight", 8);
  sized(s, program, "thirty_two", 32);
  CHECK(clReleaseProgram(program));
  static cl_uint required[1 << 15];
  bytes = require_sub_groups((const cl_uint *)module, bytes, required);
  program = clCreateProgramWithIL(s.context, required, bytes, &error);
  CHECK(error);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  counted(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
