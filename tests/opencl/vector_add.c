// Adds two vectors, by all forms of a launch.
#include "check.h"

static const char *source =
    "kernel void add(global const int *a, global const int *b, global int *c) {\n"
    "  size_t i = get_global_id(0);\n"
    "  c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void place(global ulong *out, int4 plus, local int *scratch) {\n"
    "  size_t x = get_global_id(0), y = get_global_id(1);\n"
    "  scratch[get_local_id(0)] = plus.y;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  size_t at = (y - get_global_offset(1)) * get_global_size(0) + x - get_global_offset(0);\n"
    "  out[at] = 10000 * x + 100 * y + get_local_size(0) + plus.x + scratch[(get_local_id(0) + 1) % get_local_size(0)];\n"
    "}\n";

enum { N = 1000 };

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "");
  cl_int error;
  cl_kernel add = clCreateKernel(program, "add", &error);
  CHECK(error);

  int a[N], b[N], c[N];
  for (int i = 0; i < N; i++) a[i] = i, b[i] = 3 * i - 7;
  cl_mem buffer_a = clCreateBuffer(s.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof a, a, &error);
  CHECK(error);
  cl_mem buffer_b = clCreateBuffer(s.context, CL_MEM_READ_ONLY, sizeof b, NULL, &error);
  CHECK(error);
  cl_mem buffer_c = clCreateBuffer(s.context, CL_MEM_WRITE_ONLY, sizeof c, NULL, &error);
  CHECK(error);
  CHECK(clEnqueueWriteBuffer(s.queue, buffer_b, CL_TRUE, 0, sizeof b, b, 0, NULL, NULL));
  CHECK(clSetKernelArg(add, 0, sizeof buffer_a, &buffer_a));
  CHECK(clSetKernelArg(add, 1, sizeof buffer_b, &buffer_b));
  CHECK(clSetKernelArg(add, 2, sizeof buffer_c, &buffer_c));
  const size_t local_sizes[] = {0, 1, 8, 40, 1000};
  for (int way = 0; way < 5; way++) {
    size_t global = N, local = local_sizes[way];
    int zero = 0;
    CHECK(clEnqueueFillBuffer(s.queue, buffer_c, &zero, sizeof zero, 0, sizeof c, 0, NULL, NULL));
    CHECK(clEnqueueNDRangeKernel(s.queue, add, 1, NULL, &global, local ? &local : NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, buffer_c, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL));
    for (int i = 0; i < N; i++) EXPECT(c[i] == a[i] + b[i]);
  }

  // Two dimensions, offsets, a vector and local memory.
  cl_kernel place = clCreateKernel(program, "place", &error);
  CHECK(error);
  cl_ulong out[12];
  cl_mem buffer_out = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof out, out, &error);
  CHECK(error);
  cl_int4 plus = {{5, 7, 0, 0}};
  CHECK(clSetKernelArg(place, 0, sizeof buffer_out, &buffer_out));
  CHECK(clSetKernelArg(place, 1, sizeof plus, &plus));
  CHECK(clSetKernelArg(place, 2, 2 * sizeof(int), NULL));
  size_t offset[] = {30, 4}, global[] = {4, 3}, local[] = {2, 1};
  CHECK(clEnqueueNDRangeKernel(s.queue, place, 2, offset, global, local, 0, NULL, NULL));
  cl_ulong *mapped = clEnqueueMapBuffer(s.queue, buffer_out, CL_TRUE, CL_MAP_READ, 0, sizeof out, 0, NULL, NULL, &error);
  CHECK(error);
  EXPECT(mapped == out);
  for (size_t y = 0; y < 3; y++)
    for (size_t x = 0; x < 4; x++) EXPECT(mapped[4 * y + x] == 10000 * (30 + x) + 100 * (4 + y) + 2 + 5 + 7);
  CHECK(clEnqueueUnmapMemObject(s.queue, buffer_out, mapped, 0, NULL, NULL));
  CHECK(clFinish(s.queue));

  clReleaseMemObject(buffer_a), clReleaseMemObject(buffer_b), clReleaseMemObject(buffer_c);
  clReleaseMemObject(buffer_out), clReleaseKernel(add), clReleaseKernel(place), clReleaseProgram(program);
  end(s);
  return passed();
}
