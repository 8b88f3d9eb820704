// Integer divisions without a result: by zero, and of the minimum by -1. Their value is unspecified; nothing else happens.
#include "check.h"

// Item i divides a[i] by b[i]; where b[i] is 0, it says so, and one half of the items divides nothing.
#define KERNELS(T) \
    "kernel void lanes_" #T "(global const " #T " *a, global const " #T " *b, global " #T " *out, " #T " by) {\n" \
    "  size_t i = get_global_id(0);\n" \
    "  " #T " zeros = b[i] == 0;\n" \
    "  out[6 * i] = a[i] / b[i];\n" \
    "  out[6 * i + 1] = a[i] % b[i];\n" \
    "  out[6 * i + 2] = zeros;\n" \
    "  if (i & 1) { out[6 * i + 3] = a[i] / b[i]; out[6 * i + 4] = a[i] % by; }\n" \
    "  out[6 * i + 5] = 7;\n" \
    "}\n" \
    "kernel void alone_" #T "(global const " #T " *a, global const " #T " *b, global " #T " *out, int count) {\n" \
    "  for (int i = 0; i < count; i++) {\n" \
    "    out[6 * i] = a[i] / b[i];\n" \
    "    out[6 * i + 1] = a[i] % b[i];\n" \
    "    out[6 * i + 2] = b[i] == 0;\n" \
    "    out[6 * i + 5] = 7;\n" \
    "  }\n" \
    "}\n" \
    "kernel void vectors_" #T "(global const " #T "4 *a, global const " #T "4 *b, global " #T "4 *out, " #T " by) {\n" \
    "  size_t i = get_global_id(0);\n" \
    "  out[2 * i] = a[i] / b[i]; out[2 * i + 1] = a[i] % b[i];\n" \
    "  if (i & 1) out[2 * i] = a[i] / by;\n" \
    "}\n"

static const char *source =
    KERNELS(char) KERNELS(uchar) KERNELS(short) KERNELS(ushort) KERNELS(int) KERNELS(uint) KERNELS(long) KERNELS(ulong)
    "kernel void constants(global int *out, int x, int zero) {\n"
    "  out[0] = x / 0; out[1] = 5 / 0; out[2] = x % 0; out[3] = x % -1; out[4] = INT_MIN / -1;\n"
    "  out[5] = INT_MIN % (zero - 1);\n"
    // No path is cut because it leads to a division by zero.
    "  int by = 3;\n"
    "  if (x > 0) { out[6] = 1; by = 0; }\n"
    "  out[7] = x / by;\n"
    "  if (5 / 0) out[8] = 1; else out[8] = 1;\n"
    "  if (zero == 0) out[9] = 1;\n"
    "  out[10] = x / zero;\n"
    "  out[11] = 1;\n"
    "}\n"
    "kernel void shapes(global int *out, int width, uint height) {\n"
    "  int i = get_global_id(0);\n"
    "  out[i] = i / width + i % width; out[i + 64] = (uint)i / height + (uint)i % height;\n"
    "}\n";

enum { COUNT = 64 };

static cl_mem buffer(struct setting s, size_t bytes, const void *from) {
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, from ? CL_MEM_COPY_HOST_PTR : 0, bytes, (void *)from, &error);
  CHECK(error);
  return memory;
}

