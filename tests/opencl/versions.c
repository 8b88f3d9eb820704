// Additions of OpenCL 3.1 to 3.0: versions, the language, queries of SPIR-V, local memory of no size; hints to compiler and queues.
// Arguments: `hints.cl`, and a module of it in SPIR-V.
// covers: cl_khr_spirv_queries cl_khr_priority_hints cl_khr_suggested_local_work_size
#include "check.h"

enum {
  EXTENDED_SETS = 0x12b9, SPIRV_EXTENSIONS = 0x12ba, SPIRV_CAPABILITIES = 0x12bb,
  PRIORITY = 0x1096, HIGH = 1, MEDIUM = 2, LOW = 4
};

static void versions(struct setting s) {
  char text[256];
  cl_version version;
  CHECK(clGetPlatformInfo(s.platform, CL_PLATFORM_VERSION, sizeof text, text, NULL));
  EXPECT(!strncmp(text, "OpenCL 3.1 ", 11));
  CHECK(clGetPlatformInfo(s.platform, CL_PLATFORM_NUMERIC_VERSION, sizeof version, &version, NULL));
  EXPECT(version == CL_MAKE_VERSION(3, 1, 0));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_VERSION, sizeof text, text, NULL));
  EXPECT(!strncmp(text, "OpenCL 3.1 ", 11));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_NUMERIC_VERSION, sizeof version, &version, NULL));
  EXPECT(version == CL_MAKE_VERSION(3, 1, 0));
  cl_name_version list[16];
  size_t size;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof list, list, &size));
  unsigned required[] = {CL_MAKE_VERSION(3, 1, 0), CL_MAKE_VERSION(3, 0, 0), CL_MAKE_VERSION(1, 2, 0), CL_MAKE_VERSION(1, 1, 0), CL_MAKE_VERSION(1, 0, 0)};
  for (int i = 0; i < 5; i++) {
    int found = 0;
    for (size_t k = 0; k < size / sizeof *list; k++) found += list[k].version == required[i] && !strcmp(list[k].name, "OpenCL C");
    EXPECT(found == 1);
  }
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_ILS_WITH_VERSION, sizeof list, list, &size));
  for (int minor = 0; minor < 5; minor++) {
    int found = 0;
    for (size_t k = 0; k < size / sizeof *list; k++) found += list[k].version == CL_MAKE_VERSION(1, minor, 0);
    EXPECT(found == 1);
  }
  // Sub-groups, and the extensions that became part of the core.
  cl_uint most;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof most, &most, NULL));
  EXPECT(most > 0);
  static char extensions[4096];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
  const char *core[] = {"cl_khr_device_uuid", "cl_khr_extended_bit_ops", "cl_khr_integer_dot_product", "cl_khr_spirv_queries",
                        "cl_khr_subgroup_extended_types", "cl_khr_subgroup_rotate", "cl_khr_subgroup_shuffle",
                        "cl_khr_subgroup_shuffle_relative", "cl_khr_suggested_local_work_size"};
  for (size_t i = 0; i < sizeof core / sizeof *core; i++) EXPECT(strstr(extensions, core[i]));
  EXPECT(clGetExtensionFunctionAddressForPlatform(s.platform, "clGetKernelSuggestedLocalWorkSize"));
}

// Functions of the extensions are there without a question.
static const char *language =
    "#if __OPENCL_C_VERSION__ != 310 || CL_VERSION_3_1 != 310 || __OPENCL_VERSION__ != 310\n"
    "#error not 3.1\n"
    "#endif\n"
    "kernel void k(global uint *to, local int *none) {\n"
    "  int l = get_sub_group_local_id();\n"
    "  to[0] = bit_reverse(1u);\n"
    "  to[1] = dot((uchar4)(1, 2, 3, 4), (uchar4)(4, 3, 2, 1));\n"
    "  to[2] = sub_group_shuffle(l, 0) + sub_group_shuffle_xor(l, 0) + sub_group_rotate(l, 0) + sub_group_shuffle_up(l, 0);\n"
    "  to[3] = sub_group_reduce_add((short)3) + sub_group_broadcast((uchar)4, 0);\n"
    "  printf(\"%zu %td %zx\\n\", (size_t)-1, (ptrdiff_t)-5, (size_t)255);\n"
    "}\n";

