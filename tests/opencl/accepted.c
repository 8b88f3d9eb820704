// Programs that must build, and what of them works: each was refused as a whole once.
// covers: cl_khr_extended_async_copies
#include "check.h"
#include <math.h>

static cl_int out[64];

// Builds a program, runs its kernel `k` once in a group of so many items, and reads what it wrote.
static void launch(struct setting s, const char *source, const char *options, size_t items) {
  cl_int error;
  cl_program program = build(s, source, options);
  cl_kernel kernel = clCreateKernel(program, "k", &error);
  CHECK(error);
  memset(out, 0, sizeof out);
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof out, out, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(kernel));
  char log[4096];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  if (*log) fprintf(stderr, "the build log: %s\n", log);
  EXPECT(!*log);
  CHECK(clReleaseProgram(program));
}

// Vectors of truth values of every length, cast to integers of as many bits.
static void masks(struct setting s) {
#define ANY(n) \
  "  { int" #n " v = i, w = i & 1; out[8 * i] += any(v == w); out[8 * i + 1] += all(v == w); }\n" \
  "  { float" #n " f = i > 2 ? NAN : i; f.s0 = i > 3 ? NAN : 1; out[8 * i + 2] += any(isnan(f)); out[8 * i + 3] += all(isnan(f)); }\n"
  launch(s,
         "kernel void k(global int *out) { int i = get_global_id(0);\n" ANY(2) ANY(3) ANY(4) ANY(8) ANY(16)
         "  int2 v = (int2)(i, 1), w = (int2)(1, i); out[8 * i + 4] = any(v == w) + 2 * all(v == w);\n"
         "}\n",
         "", 6);
  for (int i = 0; i < 6; i++) {
    EXPECT(out[8 * i] == (i < 2 ? 5 : 0) && out[8 * i + 1] == (i < 2 ? 5 : 0));
    EXPECT(out[8 * i + 2] == (i > 2 ? 5 : 0) && out[8 * i + 3] == (i > 3 ? 5 : 0));
    EXPECT(out[8 * i + 4] == (i == 1 ? 3 : 0));
  }
}

static void sources(struct setting s) {
  launch(s, "\xef\xbb\xbfkernel void k(global int *out) { out[0] = 1; }\n", "", 1);
  EXPECT(out[0] == 1);
  launch(s,
         "const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
         "kernel void k(global int *out) { out[0] = 2; }\n", "", 1);
  EXPECT(out[0] == 2);
  // The extension is one of every version.
  const char *sub_groups =
      "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
      "#ifdef cl_khr_subgroups\n"
      "kernel void k(global int *out) { out[get_global_id(0)] = sub_group_reduce_add(1) == get_sub_group_size(); }\n"
      "#endif\n";
  const char *versions[] = {"", "-cl-std=CL1.1", "-cl-std=CL1.2", "-cl-std=CL2.0", "-cl-std=CL3.0"};
  for (int i = 0; i < 5; i++) {
    launch(s, sub_groups, versions[i], 5);
    EXPECT(out[0] == 1 && out[4] == 1 && out[5] == 0);
  }
}