#define CASES(NAME, C, MIN, IS_SIGNED) \
  static void of_##NAME(struct setting s, cl_program program) { \
    static C a[COUNT], b[COUNT], out[6 * COUNT]; \
    for (int i = 0; i < COUNT; i++) { \
      a[i] = i % 5 == 0 ? (C)(MIN) : (C)(i * 37 - 100); \
      b[i] = i % 7 == 0 ? (C)0 : i % 3 == 0 ? (C)-1 : (C)(i % 11 - 5); \
    } \
    for (int which = 0; which < 3; which++) { \
      const char *names[] = {"lanes_" #NAME, "alone_" #NAME, "vectors_" #NAME}; \
      cl_int error, count = COUNT; \
      C by = 0; \
      memset(out, 0, sizeof out); \
      cl_kernel kernel = clCreateKernel(program, names[which], &error); \
      CHECK(error); \
      cl_mem from = buffer(s, sizeof a, a), under = buffer(s, sizeof b, b), to = buffer(s, sizeof out, out); \
      CHECK(clSetKernelArg(kernel, 0, sizeof from, &from)); \
      CHECK(clSetKernelArg(kernel, 1, sizeof under, &under)); \
      CHECK(clSetKernelArg(kernel, 2, sizeof to, &to)); \
      CHECK(clSetKernelArg(kernel, 3, which == 1 ? sizeof count : sizeof by, which == 1 ? (void *)&count : (void *)&by)); \
      size_t global = which == 1 ? 1 : which == 2 ? COUNT / 4 : COUNT; \
      CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL)); \
      CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL)); \
      for (int i = 0; i < COUNT; i++) { \
        int is_defined = b[i] != 0 && !(IS_SIGNED && a[i] == (C)(MIN) && b[i] == (C)-1); \
        C quotient = is_defined ? (C)(a[i] / b[i]) : (C)0, rest = is_defined ? (C)(a[i] % b[i]) : (C)0; \
        if (which == 2) { \
          int is_divided = !(i / 4 & 1); \
          EXPECT(!is_defined || !is_divided || out[i / 4 * 8 + i % 4] == quotient); \
          EXPECT(!is_defined || out[i / 4 * 8 + 4 + i % 4] == rest); \
          continue; \
        } \
        EXPECT(!is_defined || (out[6 * i] == quotient && out[6 * i + 1] == rest)); \
        EXPECT(out[6 * i + 2] == (b[i] == 0) && out[6 * i + 5] == 7); \
        EXPECT(which == 1 || !(i & 1) || !is_defined || out[6 * i + 3] == quotient); \
        EXPECT((i & 1) || (out[6 * i + 3] == 0 && out[6 * i + 4] == 0)); \
      } \
      CHECK(clReleaseMemObject(from)); \
      CHECK(clReleaseMemObject(under)); \
      CHECK(clReleaseMemObject(to)); \
      CHECK(clReleaseKernel(kernel)); \
    } \
  }

CASES(char, cl_char, CL_CHAR_MIN, 1)
CASES(uchar, cl_uchar, 0, 0)
CASES(short, cl_short, CL_SHRT_MIN, 1)
CASES(ushort, cl_ushort, 0, 0)
CASES(int, cl_int, CL_INT_MIN, 1)
CASES(uint, cl_uint, 0, 0)
CASES(long, cl_long, CL_LONG_MIN, 1)
CASES(ulong, cl_ulong, 0, 0)

static void constants(struct setting s, cl_program program) {
  cl_int error, out[128] = {0}, x = 9, zero = 0;
  cl_kernel kernel = clCreateKernel(program, "constants", &error);
  CHECK(error);
  cl_mem to = buffer(s, sizeof out, out);
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  CHECK(clSetKernelArg(kernel, 1, sizeof x, &x));
  CHECK(clSetKernelArg(kernel, 2, sizeof zero, &zero));
  CHECK(clEnqueueTask(s.queue, kernel, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  EXPECT(out[3] == 0 && out[6] == 1 && out[8] == 1 && out[9] == 1 && out[11] == 1);
  CHECK(clReleaseKernel(kernel));
  kernel = clCreateKernel(program, "shapes", &error);
  CHECK(error);
  for (int by = -1; by < 40; by += 8) {
    cl_uint height = by < 0 ? 0 : by;
    size_t global = 64;
    CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
    CHECK(clSetKernelArg(kernel, 1, sizeof by, &by));
    CHECK(clSetKernelArg(kernel, 2, sizeof height, &height));
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (int i = 0; i < 64; i++) {
      EXPECT(out[i] == i / by + i % by);
      EXPECT(height == 0 || out[i + 64] == (int)(i / height + i % height));
    }
  }
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
}

int main(void) {
  struct setting s = start(0);
  const char *options[] = {"", "-cl-opt-disable"};
  for (int i = 0; i < 2; i++) {
    cl_program program = build(s, source, options[i]);
    of_char(s, program);
    of_uchar(s, program);
    of_short(s, program);
    of_ushort(s, program);
    of_int(s, program);
    of_uint(s, program);
    of_long(s, program);
    of_ulong(s, program);
    constants(s, program);
    CHECK(clReleaseProgram(program));
  }
  end(s);
  return passed();
}
