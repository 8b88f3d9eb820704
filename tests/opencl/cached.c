// Two kernels, one of them launched in groups that have code of their own.
#include "check.h"

static const char *source =
    "kernel void twice(global int *a) { size_t i = get_global_id(0); a[i] *= 2; }\n"
    "kernel void turn(global int *a, local int *b) {\n"
    "  size_t x = get_local_id(0), y = get_local_id(1), at = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "  b[y * 2 + x] = a[at];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[at] = b[x * 2 + y];\n"
    "}\n";

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "");
  cl_int error, data[16];
  for (int i = 0; i < 16; i++) data[i] = i;
  cl_kernel twice = clCreateKernel(program, "twice", &error);
  CHECK(error);
  cl_kernel turn = clCreateKernel(program, "turn", &error);
  CHECK(error);
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  CHECK(clSetKernelArg(twice, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(turn, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(turn, 1, 4 * sizeof(cl_int), NULL));
  size_t all = 16, global[] = {4, 4}, local[] = {2, 2};
  CHECK(clEnqueueNDRangeKernel(s.queue, twice, 1, NULL, &all, NULL, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(s.queue, turn, 2, NULL, global, local, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++) EXPECT(data[4 * y + x] == 2 * (4 * (y / 2 * 2 + x % 2) + x / 2 * 2 + y % 2));
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(twice));
  CHECK(clReleaseKernel(turn));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
