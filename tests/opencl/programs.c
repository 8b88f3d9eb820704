// Programs: options, logs, compiling and linking, binaries; kernels: arguments and what is known of them.
#include "check.h"

static const char *source =
    "#ifndef FACTOR\n"
    "#error FACTOR is missing\n"
    "#endif\n"
    "typedef struct { char tag; double weight; int3 at; } item;\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
    "void many(global const float *restrict in, global float *out, constant int *table, local float *scratch,\n"
    "          item thing, float3 three, uchar small, ulong big) {\n"
    "  size_t i = get_global_id(0);\n"
    "  out[i] = FACTOR * in[i] + table[1] + thing.tag + thing.weight + thing.at.z + three.y + small + big;\n"
    "}\n"
    "typedef struct { char tag; float8 wide; double16 wider; } large;\n"
    "kernel void sum_up(global double *out, large thing) {\n"
    "  large copy = thing;\n"
    "  out[get_global_id(0)] = copy.tag + copy.wide.s7 + dot(copy.wider.lo.lo, copy.wider.hi.hi);\n"
    "}\n"
    "kernel void none(void) {}\n";

typedef struct {
  cl_char tag;
  cl_double weight;
  cl_int3 at;
} item;

static void text_is(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, const char *expected) {
  char text[64];
  CHECK(clGetKernelArgInfo(kernel, index, what, sizeof text, text, NULL));
  if (strcmp(text, expected)) {
    fprintf(stderr, "argument %u: '%s', not '%s'\n", index, text, expected);
    exit(1);
  }
}

static void attributes(struct setting s) {
  const char *text =
      "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void sized(global int *a) {}\n"
      "kernel __attribute__((work_group_size_hint(8,1,1))) __attribute__((vec_type_hint(uint4))) void hinted(global int *a) {}\n"
      "kernel __attribute__((vec_type_hint(double))) void wide(global int *a) {}\n"
      "kernel void plain(global int *a) {\n"
      "#if __OPENCL_VERSION__ < 300 || __OPENCL_C_VERSION__ != 120\n"
      "#error the versions are wrong\n"
      "#endif\n"
      "}\n";
  const char *expected[][2] = {{"sized", "reqd_work_group_size(4,2,1)"},
                               {"hinted", "work_group_size_hint(8,1,1) vec_type_hint(uint4)"},
                               {"wide", "vec_type_hint(double)"},
                               {"plain", ""}};
  cl_program program = build(s, text, "");
  for (int i = 0; i < 4; i++) {
    cl_int error;
    char found[128];
    cl_kernel kernel = clCreateKernel(program, expected[i][0], &error);
    CHECK(error);
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof found, found, NULL));
    if (strcmp(found, expected[i][1])) {
      fprintf(stderr, "%s: '%s', not '%s'\n", expected[i][0], found, expected[i][1]);
      exit(1);
    }
    // Arguments are described with -cl-kernel-arg-info.
    cl_kernel_arg_address_qualifier space;
    CODE(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL),
         CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    CHECK(clReleaseKernel(kernel));
  }
  CHECK(clReleaseProgram(program));
}