static void spaces(struct setting s) {
  launch(s,
         "global int *first = 0;\n"
         "int * global second = 0;\n"
         "constant struct { int a; global int *p; } third = {5, 0};\n"
         "kernel void k(global int *out) {\n"
         "  out[0] = first == 0; out[1] = second == 0; out[2] = third.a + (third.p == 0);\n"
         "  second = out; *second += 2;\n"
         "  int x[4] = {1, 2, 3, 4};\n"
         "  local int l[2];\n"
         "  l[0] = 9;\n"
         "  int *p = &x[out[1]], *q = l, *r = &out[20];\n"
         "  private int *own = to_private(p);\n"
         "  local int *shared = to_local(q);\n"
         "  global int *everyone = to_global(r);\n"
         "  out[3] = *own; out[4] = *shared; *everyone = 6;\n"
         "  out[5] = to_private(q) == 0 && to_local(r) == 0 && to_global(p) == 0 && to_global(q) == 0;\n"
         "}\n", "-cl-std=CL3.0", 1);
  EXPECT(out[0] == 3 && out[1] == 1 && out[2] == 6 && out[3] == 2 && out[4] == 9 && out[5] == 1 && out[20] == 6);
  // The space depends on the work-item, and a function asks about its parameters.
  launch(s,
         "global int one = 1;\n"
         "bool is_right(int *a, float *b, int *c, ushort *d, long *e) {\n"
         "  if (to_global(a) == NULL) return false;\n"
         "  if (to_local(b) == NULL) return false;\n"
         "  if (to_global(c) == NULL) return false;\n"
         "  if (to_local(d) == NULL) return false;\n"
         "  if (to_private(e) == NULL) return false;\n"
         "  return *a == 1 && *b == 2 && *c == 1 && *d == 4 && *e == 5;\n"
         "}\n"
         "kernel void k(global int *out) {\n"
         "  int i = get_global_id(0);\n"
         "  local int two; local float b; local ushort d; long e = 5;\n"
         "  two = 2; b = 2; d = 4;\n"
         "  int own = 3, *p;\n"
         "  if (i % 3 == 0) p = &one; else if (i % 3 == 1) p = &two; else p = &own;\n"
         "  barrier(CLK_LOCAL_MEM_FENCE);\n"
         "  int *q = i < 5 ? &one : (int *)&two;\n"
         "  out[i] = (to_global(p) ? 1 : 0) + (to_local(p) ? 2 : 0) + (to_private(p) ? 4 : 0) + *p * 10;\n"
         "  out[i] += (to_global(q) ? *to_global(q) : 0) * 100 + (to_local(q) ? *to_local(q) : 0) * 1000;\n"
         "  if (i == 0) out[20] = is_right(&one, &b, &one, &d, &e);\n"
         "}\n", "-cl-std=CL3.0", 9);
  int of_spaces[] = {11, 22, 34};
  for (int i = 0; i < 9; i++) EXPECT(out[i] == of_spaces[i % 3] + (i < 5 ? 100 : 2000));
  EXPECT(out[20] == 1);
}

// Functions of sub-groups and of integers in versions of the language before 2.0.
static void extensions(struct setting s) {
  launch(s,
         "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n"
         "#pragma OPENCL EXTENSION cl_khr_extended_bit_ops : enable\n"
         "#if !cl_khr_subgroup_shuffle || !cl_khr_subgroup_shuffle_relative || !cl_khr_subgroup_ballot || \\\n"
         "    !cl_khr_subgroup_non_uniform_vote || !cl_khr_subgroup_extended_types || !cl_khr_subgroup_rotate || \\\n"
         "    !cl_khr_subgroup_non_uniform_arithmetic || !cl_khr_subgroup_clustered_reduce || !cl_khr_extended_bit_ops\n"
         "#error an extension is missing\n"
         "#endif\n"
         "kernel void k(global int *out) {\n"
         "  int i = get_global_id(0);\n"
         "  uint lane = get_sub_group_local_id();\n"
         "  int x = sub_group_shuffle(i, lane) == i && sub_group_shuffle_up(lane, 0u) == lane;\n"
         "  x += sub_group_ballot_bit_count(sub_group_ballot(1)) == get_sub_group_size();\n"
         "  x += sub_group_non_uniform_any(i + 1) != 0;\n"
         "  x += sub_group_broadcast((char)5, 0) == 5;\n"
         "  x += sub_group_rotate(7, 1) == 7;\n"
         "  x += sub_group_non_uniform_reduce_add(1) == get_sub_group_size();\n"
         "  x += sub_group_clustered_reduce_max(3, 1) == 3;\n"
         "  x += bit_reverse(1u) == 0x80000000u;\n"
         "  out[i] = x;\n"
         "}\n", "-cl-std=CL1.2", 16);
  for (int i = 0; i < 16; i++) EXPECT(out[i] == 8);
}