static void program(struct setting s) {
  cl_int error;
  cl_uint found[4];
  cl_program program = build(s, language, "-cl-std=CL3.1 -Werror");
  cl_kernel kernel = clCreateKernel(program, "k", &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, sizeof found, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  CHECK(clSetKernelArg(kernel, 1, 0, NULL));
  size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
  EXPECT(found[0] == 1u << 31 && found[1] == 20 && found[2] == 0 && found[3] == 7);
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  // Older versions of the language stay what they are; later ones are unknown.
  CHECK(clReleaseProgram(build(s, "#if __OPENCL_C_VERSION__ != 300 || __OPENCL_VERSION__ != 310\n#error\n#endif\n", "-cl-std=CL3.0")));
  const char *empty = "kernel void k(void) {}";
  program = clCreateProgramWithSource(s.context, 1, &empty, NULL, &error);
  CHECK(error);
  CODE(clBuildProgram(program, 1, &s.device, "-cl-std=CL3.2", NULL, NULL), CL_INVALID_BUILD_OPTIONS);
  CHECK(clReleaseProgram(program));
}

static int has(const char **list, size_t size, const char *name) {
  int found = 0;
  for (size_t i = 0; i < size / sizeof *list; i++) found += !strcmp(list[i], name);
  return found;
}

static void spirv(struct setting s) {
  const char *names[256];
  cl_uint numbers[256];
  size_t size;
  CHECK(clGetDeviceInfo(s.device, EXTENDED_SETS, sizeof names, names, &size));
  EXPECT(has(names, size, "OpenCL.std") == 1);
  CODE(clGetDeviceInfo(s.device, EXTENDED_SETS, size - 1, names, NULL), CL_INVALID_VALUE);
  CHECK(clGetDeviceInfo(s.device, SPIRV_EXTENSIONS, sizeof names, names, &size));
  const char *extensions[] = {"SPV_KHR_bit_instructions", "SPV_KHR_integer_dot_product", "SPV_KHR_subgroup_rotate", "SPV_KHR_expect_assume",
                              "SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max", "SPV_EXT_shader_atomic_float16_add"};
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) EXPECT(has(names, size, extensions[i]) == 1);
  CODE(clGetDeviceInfo(s.device, SPIRV_EXTENSIONS, size - 1, names, NULL), CL_INVALID_VALUE);
  CHECK(clGetDeviceInfo(s.device, SPIRV_CAPABILITIES, sizeof numbers, numbers, &size));
  // Kernel, Addresses, Linkage, Int8, Int64, GenericPointer, SubgroupDispatch, shuffles, BitInstructions, dot products, rotation, ExpectAssume.
  cl_uint required[] = {6, 4, 5, 39, 11, 38, 58, 65, 66, 6025, 6019, 6018, 6016, 6026, 5629};
  for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
    int found = 0;
    for (size_t k = 0; k < size / sizeof *numbers; k++) found += numbers[k] == required[i];
    if (found != 1) fprintf(stderr, "capability %u: %d\n", required[i], found);
    EXPECT(found == 1);
  }
  // No shaders.
  for (size_t k = 0; k < size / sizeof *numbers; k++) EXPECT(numbers[k] != 1);
  CODE(clGetDeviceInfo(s.device, SPIRV_CAPABILITIES, size - 1, numbers, NULL), CL_INVALID_VALUE);
}

static void hinted(struct setting s, cl_program program) {
  cl_int error, numbers[64];
  cl_kernel kernel = clCreateKernel(program, "hinted", &error);
  CHECK(error);
  for (int i = 0; i < 64; i++) numbers[i] = i;
  cl_mem to = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  size_t items = 64;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL));
  // Expectations may be wrong, which changes no result.
  for (int i = 0; i < 64; i++) EXPECT(numbers[i] == (i == 3 ? 7 : i) + i % 4);
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
}

