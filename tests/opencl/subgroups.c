// Sub-groups: consecutive work-items in the linear order of their group, all full but the last one.
// covers: cl_khr_subgroups
#include "check.h"

static const char *source =
    "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
    "#ifndef cl_khr_subgroups\n"
    "#error no sub-groups\n"
    "#endif\n"
    "kernel void ask(global int *out) {\n"
    "  int i = get_local_linear_id();\n"
    "  size_t at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);\n"
    "  global int *to = out + 16 * at;\n"
    "  local int slots[4096];\n"
    "  to[0] = i;\n"
    "  to[1] = get_sub_group_id();\n"
    "  to[2] = get_sub_group_local_id();\n"
    "  to[3] = get_sub_group_size();\n"
    "  to[4] = get_num_sub_groups();\n"
    "  to[5] = get_max_sub_group_size();\n"
    "  to[6] = sub_group_reduce_add(i);\n"
    "  to[7] = sub_group_scan_exclusive_add(i);\n"
    "  to[8] = sub_group_shuffle_xor(i, 1);\n"
    "  to[9] = sub_group_ballot(i % 3 == 0).x;\n"
    "  to[10] = sub_group_broadcast(i, 0);\n"
    "  to[11] = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
    // Of the whole sub-group: true for all, for all but the last, for the last alone, for none.
    "  int lane = get_sub_group_local_id(), last = get_sub_group_size() - 1;\n"
    "  to[12] = sub_group_all(i >= 0) + 2 * sub_group_all(lane < last);\n"
    "  to[13] = sub_group_any(lane == last) + 2 * sub_group_any(i < 0);\n"
    "  to[14] = get_enqueued_num_sub_groups();\n"
    "  slots[i] = 3 * i;\n"
    "  sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  to[15] = slots[i - lane + (lane < last ? lane + 1 : 0)];\n"
    "}\n";

static size_t query_of(struct setting s, cl_kernel kernel, cl_kernel_sub_group_info what, const size_t *local) {
  size_t answer, size;
  CHECK(clGetKernelSubGroupInfo(kernel, s.device, what, 3 * sizeof *local, local, sizeof answer, &answer, &size));
  EXPECT(size == sizeof answer);
  return answer;
}

static void launch(struct setting s, cl_kernel kernel, const size_t *global, const size_t *local) {
  cl_int error;
  size_t items = global[0] * global[1] * global[2], width = query_of(s, kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, local);
  size_t count = query_of(s, kernel, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, local);
  EXPECT(width >= 1 && count == (local[0] * local[1] * local[2] + width - 1) / width);
  cl_mem memory = clCreateBuffer(s.context, 0, items * 16 * sizeof(cl_int), NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 3, NULL, global, local, 0, NULL, NULL));
  cl_int *out = clEnqueueMapBuffer(s.queue, memory, CL_TRUE, CL_MAP_READ, 0, items * 16 * sizeof(cl_int), 0, NULL, NULL, &error);
  CHECK(error);
  for (size_t item = 0; item < items; item++) {
    cl_int *of = out + 16 * item;
    int i = of[0], size = of[11], id = i / (int)width, first = id * (int)width;
    int full = size - first < (int)width ? size - first : (int)width;
    int sum = 0, before = 0, lanes = 0;
    for (int lane = 0; lane < full; lane++) {
      sum += first + lane;
      if (first + lane < i) before += first + lane;
      if ((first + lane) % 3 == 0 && lane < 32) lanes |= 1u << lane;
    }
    EXPECT(i < size && of[1] == id && of[2] == i - first && of[3] == full);
    EXPECT(of[4] == (size + (int)width - 1) / (int)width && of[5] == (int)width);
    EXPECT(of[6] == sum && of[7] == before && of[9] == lanes && of[10] == first);
    EXPECT(of[12] == 1 && of[13] == 1 && of[14] == (int)count);
    EXPECT(of[15] == 3 * (i + 1 < first + full ? i + 1 : first));
    if (((i - first) ^ 1) < full) EXPECT(of[8] == first + ((i - first) ^ 1));
  }
  CHECK(clEnqueueUnmapMemObject(s.queue, memory, out, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  CHECK(clReleaseMemObject(memory));
}

int main(void) {
  struct setting s = start(0);
  char extensions[4096];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
  EXPECT(strstr(extensions, "cl_khr_subgroups ") && strstr(extensions, "cl_khr_subgroup_ballot"));
  cl_int error;
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel kernel = clCreateKernel(program, "ask", &error);
  CHECK(error);
  const size_t ranges[][6] = {
      {96, 1, 1, 48, 1, 1}, {40, 1, 1, 20, 1, 1}, {7, 1, 1, 7, 1, 1},  {10, 10, 1, 5, 10, 1}, {64, 6, 1, 32, 3, 1},
      {24, 4, 2, 24, 2, 2}, {6, 6, 6, 3, 3, 3},   {50, 1, 1, 32, 1, 1}, {72, 5, 1, 32, 2, 1},  {9, 7, 3, 4, 4, 2},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) launch(s, kernel, ranges[i], ranges[i] + 3);
  size_t two = 2, local[3], most, width = query_of(s, kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, ranges[0] + 3);
  CHECK(clGetKernelSubGroupInfo(kernel, s.device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, sizeof two, &two, sizeof local, local, NULL));
  EXPECT(local[0] == 2 * width && local[1] == 1 && local[2] == 1);
  CHECK(clGetKernelSubGroupInfo(kernel, s.device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, NULL, sizeof most, &most, NULL));
  EXPECT(most * width >= 4096);
  cl_uint of_device;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof of_device, &of_device, NULL));
  // Kernels may require smaller sub-groups than this one has.
  EXPECT(of_device >= most);
  CODE(clGetKernelSubGroupInfo(kernel, s.device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 0, NULL, sizeof most, &most, NULL), CL_INVALID_VALUE);
  CODE(clGetKernelSubGroupInfo(kernel, s.device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 5, &two, sizeof most, &most, NULL), CL_INVALID_VALUE);
  CODE(clGetKernelSubGroupInfo(kernel, s.device, 1, 0, NULL, sizeof most, &most, NULL), CL_INVALID_VALUE);
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