// Lines and planes between global and local memory: offsets and distances count elements.
static void block_copies(struct setting s) {
  launch(s,
         "kernel void k(global int *out) {\n"
         "  local int tile[32];\n"
         "  int i = get_local_id(0);\n"
         "  for (int j = i; j < 32; j += get_local_size(0)) { out[j] = j; tile[j] = -1; }\n"
         "  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
         "  event_t e = async_work_group_copy_2D2D(tile, 1, out, 2, sizeof(int), 3, 2, 8, 4, 0);\n"
         "  e = async_work_group_copy_3D3D(tile, 16, out, 1, sizeof(int), 1, 2, 2, 4, 12, 2, 4, e);\n"
         "  wait_group_events(1, &e);\n"
         "  e = async_work_group_copy_2D2D(out, 32, tile, 0, sizeof(int), 8, 2, 16, 8, 0);\n"
         "  e = async_work_group_copy_3D3D(out, 96, tile, 1, sizeof(short), 2, 1, 3, 2, 2, 2, 4, e);\n"
         "  wait_group_events(1, &e);\n"
         "}\n", "-cl-std=CL3.0", 5);
  int lines[] = {-1, 2, 3, 4, -1, 10, 11, 12, 1, -1, 5, -1, 13, -1, 17, -1};
  for (int i = 0; i < 16; i++) EXPECT(out[32 + i] == lines[i]);
  // Elements of two bytes, from the second one on: halves of neighbouring numbers.
  unsigned short halves[2];
  memcpy(halves, out + 48, sizeof halves);
  EXPECT(halves[0] == 0xffff && halves[1] == 2);
  memcpy(halves, out + 50, sizeof halves);
  EXPECT(halves[0] == 0 && halves[1] == 3);
}

// Kernels with pipes, and with queues of the device, are refused by name.
static void refused_features(struct setting s) {
  const char *source =
      "kernel void k(global int *a) { a[get_global_id(0)] = 1; }\n"
      "kernel void pipes(read_only pipe int p, global int *a) { int x; if (read_pipe(p, &x) == 0) a[0] = x; }\n"
      "kernel void enqueues(global int *a) {\n"
      "  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(4), ^{ a[get_global_id(0)] += 1; });\n"
      "}\n";
  const char *versions[] = {"-cl-std=CL2.0", "-cl-std=CL3.0"};
  for (int i = 0; i < 2; i++) {
    cl_int error;
    cl_program program = build(s, source, versions[i]);
    char log[4096], names[64];
    CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
    EXPECT(strstr(log, "the kernel `pipes` cannot be launched: @pipes: pipes and queues"));
    EXPECT(strstr(log, "the kernel `enqueues` cannot be launched: program.cl:4:"));
    EXPECT(strstr(log, "pipes and queues of the device are not supported"));
    CHECK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL));
    EXPECT(!strstr(names, "block"));
    clCreateKernel(program, "enqueues", &error);
    EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    CHECK(error);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
  }
  // The features are not claimed.
  launch(s,
         "#if defined __opencl_c_pipes || defined __opencl_c_device_enqueue\n#error pipe\n#endif\n"
         "kernel void k(global int *out) { out[0] = 1; }\n", "-cl-std=CL3.0", 1);
}

// A kernel that is refused does not affect the others.
static void refusals(struct setting s) {
  cl_int error;
  cl_program program = build(
      s,
      "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
      "int odd(int n);\n"
      "__attribute__((noinline)) int even(int n) { return n == 0 ? 1 : odd(n / 3 - 1) + odd(n - 7); }\n"
      "__attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : even(n / 5 - 1) * even(n - 1); }\n"
      "kernel void calls_itself(global int *out) { out[0] = fib(out[1]); }\n"
      "kernel void in_turns(global int *out) { out[0] = even(out[1]); }\n"
      "kernel void asks(global int *out, global ulong *which) {\n"
      "  int *p = (int *)which[0]; out[0] = to_global(p + which[1]) == 0;\n"
      "}\n"
      "kernel void k(global int *out) { out[0] = 1; }\n", "-cl-std=CL3.0");
  char log[4096];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  const char *expected[] = {"the kernel `calls_itself` cannot be launched: program.cl:1:", "@fib: recursion: the kernel calls itself",
                            "the kernel `in_turns` cannot be launched: program.cl:", "recursion: the kernel calls itself through @",
                            "the kernel `asks` cannot be launched: program.cl:8:"};
  for (int i = 0; i < 5; i++) {
    if (!strstr(log, expected[i])) {
      fprintf(stderr, "'%s' is not in:\n%s", expected[i], log);
      exit(1);
    }
  }
  const char *names[] = {"calls_itself", "in_turns", "asks"};
  for (int i = 0; i < 3; i++) {
    clCreateKernel(program, names[i], &error);
    EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
  }
  cl_kernel good = clCreateKernel(program, "k", &error);
  CHECK(error);
  CHECK(clReleaseKernel(good));
  CHECK(clReleaseProgram(program));
}

