// Kernels of tests/opencl/sycl.clcpp, in the SPIR-V module that the argument names, on shared memory; each against loops in C.
#include "check.h"
#include <CL/cl_ext.h>
#include <math.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef unsigned long ulong;

enum { GROUP = 64, COUNT = 1024, GROUPS = COUNT / GROUP };

static struct setting setting;
static cl_program program;
static clSetKernelArgMemPointerINTEL_fn set_pointer;
// Two inputs, the output, and what it has to be, of up to 16 bytes for each element.
static void *a, *b, *out, *expected;
static int kernels;

static cl_program program_in(const char *path) {
  static char module[1 << 21];
  FILE *file = fopen(path, "rb");
  EXPECT(file);
  cl_int error;
  cl_program made = clCreateProgramWithIL(setting.context, module, fread(module, 1, sizeof module, file), &error);
  CHECK(error);
  fclose(file);
  CHECK(clBuildProgram(made, 1, &setting.device, "", NULL, NULL));
  return made;
}

static void launch(const char *name, size_t items) {
  cl_int error;
  cl_ulong count = COUNT;
  size_t group = GROUP;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  if (error) fprintf(stderr, "%s: error %d\n", name, error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof count, &count));
  CHECK(set_pointer(kernel, 1, a));
  CHECK(set_pointer(kernel, 2, b));
  CHECK(set_pointer(kernel, 3, out));
  CHECK(clEnqueueNDRangeKernel(setting.queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
  CHECK(clFinish(setting.queue));
  CHECK(clReleaseKernel(kernel));
  kernels++;
}

// Numbers are small whole ones, so sums are exact in each type; no second input is zero.
#define FILL(T) \
  for (int i = 0; i < 2 * COUNT; i++) { \
    ((T *)a)[i] = (T)(i * 37 % 101); \
    ((T *)b)[i] = (T)(1 + i * 53 % 29); \
  } \
  memset(out, 0, 16 * COUNT); \
  memset(expected, 0, 16 * COUNT);

// A range that no multiple of the launch's size is: work-items loop.
enum { RANGE = 640 };

static void compare(const char *name, size_t bytes) {
  if (!memcmp(out, expected, bytes)) return;
  size_t at = 0;
  while (((char *)out)[at] == ((char *)expected)[at]) at++;
  fprintf(stderr, "%s: byte %zu differs\n", name, at);
  exit(1);
}

static void compare_float(const char *name, size_t elements) {
  for (size_t i = 0; i < elements; i++) {
    float found = ((float *)out)[i], wanted = ((float *)expected)[i];
    if (fabsf(found - wanted) <= 2e-6f * (fabsf(wanted) + 1)) continue;
    fprintf(stderr, "%s: element %zu is %a, not %a\n", name, i, found, wanted);
    exit(1);
  }
}

static void compare_double(const char *name, size_t elements) {
  for (size_t i = 0; i < elements; i++) {
    double found = ((double *)out)[i], wanted = ((double *)expected)[i];
    if (fabs(found - wanted) <= 1e-14 * (fabs(wanted) + 1)) continue;
    fprintf(stderr, "%s: element %zu is %a, not %a\n", name, i, found, wanted);
    exit(1);
  }
}

// A result R of x and y, the elements of both inputs, at i.
#define ELEMENTWISE(name, T, R, expression) \
  { \
    FILL(T) \
    const T *p = a, *q = b; \
    R *to = expected; \
    for (int i = 0; i < COUNT; i++) { \
      T x = p[i], y = q[i]; \
      (void)y; \
      to[i] = (R)(expression); \
    } \
    launch(#name "_" #T, RANGE); \
    COMPARE_##R(#name "_" #T, COUNT, R); \
  }
#define COMPARE_char(name, elements, R) compare(name, (elements) * sizeof(R))
#define COMPARE_uchar COMPARE_char
#define COMPARE_short COMPARE_char
#define COMPARE_ushort COMPARE_char
#define COMPARE_int COMPARE_char
#define COMPARE_uint COMPARE_char
#define COMPARE_long COMPARE_char
#define COMPARE_ulong COMPARE_char
#define COMPARE_float(name, elements, R) compare_float(name, elements)
#define COMPARE_double(name, elements, R) compare_double(name, elements)

// One result for each group of elements x.
#define GROUPWISE(name, T, R, first, step, result) \
  { \
    FILL(T) \
    const T *p = a; \
    R *to = expected; \
    for (int g = 0; g < GROUPS; g++) { \
      T so_far = first; \
      ulong place = g * GROUP; \
      for (int i = g * GROUP; i < (g + 1) * GROUP; i++) { \
        T x = p[i]; \
        step; \
      } \
      (void)place; \
      to[g] = (R)(result); \
    } \
    launch(#name "_" #T, COUNT); \
    COMPARE_##R(#name "_" #T, GROUPS, R); \
  }

// A sum for each element: of those of its group up to it, it included or not.
#define SCAN(name, T, is_inclusive) \
  { \
    FILL(T) \
    const T *p = a; \
    T *to = expected, sum = 0; \
    for (int i = 0; i < COUNT; i++) { \
      sum = i % GROUP ? sum : 0; \
      to[i] = (T)(is_inclusive ? sum + p[i] : sum); \
      sum = (T)(sum + p[i]); \
    } \
    launch(#name "_" #T, COUNT); \
    COMPARE_##T(#name "_" #T, COUNT, T); \
  }

#define SORT(T) \
  { \
    FILL(T) \
    T *to = expected; \
    memcpy(to, a, COUNT * sizeof(T)); \
    for (int g = 0; g < COUNT; g += GROUP) \
      for (int i = g; i < g + GROUP; i++) \
        for (int k = i; k > g && to[k] < to[k - 1]; k--) { \
          T moved = to[k]; \
          to[k] = to[k - 1]; \
          to[k - 1] = moved; \
        } \
    launch("sort_" #T, COUNT); \
    COMPARE_##T("sort_" #T, COUNT, T); \
  }

#define PRODUCT(T) \
  { \
    FILL(T) \
    const T *p = a, *q = b; \
    T *to = expected; \
    for (int row = 0; row < 32; row++) \
      for (int column = 0; column < 32; column++) \
        for (int k = 0; k < 32; k++) to[row * 32 + column] += p[row * 32 + k] * q[k * 32 + column]; \
    launch("product_" #T, COUNT); \
    COMPARE_##T("product_" #T, COUNT, T); \
  }

#define COUNTS(T) \
  { \
    FILL(T) \
    for (int i = 0; i < COUNT; i++) ((T *)expected)[((T *)a)[i] & 15]++; \
    launch("counts_" #T, RANGE); \
    COMPARE_##T("counts_" #T, 16, T); \
  }

// The sum of its definition, in double precision; inputs up to 1 keep errors of floats small.
#define FOURIER(name, T, sign) \
  { \
    FILL(T) \
    T *p = a, *to = expected; \
    for (int i = 0; i < 2 * COUNT; i++) p[i] /= 128; \
    for (int at = 0; at < COUNT; at++) { \
      double re = 0, im = 0; \
      for (int k = 0; k < GROUP; k++) { \
        double angle = sign * 2 * M_PI * (at % GROUP * k % GROUP) / GROUP; \
        const T *x = p + 2 * (at / GROUP * GROUP + k); \
        re += x[0] * cos(angle) - x[1] * sin(angle); \
        im += x[0] * sin(angle) + x[1] * cos(angle); \
      } \
      to[2 * at] = re, to[2 * at + 1] = im; \
    } \
    launch(#name "_" #T, COUNT); \
    FOURIER_##T(#name "_" #T); \
  }
#define FOURIER_float(name) \
  for (int i = 0; i < 2 * COUNT; i++) EXPECT(fabsf(((float *)out)[i] - ((float *)expected)[i]) < 1e-4f);
#define FOURIER_double(name) \
  for (int i = 0; i < 2 * COUNT; i++) EXPECT(fabs(((double *)out)[i] - ((double *)expected)[i]) < 1e-12);

#define EACH(T) \
  ELEMENTWISE(add, T, T, x + y) \
  ELEMENTWISE(sub, T, T, x - y) \
  ELEMENTWISE(mul, T, T, x * y) \
  ELEMENTWISE(larger, T, T, x > y ? x : y) \
  ELEMENTWISE(less, T, uchar, x < y) \
  ELEMENTWISE(real, T, double, x) \
  ELEMENTWISE(byte, T, uchar, x) \
  ELEMENTWISE(strided, T, T, x + q[i % 8 * (COUNT / 8) + i / 8]) \
  ELEMENTWISE(masked, T, T, x > y ? x : q[COUNT - 1 - i]) \
  GROUPWISE(sum, T, T, 0, so_far = (T)(so_far + x), so_far) \
  GROUPWISE(most, T, T, p[g * GROUP], so_far = x > so_far ? x : so_far, so_far) \
  GROUPWISE(argmax, T, ulong, p[g * GROUP], if (x > so_far) (so_far = x, place = i), place) \
  SCAN(scan, T, 0) \
  SORT(T)
#define WHOLE(T) \
  ELEMENTWISE(both, T, T, x & y) \
  ELEMENTWISE(differing, T, T, x ^ y) \
  ELEMENTWISE(right, T, T, x >> (y & 7))
#define WIDE(T) \
  GROUPWISE(group_sum, T, T, 0, so_far = (T)(so_far + x), so_far) \
  GROUPWISE(sub_group_sum, T, T, 0, so_far = (T)(so_far + x), so_far) \
  SCAN(group_scan, T, 1) \
  PRODUCT(T)
#define FLOATS(T) \
  ELEMENTWISE(quotient, T, T, x / y) \
  ELEMENTWISE(root, T, T, sqrt((double)x + y)) \
  ELEMENTWISE(whole, T, T, floor((double)x / y)) \
  FOURIER(forward, T, -1) \
  FOURIER(backward, T, 1)

int main(int argument_count, char **arguments) {
  EXPECT(argument_count == 2);
  setting = start(0);
  cl_int error;
  program = program_in(arguments[1]);
  set_pointer = (clSetKernelArgMemPointerINTEL_fn)clGetExtensionFunctionAddressForPlatform(setting.platform, "clSetKernelArgMemPointerINTEL");
  clSharedMemAllocINTEL_fn allocate =
      (clSharedMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(setting.platform, "clSharedMemAllocINTEL");
  clMemFreeINTEL_fn release = (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(setting.platform, "clMemFreeINTEL");
  void **memory[] = {&a, &b, &out, &expected};
  for (int i = 0; i < 4; i++) {
    *memory[i] = allocate(setting.context, setting.device, NULL, 16 * COUNT, 0, &error);
    CHECK(error);
  }
  EACH(char) EACH(uchar) EACH(short) EACH(ushort) EACH(int) EACH(uint) EACH(long) EACH(ulong) EACH(float) EACH(double)
  WHOLE(char) WHOLE(uchar) WHOLE(short) WHOLE(ushort) WHOLE(int) WHOLE(uint) WHOLE(long) WHOLE(ulong)
  WIDE(int) WIDE(uint) WIDE(long) WIDE(ulong) WIDE(float) WIDE(double)
  COUNTS(int) COUNTS(uint)
  FLOATS(float) FLOATS(double)
  cl_uint of_module;
  CHECK(clCreateKernelsInProgram(program, 0, NULL, &of_module));
  EXPECT(kernels == 200 && of_module == 200);
  for (int i = 0; i < 4; i++) CHECK(release(setting.context, *memory[i]));
  CHECK(clReleaseProgram(program));
  end(setting);
  return passed();
}