static void kernels(struct setting s) {
  cl_int error;
  cl_program program = build(s, source, "-D FACTOR=2 -cl-kernel-arg-info -Werror");
  size_t size, count;
  char names[64];
  CHECK(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL));
  EXPECT(count == 3);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, &size));
  EXPECT(!strcmp(names, "many;sum_up;none") && size == 17);
  clCreateKernel(program, "many more", &error);
  EXPECT(error == CL_INVALID_KERNEL_NAME);
  cl_kernel kernel = clCreateKernel(program, "many", &error);
  CHECK(error);
  // A program with kernels is not built anew.
  CODE(clBuildProgram(program, 0, NULL, "", NULL, NULL), CL_INVALID_OPERATION);
  text_is(kernel, 0, CL_KERNEL_ARG_NAME, "in");
  text_is(kernel, 0, CL_KERNEL_ARG_TYPE_NAME, "float*");
  text_is(kernel, 5, CL_KERNEL_ARG_TYPE_NAME, "float3");
  cl_kernel_arg_type_qualifier qualifiers;
  cl_kernel_arg_address_qualifier space;
  CHECK(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, NULL));
  EXPECT(qualifiers == (CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT));
  const cl_kernel_arg_address_qualifier spaces[] = {
      CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_GLOBAL,  CL_KERNEL_ARG_ADDRESS_CONSTANT,
      CL_KERNEL_ARG_ADDRESS_LOCAL,  CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ADDRESS_PRIVATE};
  for (cl_uint i = 0; i < 6; i++) {
    CHECK(clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL));
    EXPECT(space == spaces[i]);
  }
  CODE(clGetKernelArgInfo(kernel, 8, CL_KERNEL_ARG_NAME, 0, NULL, NULL), CL_INVALID_ARG_INDEX);
  size_t required[3];
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL));
  EXPECT(required[0] == 4 && required[1] == 1 && required[2] == 1);

  float in[8], out[8];
  for (int i = 0; i < 8; i++) in[i] = (float)i;
  cl_int table[] = {5, 10};
  item thing = {1, 0.5, {{0, 0, 3, 0}}};
  cl_float3 three = {{0, 4, 0, 0}};
  cl_uchar small = 20;
  cl_ulong big = 1000;
  cl_mem memory_in = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof in, in, &error);
  CHECK(error);
  cl_mem memory_out = clCreateBuffer(s.context, 0, sizeof out, NULL, &error);
  CHECK(error);
  cl_mem memory_table = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof table, table, &error);
  CHECK(error);
  size_t global = 8, wrong = 8, right = 4;
  CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &memory_in));
  CODE(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CODE(clSetKernelArg(kernel, 1, sizeof(cl_mem) - 1, &memory_out), CL_INVALID_ARG_SIZE);
  CODE(clSetKernelArg(kernel, 1, sizeof(cl_mem), &s.queue), CL_INVALID_MEM_OBJECT);
  CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &memory_out));
  CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &memory_table));
  CODE(clSetKernelArg(kernel, 3, 16, &table), CL_INVALID_ARG_VALUE);
  CHECK(clSetKernelArg(kernel, 3, 0, NULL));
  CHECK(clSetKernelArg(kernel, 3, 16, NULL));
  CODE(clSetKernelArg(kernel, 4, sizeof thing - 1, &thing), CL_INVALID_ARG_SIZE);
  CODE(clSetKernelArg(kernel, 4, sizeof thing, NULL), CL_INVALID_ARG_VALUE);
  CHECK(clSetKernelArg(kernel, 4, sizeof thing, &thing));
  CHECK(clSetKernelArg(kernel, 5, sizeof three, &three));
  CHECK(clSetKernelArg(kernel, 6, sizeof small, &small));
  CHECK(clSetKernelArg(kernel, 7, sizeof big, &big));
  CODE(clSetKernelArg(kernel, 8, sizeof big, &big), CL_INVALID_ARG_INDEX);
  CODE(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &wrong, 0, NULL, NULL), CL_INVALID_WORK_GROUP_SIZE);
  CODE(clEnqueueNDRangeKernel(s.queue, kernel, 0, NULL, &global, &right, 0, NULL, NULL), CL_INVALID_WORK_DIMENSION);
  CODE(clEnqueueNDRangeKernel(s.queue, kernel, 4, NULL, &global, &right, 0, NULL, NULL), CL_INVALID_WORK_DIMENSION);
  cl_kernel clone = clCloneKernel(kernel, &error);
  CHECK(error);
  // What is set in one is not set in the other.
  cl_uchar other = 21;
  CHECK(clSetKernelArg(clone, 6, sizeof other, &other));
  cl_kernel both[] = {kernel, clone};
  for (int which = 0; which < 2; which++) {
    CHECK(clEnqueueNDRangeKernel(s.queue, both[which], 1, NULL, &global, &right, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, memory_out, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (int i = 0; i < 8; i++) EXPECT(out[i] == 2 * i + 10 + 1 + 0.5 + 3 + 4 + 20 + which + 1000);
  }
  // A kernel does not keep its memory.
  CHECK(clReleaseMemObject(memory_table));
  CODE(clEnqueueNDRangeKernel(s.queue, clone, 1, NULL, &global, &right, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CHECK(clReleaseMemObject(memory_in));
  CHECK(clReleaseMemObject(memory_out));
  CHECK(clReleaseKernel(clone));
  CODE(clRetainKernel(clone), CL_INVALID_KERNEL);
  // A kernel keeps its program.
  CHECK(clReleaseProgram(program));
  cl_program of;
  CHECK(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof of, &of, NULL));
  EXPECT(of == program);
  CHECK(clReleaseKernel(kernel));
  CODE(clRetainProgram(program), CL_INVALID_PROGRAM);
}

typedef struct {
  cl_char tag;
  cl_float8 wide;
  cl_double16 wider;
} large;

// Structs that want to be aligned like vectors.
static void large_arguments(struct setting s) {
  cl_int error;
  cl_program program = build(s, source, "-D FACTOR=1");
  cl_kernel kernel = clCreateKernel(program, "sum_up", &error);
  CHECK(error);
  static large thing;
  double out[5];
  thing.tag = 3;
  thing.wide.s[7] = 0.5f;
  for (int i = 0; i < 16; i++) thing.wider.s[i] = i;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof out, out, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(kernel, 1, sizeof thing, &thing));
  size_t global = 5;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 5; i++) EXPECT(out[i] == 3.5 + 13 + 28 + 45);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
}

