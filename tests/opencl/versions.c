// Minimums of the full profile. Additions of OpenCL 3.1 to 3.0: versions, the language, queries of SPIR-V, local memory of no size; hints to compiler and queues.
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

// Minimum of a number that the device reports, as the table of device queries of the full profile has it.
struct minimum {
  cl_device_info name;
  size_t bytes;
  cl_ulong least;
};

// Bits that the answer must have.
struct bits {
  cl_device_info name;
  cl_ulong required;
};

static cl_ulong number_of(struct setting s, cl_device_info name, size_t bytes) {
  cl_ulong number = 0;
  size_t size;
  CHECK(clGetDeviceInfo(s.device, name, sizeof number, &number, &size));
  if (size != bytes) fprintf(stderr, "query %#x: %zu bytes\n", name, size);
  EXPECT(size == bytes);
  return number;
}

// Each required query of the full profile has at least its minimum; optional features with minimums of their own are there.
static void minimums(struct setting s) {
  const size_t word = sizeof(cl_uint), wide = sizeof(cl_ulong), size = sizeof(size_t);
  struct minimum all[] = {
      {CL_DEVICE_MAX_COMPUTE_UNITS, word, 1},
      {CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, word, 3},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, size, 1},
      {CL_DEVICE_MAX_CLOCK_FREQUENCY, word, 1},
      {CL_DEVICE_ADDRESS_BITS, word, 32},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, wide, 32 << 20},
      {CL_DEVICE_IMAGE_SUPPORT, word, 1},
      {CL_DEVICE_MAX_READ_IMAGE_ARGS, word, 128},
      {CL_DEVICE_MAX_WRITE_IMAGE_ARGS, word, 64},
      {CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, word, 64},
      {CL_DEVICE_IMAGE2D_MAX_WIDTH, size, 16384},
      {CL_DEVICE_IMAGE2D_MAX_HEIGHT, size, 16384},
      {CL_DEVICE_IMAGE3D_MAX_WIDTH, size, 2048},
      {CL_DEVICE_IMAGE3D_MAX_HEIGHT, size, 2048},
      {CL_DEVICE_IMAGE3D_MAX_DEPTH, size, 2048},
      {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, size, 65536},
      {CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, size, 2048},
      {CL_DEVICE_MAX_SAMPLERS, word, 16},
      {CL_DEVICE_MAX_PARAMETER_SIZE, size, 1024},
      // In bits: the largest type is a vector of sixteen integers of 64 bits.
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, word, 1024},
      {CL_DEVICE_GLOBAL_MEM_SIZE, wide, 64 << 20},
      {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, wide, 64 << 10},
      {CL_DEVICE_MAX_CONSTANT_ARGS, word, 8},
      {CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size, 64 << 10},
      {CL_DEVICE_LOCAL_MEM_TYPE, word, CL_LOCAL},
      {CL_DEVICE_LOCAL_MEM_SIZE, wide, 32 << 10},
      {CL_DEVICE_PROFILING_TIMER_RESOLUTION, size, 1},
      {CL_DEVICE_AVAILABLE, word, 1},
      {CL_DEVICE_COMPILER_AVAILABLE, word, 1},
      {CL_DEVICE_LINKER_AVAILABLE, word, 1},
      {CL_DEVICE_PRINTF_BUFFER_SIZE, size, 1 << 20},
      {CL_DEVICE_REFERENCE_COUNT, word, 1},
      {CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size, 1},
      {CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, word, 1},
      {CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, word, 1},
      {CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, word, 1},
      // Sub-groups are part of version 3.1.
      {CL_DEVICE_MAX_NUM_SUB_GROUPS, word, 1},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    cl_ulong found = number_of(s, all[i].name, all[i].bytes);
    if (found < all[i].least) fprintf(stderr, "query %#x: %llu, at least %llu\n", all[i].name, (unsigned long long)found, (unsigned long long)all[i].least);
    EXPECT(found >= all[i].least);
  }
  struct bits sets[] = {
      {CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU},
      {CL_DEVICE_SINGLE_FP_CONFIG, CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN},
      {CL_DEVICE_DOUBLE_FP_CONFIG, CL_FP_FMA | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_INF_NAN | CL_FP_DENORM},
      {0x1033 /* CL_DEVICE_HALF_FP_CONFIG */, CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN},
      {CL_DEVICE_EXECUTION_CAPABILITIES, CL_EXEC_KERNEL},
      {CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, CL_QUEUE_PROFILING_ENABLE},
      {CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER},
      {CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP},
      {CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP},
      // Integer dot products of packed bytes and of vectors of bytes.
      {0x1073, 3},
  };
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    cl_ulong found = number_of(s, sets[i].name, sizeof(cl_ulong));
    if ((found & sets[i].required) != sets[i].required) fprintf(stderr, "query %#x: bits %#llx\n", sets[i].name, (unsigned long long)found);
    EXPECT((found & sets[i].required) == sets[i].required);
  }
  // A quarter of the memory, or a gigabyte.
  cl_ulong memory = number_of(s, CL_DEVICE_GLOBAL_MEM_SIZE, wide), quarter = memory / 4;
  EXPECT(number_of(s, CL_DEVICE_MAX_MEM_ALLOC_SIZE, wide) >= (quarter < 1 << 30 ? quarter : 1 << 30));
  EXPECT(number_of(s, CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size) >= number_of(s, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size));
  size_t sizes[3];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL));
  for (int way = 0; way < 3; way++) EXPECT(sizes[way] >= 1);
  // Features that are missing have zeros for all of their numbers.
  EXPECT(number_of(s, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, wide) == 0 && number_of(s, CL_DEVICE_PIPE_SUPPORT, word) == 0);
  cl_device_info absent[] = {CL_DEVICE_MAX_ON_DEVICE_QUEUES, CL_DEVICE_MAX_ON_DEVICE_EVENTS, CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE,
                             CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, CL_DEVICE_MAX_PIPE_ARGS, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
                             CL_DEVICE_PIPE_MAX_PACKET_SIZE};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) EXPECT(number_of(s, absent[i], word) == 0);
}