// Sizes of groups that the driver would choose, by both names of the function.
static void suggestions(struct setting s) {
  const char *text =
      "kernel void free_one(global int *to) { to[get_global_id(0) + get_local_id(0)] = 0; }\n"
      "__attribute__((reqd_work_group_size(8, 2, 1))) kernel void fixed(global int *to) { to[get_global_id(0)] = 0; }\n";
  const char *names[] = {"clGetKernelSuggestedLocalWorkSizeKHR", "clGetKernelSuggestedLocalWorkSize"};
  cl_int error;
  cl_program program = build(s, text, "-cl-std=CL3.1");
  cl_kernel kernel = clCreateKernel(program, "free_one", &error), fixed = clCreateKernel(program, "fixed", &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, 4096, NULL, &error);
  CHECK(error);
  for (int i = 0; i < 2; i++) {
    cl_int (*suggest)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, size_t *);
    void *address = clGetExtensionFunctionAddressForPlatform(s.platform, names[i]);
    memcpy(&suggest, &address, sizeof address);
    size_t global[] = {640, 12, 5}, local[3];
    cl_kernel bare = clCreateKernel(program, "free_one", &error);
    CODE(suggest(s.queue, bare, 1, NULL, global, local), CL_INVALID_KERNEL_ARGS);
    CHECK(clReleaseKernel(bare));
    CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
    CHECK(clSetKernelArg(fixed, 0, sizeof to, &to));
    CHECK(suggest(s.queue, kernel, 3, NULL, global, local));
    for (int way = 0; way < 3; way++) EXPECT(local[way] && global[way] % local[way] == 0);
    EXPECT(local[0] * local[1] * local[2] <= 4096);
    CHECK(suggest(s.queue, fixed, 2, NULL, global, local));
    EXPECT(local[0] == 8 && local[1] == 2);
    CODE(suggest(s.queue, kernel, 0, NULL, global, local), CL_INVALID_WORK_DIMENSION);
    CODE(suggest(s.queue, kernel, 1, NULL, global, NULL), CL_INVALID_VALUE);
    CODE(suggest((cl_command_queue)s.context, kernel, 1, NULL, global, local), CL_INVALID_COMMAND_QUEUE);
    CODE(suggest(s.queue, (cl_kernel)to, 1, NULL, global, local), CL_INVALID_KERNEL);
  }
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseKernel(fixed));
  CHECK(clReleaseProgram(program));
}

static void priorities(struct setting s) {
  cl_int error;
  cl_queue_properties values[] = {HIGH, MEDIUM, LOW};
  for (int i = 0; i < 3; i++) {
    cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, PRIORITY, values[i], 0}, found[5];
    cl_command_queue queue = clCreateCommandQueueWithProperties(s.context, s.device, list, &error);
    CHECK(error);
    size_t size;
    CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof found, found, &size));
    EXPECT(size == sizeof found && !memcmp(found, list, size));
    CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
    CHECK(clFinish(queue));
    CHECK(clReleaseCommandQueue(queue));
  }
  cl_queue_properties none[] = {PRIORITY, 0, 0}, two[] = {PRIORITY, HIGH | LOW, 0};
  EXPECT(!clCreateCommandQueueWithProperties(s.context, s.device, none, &error) && error == CL_INVALID_VALUE);
  EXPECT(!clCreateCommandQueueWithProperties(s.context, s.device, two, &error) && error == CL_INVALID_VALUE);
  cl_queue_properties of_device[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_ON_DEVICE, PRIORITY, HIGH, 0};
  EXPECT(!clCreateCommandQueueWithProperties(s.context, s.device, of_device, &error) && error == CL_INVALID_QUEUE_PROPERTIES);
}

int main(int count, char **arguments) {
  struct setting s = start(0);
  EXPECT(count == 3);
  versions(s);
  program(s);
  spirv(s);
  suggestions(s);
  static char text[1 << 16];
  cl_int error;
  FILE *file = fopen(arguments[1], "rb");
  EXPECT(file && fread(text, 1, sizeof text - 1, file));
  fclose(file);
  cl_program program = build(s, text, "-cl-std=CL3.1");
  hinted(s, program);
  CHECK(clReleaseProgram(program));
  file = fopen(arguments[2], "rb");
  EXPECT(file);
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  program = clCreateProgramWithIL(s.context, text, size, &error);
  CHECK(error);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  hinted(s, program);
  CHECK(clReleaseProgram(program));
  priorities(s);
  end(s);
  return passed();
}