static cl_program compiled(struct setting s, const char *source) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(s.context, 1, &source, NULL, &error);
  CHECK(error);
  CHECK(clCompileProgram(program, 0, NULL, "", 0, NULL, NULL, NULL, NULL));
  return program;
}

// A kernel that calls a kernel of another module, both ways round and by a library.
static void linked(struct setting s) {
  cl_int error;
  cl_program callee = compiled(s, "kernel void adds(global int *out, int by) { out[get_global_id(0)] += by; }\n");
  cl_program caller = compiled(
      s, "kernel void adds(global int *out, int by);\n"
         "kernel void k(global int *out) { adds(out, 3); adds(out, 4); }\n");
  cl_program library = clLinkProgram(s.context, 0, NULL, "-create-library", 1, &callee, NULL, NULL, &error);
  CHECK(error);
  cl_program lists[][2] = {{callee, caller}, {caller, callee}, {caller, library}};
  for (int i = 0; i < 3; i++) {
    cl_program whole = clLinkProgram(s.context, 0, NULL, "", 2, lists[i], NULL, NULL, &error);
    CHECK(error);
    cl_kernel kernel = clCreateKernel(whole, "k", &error);
    CHECK(error);
    memset(out, 0, sizeof out);
    cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof out, out, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    size_t items = 20;
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    EXPECT(out[0] == 7 && out[19] == 7 && out[20] == 0);
    CHECK(clReleaseMemObject(memory));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(whole));
  }
  // One that is not linked is there, and says why.
  cl_program failed = clLinkProgram(s.context, 0, NULL, "", 1, &caller, NULL, NULL, &error);
  EXPECT(failed && error == CL_LINK_PROGRAM_FAILURE);
  char log[1024];
  cl_build_status status;
  CHECK(clGetProgramBuildInfo(failed, s.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(clGetProgramBuildInfo(failed, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  EXPECT(status == CL_BUILD_ERROR && strstr(log, "undefined function @") && strstr(log, "adds"));
  cl_program all[] = {callee, caller, library, failed};
  for (int i = 0; i < 4; i++) CHECK(clReleaseProgram(all[i]));
}

static void contexts(struct setting s) {
  cl_int error;
  cl_context_properties wrong[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)s.platform, CL_CONTEXT_INTEROP_USER_SYNC, 7, 0};
  clCreateContext(wrong, 1, &s.device, NULL, NULL, &error);
  EXPECT(error == CL_INVALID_PROPERTY);
  char text[64];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, sizeof text, text, NULL));
  int at[4], end = 0;
  EXPECT(sscanf(text, "v%4d-%2d-%2d-%2d%n", at, at + 1, at + 2, at + 3, &end) == 4 && end == 14 && !text[14]);
  EXPECT(at[1] >= 1 && at[1] <= 12 && at[2] >= 1 && at[2] <= 31);
}

// A helper takes a struct by value in a loop with a barrier: the copy is one object, not one of each iteration.
static void copies(struct setting s) {
  launch(s,
         "typedef struct { int values[20]; } large;\n"
         "__attribute__((noinline)) int sum(large x, int from, local int *other) {\n"
         "  int sum = other[from];\n"
         "  for (int i = from; i < 20; i++) sum += x.values[i];\n"
         "  return sum;\n"
         "}\n"
         "kernel void k(global int *out) {\n"
         "  local int other[8];\n"
         "  int i = get_global_id(0);\n"
         "  large x;\n"
         "  for (int j = 0; j < 20; j++) x.values[j] = i + j;\n"
         "  for (int round = 0; round < 3; round++) {\n"
         "    other[7 - i] = i + round;\n"
         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
         "    out[i] += sum(x, i, other);\n"
         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
         "    x.values[i + 1] += round;\n"
         "  }\n"
         "}\n",
         "", 8);
  for (int i = 0; i < 8; i++) {
    int expected = 0;
    for (int round = 0, added = 0; round < 3; added += round++) {
      expected += 7 - i + round + added;
      for (int j = i; j < 20; j++) expected += i + j;
    }
    EXPECT(out[i] == expected);
  }
}

int main(void) {
  struct setting s = start(0);
  copies(s);
  masks(s);
  sources(s);
  spaces(s);
  extensions(s);
  block_copies(s);
  refusals(s);
  refused_features(s);
  linked(s);
  contexts(s);
  end(s);
  return passed();
}