static int called;
static void CL_CALLBACK notified(cl_program program, void *data) { called = program == *(cl_program *)data; }

static void builds(struct setting s) {
  cl_int error, status;
  char log[4096];
  cl_program program = clCreateProgramWithSource(s.context, 1, &source, NULL, &error);
  CHECK(error);
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  EXPECT(status == CL_BUILD_NONE);
  clCreateKernel(program, "many", &error);
  EXPECT(error == CL_INVALID_PROGRAM_EXECUTABLE);
  CODE(clBuildProgram(program, 0, NULL, "-no-such-option", NULL, NULL), CL_INVALID_BUILD_OPTIONS);
  CODE(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  EXPECT(strstr(log, "FACTOR is missing"));
  CHECK(clBuildProgram(program, 0, NULL, "-DFACTOR=1", notified, &program));
  EXPECT(called);
  cl_program_binary_type type;
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL));
  EXPECT(type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_OPTIONS, sizeof log, log, NULL));
  EXPECT(!strcmp(log, "-DFACTOR=1"));

  // Its binary is a program again.
  size_t length;
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, NULL));
  unsigned char *bytes = malloc(length);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
  const unsigned char *given = bytes;
  cl_program again = clCreateProgramWithBinary(s.context, 1, &s.device, &length, &given, &status, &error);
  CHECK(error);
  CHECK(status);
  CHECK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
  cl_kernel none = clCreateKernel(again, "none", &error);
  CHECK(error);
  CHECK(clEnqueueTask(s.queue, none, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  bytes[length / 2] ^= 1;
  clCreateProgramWithBinary(s.context, 1, &s.device, &length, &given, &status, &error);
  EXPECT(error == CL_INVALID_BINARY && status == CL_INVALID_BINARY);
  free(bytes);
  CHECK(clReleaseKernel(none));
  CHECK(clReleaseProgram(again));
  CHECK(clReleaseProgram(program));
}

static char log_of_last[4096];
static void CL_CALLBACK keep_log(cl_program program, void *device) {
  CHECK(clGetProgramBuildInfo(program, *(cl_device_id *)device, CL_PROGRAM_BUILD_LOG, sizeof log_of_last, log_of_last, NULL));
}

static void log_has(const char *text) {
  if (!strstr(log_of_last, text)) {
    fprintf(stderr, "'%s' is not in:\n%s", text, log_of_last);
    exit(1);
  }
}

static void links(struct setting s) {
  cl_int error;
  // The body of an inline function is in both programs.
  const char *header =
      "int half_of(int x);\n"
      "inline int rest_of(int x) { return x % 2; }\n";
  const char *library = "#include \"parts/half.h\"\nint half_of(int x) { return (x - rest_of(x)) / 2; }\n";
  const char *user =
      "#include \"parts/half.h\"\n"
      "kernel void halve(global int *a) { size_t i = get_global_id(0); a[i] = half_of(a[i] - rest_of(a[i])); }\n";
  cl_program included = clCreateProgramWithSource(s.context, 1, &header, NULL, &error);
  cl_program first = clCreateProgramWithSource(s.context, 1, &library, NULL, &error);
  cl_program second = clCreateProgramWithSource(s.context, 1, &user, NULL, &error);
  CHECK(error);
  const char *name = "parts/half.h";
  CHECK(clCompileProgram(first, 1, &s.device, NULL, 1, &included, &name, NULL, NULL));
  CHECK(clCompileProgram(second, 0, NULL, "-w", 1, &included, &name, NULL, NULL));
  CODE(clCompileProgram(second, 0, NULL, "-nonsense", 0, NULL, NULL, NULL, NULL), CL_INVALID_COMPILER_OPTIONS);
  CHECK(clCompileProgram(second, 0, NULL, "-w", 1, &included, &name, NULL, NULL));
  cl_program made = clLinkProgram(s.context, 0, NULL, "-create-library", 1, &first, NULL, NULL, &error);
  CHECK(error);
  cl_program parts[] = {second, made};
  cl_program linked = clLinkProgram(s.context, 1, &s.device, "-cl-no-signed-zeroes", 2, parts, NULL, NULL, &error);
  CHECK(error);
  // It has no source and is no binary.
  CODE(clBuildProgram(linked, 0, NULL, NULL, NULL, NULL), CL_INVALID_OPERATION);
  clLinkProgram(s.context, 1, &s.device, "-what", 2, parts, NULL, NULL, &error);
  EXPECT(error == CL_INVALID_LINKER_OPTIONS);
  cl_program twice[] = {first, first};
  cl_program failed = clLinkProgram(s.context, 1, &s.device, NULL, 2, twice, NULL, NULL, &error);
  EXPECT(failed && error == CL_LINK_PROGRAM_FAILURE);
  CHECK(clReleaseProgram(failed));
  failed = clLinkProgram(s.context, 1, &s.device, NULL, 2, twice, keep_log, &s.device, &error);
  CHECK(error);
  CHECK(clReleaseProgram(failed));
  log_has("error: several programs define @half_of; link one that does\n");
  failed = clLinkProgram(s.context, 1, &s.device, NULL, 1, &second, NULL, NULL, &error);
  EXPECT(failed && error == CL_LINK_PROGRAM_FAILURE);
  CHECK(clReleaseProgram(failed));
  failed = clLinkProgram(s.context, 1, &s.device, NULL, 1, &second, keep_log, &s.device, &error);
  CHECK(error);
  CHECK(clReleaseProgram(failed));
  log_has("error: program.cl:2:72: @halve: undefined function @half_of");
  // A kernel that reaches an undefined function is refused, and no other.
  const char *parts_of_one =
      "kernel void good(global int *a) { a[0] = 1; }\n"
      "long elsewhere(long x);\n"
      "long between(long x) { return elsewhere(x) + 1; }\n"
      "kernel void bad(global long *a) {\n"
      "  a[0] = between(a[0]);\n"
      "}\n";
  failed = clCreateProgramWithSource(s.context, 1, &parts_of_one, NULL, &error);
  CHECK(error);
  CHECK(clBuildProgram(failed, 0, NULL, NULL, NULL, NULL));
  keep_log(failed, &s.device);
  log_has("warning: the kernel `bad` cannot be launched: program.cl:3:31: @bad: undefined function @elsewhere");
  clCreateKernel(failed, "bad", &error);
  EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
  cl_kernel good = clCreateKernel(failed, "good", &error);
  CHECK(error);
  CHECK(clReleaseKernel(good));
  CHECK(clReleaseProgram(failed));
  cl_kernel halve = clCreateKernel(linked, "halve", &error);
  CHECK(error);
  int data[] = {2, 4, 7, 9};
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  CHECK(clSetKernelArg(halve, 0, sizeof memory, &memory));
  size_t global = 4;
  CHECK(clEnqueueNDRangeKernel(s.queue, halve, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  EXPECT(data[0] == 1 && data[1] == 2 && data[2] == 3 && data[3] == 4);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(halve));
  cl_program all[] = {included, first, second, made, linked};
  for (int i = 0; i < 5; i++) CHECK(clReleaseProgram(all[i]));
}

// Variables of the program, which keep their values from launch to launch, and have a size.
static void variables(struct setting s) {
  cl_int error, value = 0;
  cl_program program = build(
      s, "global int counts[3] = {1, 2, 3};\nglobal long by = 5;\nconstant int table[8] = {7};\n"
         "kernel void add(global int *out, int i) { counts[i] += by + table[0]; out[0] = counts[i]; }\n", "-cl-std=CL3.0");
  size_t bytes;
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof bytes, &bytes, NULL));
  EXPECT(bytes == 3 * sizeof(cl_int) + sizeof(cl_long));
  cl_kernel add = clCreateKernel(program, "add", &error);
  CHECK(error);
  cl_mem out = clCreateBuffer(s.context, 0, sizeof value, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(add, 0, sizeof out, &out));
  size_t global = 1;
  for (int launch = 1; launch <= 3; launch++) {
    cl_int at = 2;
    CHECK(clSetKernelArg(add, 1, sizeof at, &at));
    CHECK(clEnqueueNDRangeKernel(s.queue, add, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, out, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL));
    EXPECT(value == 3 + 12 * launch);
  }
  CHECK(clReleaseMemObject(out));
  CHECK(clReleaseKernel(add));
  CHECK(clReleaseProgram(program));
}

