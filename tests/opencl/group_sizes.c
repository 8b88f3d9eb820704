// Launches a kernel with local memory once in groups of each of ten sizes, as programs do that look for the best one.
#include "check.h"

static const char *source =
    "kernel void sums(global const int *a, global int *b, int n, local int *tile) {\n"
    "  int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);\n"
    "  int at = get_global_id(1) * n + get_global_id(0);\n"
    "  tile[y * w + x] = a[at];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  int sum = 0;\n"
    "  for (int j = 0; j < h; j++) sum += tile[j * w + x];\n"
    "  for (int i = 0; i < w; i++) sum += tile[y * w + i];\n"
    "  b[at] = sum;\n"
    "}\n";

enum { N = 128 };
static int values[N * N], found[N * N];

int main(void) {
  struct setting s = start(0);
  cl_int error;
  cl_program program = build(s, source, "");
  cl_kernel kernel = clCreateKernel(program, "sums", &error);
  CHECK(error);
  for (int i = 0; i < N * N; i++) values[i] = i * 7 % 1001;
  cl_mem from = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, sizeof values, NULL, &error);
  CHECK(error);
  int n = N;
  CHECK(clSetKernelArg(kernel, 0, sizeof from, &from));
  CHECK(clSetKernelArg(kernel, 1, sizeof to, &to));
  CHECK(clSetKernelArg(kernel, 2, sizeof n, &n));
  size_t sizes[][2] = {{16, 16}, {8, 8}, {4, 16}, {32, 8}, {64, 4}, {2, 32}, {16, 8}, {128, 2}, {8, 32}, {1, 64}};
  for (int i = 0; i < 10; i++) {
    size_t global[] = {N, N}, *local = sizes[i];
    CHECK(clSetKernelArg(kernel, 3, local[0] * local[1] * sizeof(int), NULL));
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 2, NULL, global, local, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    for (int y = 0; y < N; y++) {
      for (int x = 0; x < N; x++) {
        int sum = 0, left = x - x % (int)local[0], top = y - y % (int)local[1];
        for (int j = 0; j < (int)local[1]; j++) sum += values[(top + j) * N + x];
        for (int j = 0; j < (int)local[0]; j++) sum += values[y * N + left + j];
        EXPECT(found[y * N + x] == sum);
      }
    }
  }
  CHECK(clReleaseMemObject(from));
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