// Extensions that devices of the full profile name for programs of older versions, and features of the language of version 3.1.
static void names(struct setting s) {
  static char text[4096];
  static cl_name_version features[128];
  size_t size;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_PROFILE, sizeof text, text, NULL));
  EXPECT(!strcmp(text, "FULL_PROFILE"));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_OPENCL_C_VERSION, sizeof text, text, NULL));
  EXPECT(!strncmp(text, "OpenCL C 1.2 ", 13));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_IL_VERSION, sizeof text, text, NULL));
  for (int minor = 0; minor < 5; minor++) {
    char name[16];
    snprintf(name, sizeof name, "SPIR-V_1.%d", minor);
    EXPECT(strstr(text, name));
  }
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL));
  const char *extensions[] = {"cl_khr_byte_addressable_store", "cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
                              "cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics", "cl_khr_fp64",
                              "cl_khr_3d_image_writes", "cl_khr_image2d_from_buffer", "cl_khr_depth_images", "cl_khr_il_program"};
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) EXPECT(strstr(text, extensions[i]));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_OPENCL_C_FEATURES, sizeof features, features, &size));
  const char *required[] = {"__opencl_c_int64", "__opencl_c_fp64", "__opencl_c_subgroups", "__opencl_c_images",
                            "__opencl_c_3d_image_writes", "__opencl_c_atomic_order_acq_rel", "__opencl_c_atomic_scope_device",
                            "__opencl_c_integer_dot_product_input_4x8bit", "__opencl_c_integer_dot_product_input_4x8bit_packed"};
  for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
    int found = 0;
    for (size_t k = 0; k < size / sizeof *features; k++) found += !strcmp(features[k].name, required[i]);
    if (found != 1) fprintf(stderr, "%s: %d\n", required[i], found);
    EXPECT(found == 1);
  }
  // Identifiers: of the device and of the driver.
  cl_uchar device[16] = {0}, driver[16] = {0}, none[16] = {0};
  CHECK(clGetDeviceInfo(s.device, 0x106a, sizeof device, device, &size));
  EXPECT(size == sizeof device && memcmp(device, none, size));
  CHECK(clGetDeviceInfo(s.device, 0x106b, sizeof driver, driver, &size));
  EXPECT(size == sizeof driver && memcmp(driver, none, size) && memcmp(driver, device, size));
  cl_ulong resolution;
  CHECK(clGetPlatformInfo(s.platform, CL_PLATFORM_HOST_TIMER_RESOLUTION, sizeof resolution, &resolution, NULL));
  EXPECT(resolution > 0);
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
  minimums(s);
  names(s);
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