// Kernels without code, next to one that has some.
static void refuses(struct setting s) {
  cl_int error;
  const char *mixed =
      "int machine(int x) { int y; __asm__ volatile(\"\" : \"=r\"(y) : \"0\"(x)); return y; }\n"
      "kernel void inlined(global int *a) { a[get_global_id(0)] = machine(3); }\n"
      "kernel void good(global int *a) { a[get_global_id(0)] += 1; }\n"
      "void wait(int n) { barrier(CLK_LOCAL_MEM_FENCE); if (n > 0) wait(n - 1); barrier(CLK_LOCAL_MEM_FENCE); }\n"
      "kernel void recursive(global int *a) { wait(a[0]); a[1] = 2; }\n";
  cl_program program = build(s, mixed, "-w");
  char text[8192];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof text, text, NULL));
  EXPECT(strstr(text, "warning: the kernel `inlined` cannot be launched: program.cl:1:"));
  EXPECT(strstr(text, "warning: the kernel `recursive` cannot be launched: "));
  CHECK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL));
  EXPECT(!strcmp(text, "good"));
  clCreateKernel(program, "inlined", &error);
  EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
  clCreateKernel(program, "recursive", &error);
  EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
  cl_kernel good;
  cl_uint count;
  CHECK(clCreateKernelsInProgram(program, 1, &good, &count));
  EXPECT(count == 1);
  int data[] = {1, 2, 3, 4};
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  CHECK(clSetKernelArg(good, 0, sizeof memory, &memory));
  size_t global = 4;
  CHECK(clEnqueueNDRangeKernel(s.queue, good, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 4; i++) EXPECT(data[i] == i + 2);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(good));
  CHECK(clReleaseProgram(program));
  // Where no kernel is left, the build fails.
  const char *bad = "kernel void machine(global int *a) { __asm__ volatile(\"\"); }\n";
  program = clCreateProgramWithSource(s.context, 1, &bad, NULL, &error);
  CHECK(error);
  CODE(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof text, text, NULL));
  EXPECT(strstr(text, "error: program.cl:1:"));
  CHECK(clReleaseProgram(program));
}

int main(void) {
  struct setting s = start(0);
  kernels(s);
  attributes(s);
  large_arguments(s);
  builds(s);
  refuses(s);
  links(s);
  variables(s);
  end(s);
  return passed();
}
