// Atomics on halves, floats and doubles: capabilities, and each function in each address space from many work-items.
// Arguments: `float_atomics.cl`, and a module of it in SPIR-V.
#include "check.h"

// Numbers of the extension, which older headers lack.
enum {
  SINGLE_CAPABILITIES = 0x4231,
  DOUBLE_CAPABILITIES = 0x4232,
  HALF_CAPABILITIES = 0x4233,
  GLOBAL_ACCESSES = 1 << 0,
  GLOBAL_SUMS = 1 << 1,
  GLOBAL_EXTREMES = 1 << 2,
  LOCAL_ACCESSES = 1 << 16,
  LOCAL_SUMS = 1 << 17,
  LOCAL_EXTREMES = 1 << 18
};

static void capabilities(struct setting s) {
  cl_device_info names[] = {SINGLE_CAPABILITIES, DOUBLE_CAPABILITIES, HALF_CAPABILITIES};
  cl_bitfield all = GLOBAL_ACCESSES | GLOBAL_SUMS | GLOBAL_EXTREMES | LOCAL_ACCESSES | LOCAL_SUMS | LOCAL_EXTREMES;
  for (int i = 0; i < 3; i++) {
    cl_bitfield given;
    size_t size;
    CHECK(clGetDeviceInfo(s.device, names[i], sizeof given, &given, &size));
    EXPECT(size == sizeof given && given == all);
    CODE(clGetDeviceInfo(s.device, names[i], sizeof given - 1, &given, NULL), CL_INVALID_VALUE);
  }
}

// `items` work-items have added 0 and 1 alternately, three times each.
static void sums(const float *found, int items) {
  float expected[] = {items * 1.5f, items * -1.5f, -63, 63, 63, 63, 63};
  for (int i = 0; i < 7; i++) {
    if (found[i] != expected[i]) fprintf(stderr, "result %d is %g, not %g\n", i, found[i], expected[i]);
    EXPECT(found[i] == expected[i]);
  }
}

static cl_kernel kernel(cl_program program, const char *name, const char *type) {
  char full[64];
  cl_int error;
  snprintf(full, sizeof full, "%s_%s", name, type);
  cl_kernel made = clCreateKernel(program, full, &error);
  CHECK(error);
  return made;
}

static double number(const unsigned char *bytes, size_t size) {
  float single;
  double whole;
  unsigned short bits;
  if (size == 8) return memcpy(&whole, bytes, 8), whole;
  if (size == 4) return memcpy(&single, bytes, 4), single;
  memcpy(&bits, bytes, 2);
  // Halves here are whole numbers from 0 on.
  int exponent = bits >> 10, mantissa = bits & 1023;
  return exponent == 0 ? 0 : (mantissa + 1024) * (exponent >= 25 ? (double)(1 << (exponent - 25)) : 1.0 / (1 << (25 - exponent)));
}

static void widths(struct setting s, cl_program program, const char *type, size_t size) {
  enum { ITEMS = 256 };
  float found[8];
  unsigned char old[ITEMS * 8], seen[ITEMS] = {0};
  cl_int error;
  cl_mem at = clCreateBuffer(s.context, 0, 8 * size, NULL, &error), to = clCreateBuffer(s.context, 0, sizeof found, NULL, &error);
  cl_mem olds = clCreateBuffer(s.context, 0, ITEMS * size, NULL, &error);
  CHECK(error);
  cl_int zero = 0;
  CHECK(clEnqueueFillBuffer(s.queue, at, &zero, 2, 0, 8 * size, 0, NULL, NULL));
  size_t items = ITEMS, group = 64, one = 1;
  cl_kernel global = kernel(program, "in_global", type), read = kernel(program, "read", type);
  cl_kernel local = kernel(program, "in_local", type), generic = kernel(program, "in_generic", type);
  CHECK(clSetKernelArg(global, 0, sizeof at, &at));
  CHECK(clSetKernelArg(global, 1, sizeof to, &to));
  CHECK(clSetKernelArg(global, 2, sizeof olds, &olds));
  CHECK(clSetKernelArg(read, 0, sizeof at, &at));
  CHECK(clSetKernelArg(read, 1, sizeof to, &to));
  CHECK(clSetKernelArg(local, 0, sizeof to, &to));
  CHECK(clEnqueueNDRangeKernel(s.queue, global, 1, NULL, &items, &group, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(s.queue, read, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
  sums(found, ITEMS);
  EXPECT(found[7] == ITEMS);
  // Each work-item has seen another value.
  CHECK(clEnqueueReadBuffer(s.queue, olds, CL_TRUE, 0, ITEMS * size, old, 0, NULL, NULL));
  for (int i = 0; i < ITEMS; i++) {
    double value = number(old + i * size, size);
    EXPECT(value >= 0 && value < ITEMS && value == (int)value && !seen[(int)value]++);
  }
  CHECK(clEnqueueNDRangeKernel(s.queue, local, 1, NULL, &group, &group, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
  sums(found, 64);
  for (cl_int is_local = 0; is_local < 2; is_local++) {
    CHECK(clEnqueueFillBuffer(s.queue, at, &zero, 2, 0, 8 * size, 0, NULL, NULL));
    CHECK(clSetKernelArg(generic, 0, sizeof at, &at));
    CHECK(clSetKernelArg(generic, 1, sizeof to, &to));
    CHECK(clSetKernelArg(generic, 2, sizeof is_local, &is_local));
    CHECK(clEnqueueNDRangeKernel(s.queue, generic, 1, NULL, &group, &group, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    sums(found, 64);
  }
  cl_kernel kernels[] = {global, read, local, generic};
  for (int i = 0; i < 4; i++) CHECK(clReleaseKernel(kernels[i]));
  cl_mem buffers[] = {at, to, olds};
  for (int i = 0; i < 3; i++) CHECK(clReleaseMemObject(buffers[i]));
}

static size_t load(const char *path, char *text, size_t most) {
  FILE *file = fopen(path, "rb");
  EXPECT(file);
  size_t size = fread(text, 1, most, file);
  EXPECT(size > 100 && size < most);
  fclose(file);
  return size;
}

int main(int count, char **arguments) {
  setenv("HEDDLE_TRIALS", "off", 1);
  struct setting s = start(0);
  static char source[1 << 14], module[1 << 18];
  cl_int error;
  EXPECT(count == 3);
  load(arguments[1], source, sizeof source);
  size_t size = load(arguments[2], module, sizeof module);
  capabilities(s);
  cl_program programs[] = {build(s, source, "-cl-std=CL3.0"), clCreateProgramWithIL(s.context, module, size, &error)};
  CHECK(error);
  CHECK(clBuildProgram(programs[1], 1, &s.device, "", NULL, NULL));
  for (int i = 0; i < 2; i++) {
    widths(s, programs[i], "half", 2);
    widths(s, programs[i], "float", 4);
    widths(s, programs[i], "double", 8);
    CHECK(clReleaseProgram(programs[i]));
  }
  end(s);
  return passed();
}
