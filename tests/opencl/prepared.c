// Creates the kernels of a program. With `launch` it launches them, too. With `many` the program has more kernels, which are not launched.
// With `large` it launches one of many on so many work-items that code pays which takes long to compile.
#include "check.h"

#define LITTLE(NUMBER) "kernel void little" #NUMBER "(global float *a) { a[get_global_id(0)] += " #NUMBER "; }\n"

// In rows; in squares of 16 x 16 that share a tile; in squares of 8 x 8 that share a tile with a border.
static const char *few =
    "kernel void row(global float *a) { a[get_global_id(0)] *= 2; }\n"
    "kernel void turn(global float *a) {\n"
    "  local float tile[16][17];\n"
    "  size_t x = get_local_id(0), y = get_local_id(1);\n"
    "  size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "  tile[y][x] = a[at];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[at] = tile[x][y];\n"
    "}\n"
    "kernel void smooth(global float *a) {\n"
    "  local float tile[10][10];\n"
    "  size_t x = get_local_id(0), y = get_local_id(1);\n"
    "  size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "  tile[y][x] = a[at];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[at] = tile[y][x] + tile[y ^ 1][x];\n"
    "}\n";
#define TEN(TEXT) TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT
static const char *large =
    LITTLE(0) LITTLE(1) LITTLE(2) LITTLE(3) LITTLE(4) LITTLE(5) LITTLE(6) LITTLE(7)
    "kernel void chain(global float *a) {\n"
    "  float x = a[get_global_id(0)];\n" TEN(TEN("  x = x * x + 0.5f; x = x * x - 0.5f; x = x * x + 0.25f; x = x * x - 0.75f;\n"))
    "  a[get_global_id(0)] = x;\n"
    "}\n";
static const char *many = LITTLE(0) LITTLE(1) LITTLE(2) LITTLE(3) LITTLE(4) LITTLE(5) LITTLE(6) LITTLE(7) LITTLE(8);

enum { WIDTH = 64 };

static void launch(struct setting s, cl_kernel kernel, cl_mem memory, size_t side) {
  size_t all = WIDTH * WIDTH, global[] = {WIDTH, WIDTH}, local[] = {side, side};
  CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
  if (side) CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 2, NULL, global, local, 0, NULL, NULL));
  else CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &all, NULL, 0, NULL, NULL));
}

int main(int count, char **arguments) {
  EXPECT(count == 2);
  struct setting s = start(0);
  const char *source = strcmp(arguments[1], "many") ? strcmp(arguments[1], "large") ? few : large : many;
  cl_program program = build(s, source, "");
  cl_kernel kernels[9];
  cl_uint created;
  CHECK(clCreateKernelsInProgram(program, 9, kernels, &created));
  if (!strcmp(arguments[1], "launch")) {
    EXPECT(created == 3);
    static float data[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++) data[i] = i;
    cl_int error;
    cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
    CHECK(error);
    launch(s, kernels[0], memory, 0);
    launch(s, kernels[1], memory, 16);
    launch(s, kernels[2], memory, 8);
    CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
    for (int y = 0; y < WIDTH; y++)
      for (int x = 0; x < WIDTH; x++) {
        int corner = y / 16 * 16 * WIDTH + x / 16 * 16, row = y % 16, column = x % 16;
        EXPECT(data[y * WIDTH + x] == 2 * (corner + column * WIDTH + row) + 2 * (corner + column * WIDTH + (row ^ 1)));
      }
    CHECK(clReleaseMemObject(memory));
  }
  if (!strcmp(arguments[1], "large")) {
    size_t all = 1 << 18;
    cl_int error;
    cl_mem memory = clCreateBuffer(s.context, 0, all * sizeof(float), NULL, &error);
    CHECK(error);
    float zero = 0;
    CHECK(clEnqueueFillBuffer(s.queue, memory, &zero, sizeof zero, 0, all * sizeof zero, 0, NULL, NULL));
    CHECK(clSetKernelArg(kernels[8], 0, sizeof memory, &memory));
    CHECK(clEnqueueNDRangeKernel(s.queue, kernels[8], 1, NULL, &all, NULL, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    CHECK(clReleaseMemObject(memory));
  }
  for (cl_uint k = 0; k < created; k++) CHECK(clReleaseKernel(kernels[k]));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
