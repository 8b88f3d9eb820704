// Groups at the end that are smaller than requested, and collectives of the largest groups.
#include "check.h"

static const char *source =
    "kernel void sizes(global int *out) {\n"
    "  size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);\n"
    "  int at = 4 * (y * get_global_size(0) + x);\n"
    "  out[at] = get_enqueued_local_size(0), out[at + 1] = get_enqueued_local_size(1);\n"
    "  out[at + 2] = get_local_size(0), out[at + 3] = get_local_size(1);\n"
    "}\n"
    "kernel void total(global int *out) { out[get_global_id(0)] = work_group_scan_inclusive_add(1); }\n"
    "kernel __attribute__((reqd_work_group_size(8192, 1, 1))) void large(global int *out) {\n"
    "  out[get_global_id(0)] = work_group_reduce_add(1);\n"
    "}\n";

enum { N = 4096 };

int main(void) {
  struct setting s = start(0);
  cl_int error;
  static cl_int out[2 * N];
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel sizes = clCreateKernel(program, "sizes", &error);
  CHECK(error);
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof out, out, &error);
  CHECK(error);
  CHECK(clSetKernelArg(sizes, 0, sizeof memory, &memory));
  size_t offset[] = {3, 100}, global[] = {20, 11}, local[] = {8, 4};
  CHECK(clEnqueueNDRangeKernel(s.queue, sizes, 2, offset, global, local, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int y = 0; y < 11; y++)
    for (int x = 0; x < 20; x++) {
      cl_int *at = out + 4 * (20 * y + x);
      EXPECT(at[0] == 8 && at[1] == 4 && at[2] == (x < 16 ? 8 : 4) && at[3] == (y < 8 ? 4 : 3));
    }
  // One group alone that is smaller.
  size_t few[] = {5, 3};
  CHECK(clEnqueueNDRangeKernel(s.queue, sizes, 2, offset, few, local, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 15; i++) {
    cl_int *at = out + 4 * i;
    EXPECT(at[0] == 8 && at[1] == 4 && at[2] == 5 && at[3] == 3);
  }
  cl_kernel total = clCreateKernel(program, "total", &error);
  CHECK(error);
  CHECK(clSetKernelArg(total, 0, sizeof memory, &memory));
  size_t all = 2 * N, half_of = N;
  CHECK(clEnqueueNDRangeKernel(s.queue, total, 1, NULL, &all, &half_of, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 2 * N; i++) EXPECT(out[i] == i % N + 1);
  // A size that the source asks for and the device does not have.
  cl_kernel large = clCreateKernel(program, "large", &error);
  CHECK(error);
  CHECK(clSetKernelArg(large, 0, sizeof memory, &memory));
  CODE(clEnqueueNDRangeKernel(s.queue, large, 1, NULL, &all, NULL, 0, NULL, NULL), CL_INVALID_WORK_GROUP_SIZE);
  CODE(clEnqueueNDRangeKernel(s.queue, large, 1, NULL, &all, &all, 0, NULL, NULL), CL_INVALID_WORK_ITEM_SIZE);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(sizes));
  CHECK(clReleaseKernel(total));
  CHECK(clReleaseKernel(large));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
