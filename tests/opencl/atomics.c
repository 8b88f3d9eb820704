// Atomics of OpenCL C 1.2 on integers of 32 and 64 bits in global and local memory; stores of single bytes.
// covers: cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics
// covers: cl_khr_local_int32_extended_atomics cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_byte_addressable_store
#include "check.h"

// Each function by all work-items of a group, in memory that begins with a row of twelve numbers.
static const char *source =
    "#if !defined cl_khr_global_int32_base_atomics || !defined cl_khr_global_int32_extended_atomics || \\\n"
    "    !defined cl_khr_local_int32_base_atomics || !defined cl_khr_local_int32_extended_atomics || \\\n"
    "    !defined cl_khr_int64_base_atomics || !defined cl_khr_int64_extended_atomics || !defined cl_khr_byte_addressable_store\n"
    "#error an extension is missing\n"
    "#endif\n"
    "#define EACH(P, space, T) \\\n"
    "  void P##_##space##_##T(volatile space T *at, T i) { \\\n"
    "    P##_add(at, i); \\\n"
    "    P##_sub(at + 1, i); \\\n"
    "    P##_inc(at + 2); \\\n"
    "    P##_dec(at + 3); \\\n"
    "    P##_min(at + 4, i + 3); \\\n"
    "    P##_max(at + 5, i); \\\n"
    "    P##_and(at + 6, ~((T)1 << (sizeof(T) * 8 - 1 - (int)i % 8))); \\\n"
    "    P##_or(at + 7, (T)1 << (int)i % 8); \\\n"
    "    P##_xor(at + 8, i); \\\n"
    // Exchanged numbers move on: the sum of all that come out and of the last one is that of all that went in.
    "    P##_add(at + 9, P##_xchg(at + 10, i + 1)); \\\n"
    // Only one work-item finds what it expects, each time.
    "    if (P##_cmpxchg(at + 11, i, i + 1) == i) P##_inc(at + 12); \\\n"
    "  }\n"
    "#define KERNEL(P, T) \\\n"
    "  EACH(P, global, T) EACH(P, local, T) \\\n"
    "  kernel void P##_##T(global T *in_global, global T *from_local) { \\\n"
    "    local T at[13]; \\\n"
    "    int l = get_local_id(0); \\\n"
    "    if (l < 13) at[l] = in_global[l]; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \\\n"
    "    P##_global_##T(in_global, l); \\\n"
    "    P##_local_##T(at, l); \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    if (l < 13) from_local[l] = at[l]; \\\n"
    "  }\n"
    "KERNEL(atomic, int) KERNEL(atomic, uint) KERNEL(atom, int) KERNEL(atom, uint) KERNEL(atom, long) KERNEL(atom, ulong)\n"
    "kernel void floats(global float *at) { atomic_xchg(at, (float)get_global_id(0)); }\n"
    "kernel void bytes(global char *to, global short *two) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i % 3) to[i] = i;\n"
    "  if (i % 2) two[i] = -i;\n"
    "}\n";

enum { ITEMS = 64 };

static long long number(const void *at, size_t size, int i) {
  return size == 8 ? ((const long long *)at)[i] : ((const int *)at)[i];
}

static void check(const void *at, size_t size, int is_unsigned) {
  long long sum = ITEMS * (ITEMS - 1) / 2, all = ~0ULL, cleared = size == 8 ? (long long)(all & ~(0xffULL << 56)) : 0x00ffffff;
  long long expected[] = {sum, -sum, ITEMS, -ITEMS, 3, ITEMS - 1, cleared, 0xff, 0};
  for (int i = 0; i < 9; i++) {
    long long found = number(at, size, i);
    if (found != expected[i]) fprintf(stderr, "%zu bytes%s, operation %d: %lld\n", size, is_unsigned ? " without sign" : "", i, found);
    EXPECT(found == expected[i]);
  }
  EXPECT(number(at, size, 9) + number(at, size, 10) == sum + ITEMS);
  long long steps = number(at, size, 11);
  EXPECT(steps >= 1 && steps <= ITEMS && number(at, size, 12) == steps);
}

static void integers(struct setting s, cl_program program, const char *name, size_t size, int is_unsigned) {
  long long start[13] = {0, 0, 0, 0, 1000, 0, -1}, found[13];
  int narrow[13];
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  for (int i = 0; i < 13; i++) narrow[i] = (int)start[i];
  cl_mem at = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, 13 * size, size == 8 ? (void *)start : (void *)narrow, &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, 13 * size, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof at, &at));
  CHECK(clSetKernelArg(kernel, 1, sizeof to, &to));
  size_t items = ITEMS;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL));
  cl_mem both[] = {at, to};
  for (int i = 0; i < 2; i++) {
    CHECK(clEnqueueReadBuffer(s.queue, both[i], CL_TRUE, 0, 13 * size, found, 0, NULL, NULL));
    check(found, size, is_unsigned);
    CHECK(clReleaseMemObject(both[i]));
  }
  CHECK(clReleaseKernel(kernel));
}

static void others(struct setting s, cl_program program) {
  cl_int error;
  cl_kernel floats = clCreateKernel(program, "floats", &error), bytes = clCreateKernel(program, "bytes", &error);
  CHECK(error);
  float one = -1;
  cl_mem at = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, 4, &one, &error);
  CHECK(error);
  size_t items = ITEMS;
  CHECK(clSetKernelArg(floats, 0, sizeof at, &at));
  CHECK(clEnqueueNDRangeKernel(s.queue, floats, 1, NULL, &items, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, at, CL_TRUE, 0, 4, &one, 0, NULL, NULL));
  EXPECT(one >= 0 && one < ITEMS && one == (int)one);
  // Neighbours of written bytes keep what they have.
  signed char narrow[ITEMS];
  short two[ITEMS];
  memset(narrow, 77, sizeof narrow), memset(two, 77, sizeof two);
  cl_mem to = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof narrow, narrow, &error);
  cl_mem to_two = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof two, two, &error);
  CHECK(error);
  CHECK(clSetKernelArg(bytes, 0, sizeof to, &to));
  CHECK(clSetKernelArg(bytes, 1, sizeof to_two, &to_two));
  CHECK(clEnqueueNDRangeKernel(s.queue, bytes, 1, NULL, &items, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof narrow, narrow, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to_two, CL_TRUE, 0, sizeof two, two, 0, NULL, NULL));
  for (int i = 0; i < ITEMS; i++) EXPECT(narrow[i] == (i % 3 ? i : 77) && two[i] == (i % 2 ? -i : 77 * 257));
  cl_mem all[] = {at, to, to_two};
  for (int i = 0; i < 3; i++) CHECK(clReleaseMemObject(all[i]));
  CHECK(clReleaseKernel(floats));
  CHECK(clReleaseKernel(bytes));
}

int main(void) {
  setenv("HEDDLE_TRIALS", "off", 1);
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL1.2");
  integers(s, program, "atomic_int", 4, 0);
  integers(s, program, "atomic_uint", 4, 1);
  integers(s, program, "atom_int", 4, 0);
  integers(s, program, "atom_uint", 4, 1);
  integers(s, program, "atom_long", 8, 0);
  integers(s, program, "atom_ulong", 8, 1);
  others(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
