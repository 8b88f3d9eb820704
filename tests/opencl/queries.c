// Every question of every `clGet…Info`: how much room its answer takes, too little room, just enough, and more than that.
// covers: cl_khr_extended_versioning cl_khr_device_uuid cl_khr_create_command_queue
#include "check.h"
#include <CL/cl_ext.h>

typedef cl_int question(void *of, void *other, cl_uint name, size_t size, void *value, size_t *needed);

enum { ROOM = 1 << 16, LEFT = 0x5a };

// Whether the question is answered, with all sizes of the place for it.
static size_t query_of(question *ask, void *of, void *other, cl_uint name, size_t fixed) {
  static unsigned char first[ROOM], second[ROOM];
  size_t needed = ROOM, again = ROOM;
  cl_int code = ask(of, other, name, 0, NULL, &needed);
  if (code) fprintf(stderr, "question %#x\n", name);
  CHECK(code);
  EXPECT(needed < ROOM && (!fixed || needed == fixed));
  memset(first, LEFT, ROOM), memset(second, LEFT, ROOM);
  if (needed) {
    CODE(ask(of, other, name, needed - 1, first, NULL), CL_INVALID_VALUE);
    EXPECT(first[0] == LEFT && first[needed - 1] == LEFT);
  }
  CHECK(ask(of, other, name, needed, first, &again));
  EXPECT(again == needed && first[needed] == LEFT);
  CHECK(ask(of, other, name, ROOM, second, NULL));
  EXPECT(!memcmp(first, second, ROOM));
  return needed;
}

// Names in pairs of the first and the last one that is known, and the sizes of their answers; 0 is any.
static void range(question *ask, void *of, void *other, cl_uint first, cl_uint last, size_t fixed) {
  for (cl_uint name = first; name <= last; name++) query_of(ask, of, other, name, fixed);
}

static cl_int platform(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetPlatformInfo(of, n, s, v, l); }
static cl_int device(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetDeviceInfo(of, n, s, v, l); }
static cl_int context(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetContextInfo(of, n, s, v, l); }
static cl_int queue(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetCommandQueueInfo(of, n, s, v, l); }
static cl_int memory(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetMemObjectInfo(of, n, s, v, l); }
static cl_int program(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetProgramInfo(of, n, s, v, l); }
static cl_int built(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return clGetProgramBuildInfo(of, b, n, s, v, l); }
static cl_int kernel(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetKernelInfo(of, n, s, v, l); }
static cl_int argument(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetKernelArgInfo(of, 0, n, s, v, l); }
static cl_int group(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return clGetKernelWorkGroupInfo(of, b, n, s, v, l); }
static cl_int event(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetEventInfo(of, n, s, v, l); }
static cl_int times(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) { return (void)b, clGetEventProfilingInfo(of, n, s, v, l); }
static cl_int part(void *of, void *b, cl_uint n, size_t s, void *v, size_t *l) {
  size_t input[] = {100, 3, 1};
  size_t many = n == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT ? sizeof *input : sizeof input;
  return clGetKernelSubGroupInfo(of, b, n, many, input, s, v, l);
}

static void unknown(question *ask, void *of, void *other) {
  size_t needed;
  CODE(ask(of, other, 0x7fff, 0, NULL, &needed), CL_INVALID_VALUE);
}

// The names and macros of features and extensions are those that programs see.
static void features(struct setting s) {
  cl_name_version list[64];
  size_t size, length = 0;
  static char source[1 << 14];
  for (cl_uint which = 0; which < 2; which++) {
    cl_device_info name = which ? CL_DEVICE_EXTENSIONS_WITH_VERSION : CL_DEVICE_OPENCL_C_FEATURES;
    CHECK(clGetDeviceInfo(s.device, name, sizeof list, list, &size));
    for (size_t i = 0; i < size / sizeof *list; i++) {
      // What only the host sees has no macro.
      const char *of_host[] = {"cl_khr_icd", "cl_khr_extended_versioning", "cl_khr_suggested_local_work_size", "cl_khr_il_program",
                               "cl_intel_unified_shared_memory", "cl_khr_create_command_queue", "cl_khr_device_uuid",
                               "cl_khr_spirv_queries", "cl_khr_priority_hints", "cl_khr_command_buffer", "cl_ext_buffer_device_address",
                               "cl_khr_expect_assume", "cl_khr_command_buffer_mutable_dispatch", "cl_khr_unified_svm"};
      int is_of_host = 0;
      for (size_t k = 0; k < sizeof of_host / sizeof *of_host; k++) is_of_host |= !strcmp(list[i].name, of_host[k]);
      if (is_of_host) continue;
      length += snprintf(source + length, sizeof source - length, "#ifndef %s\n#error %s is missing\n#endif\n", list[i].name, list[i].name);
    }
  }
  const char *absent[] = {"__opencl_c_pipes", "__opencl_c_device_enqueue", "cl_khr_mipmap_image"};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    length += snprintf(source + length, sizeof source - length, "#ifdef %s\n#error %s is defined\n#endif\n", absent[i], absent[i]);
  snprintf(source + length, sizeof source - length, "#ifndef __IMAGE_SUPPORT__\n#error no images\n#endif\nkernel void k(void) {}\n");
  CHECK(clReleaseProgram(build(s, source, "-cl-std=CL3.0 -Werror")));
  // Each version of the language that is listed is one that programs can be built in.
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof list, list, &size));
  EXPECT(size >= 2 * sizeof *list);
  for (size_t i = 0; i < size / sizeof *list; i++) {
    char options[64], text[256];
    unsigned major = CL_VERSION_MAJOR(list[i].version), minor = CL_VERSION_MINOR(list[i].version);
    snprintf(options, sizeof options, "-cl-std=CL%u.%u -Werror", major, minor);
    snprintf(text, sizeof text, "#if __OPENCL_C_VERSION__ != %u\n#error another version\n#endif\nkernel void k(void) {}\n", 100 * major + 10 * minor);
    CHECK(clReleaseProgram(build(s, text, options)));
  }
}

// Device and driver have identifiers that stay; this system has no LUID.
static void identifiers(struct setting s) {
  unsigned char device[2][CL_UUID_SIZE_KHR], driver[CL_UUID_SIZE_KHR], none[CL_UUID_SIZE_KHR] = {0};
  cl_bool is_valid;
  for (int i = 0; i < 2; i++) CHECK(clGetDeviceInfo(s.device, CL_DEVICE_UUID_KHR, sizeof device[i], device[i], NULL));
  CHECK(clGetDeviceInfo(s.device, CL_DRIVER_UUID_KHR, sizeof driver, driver, NULL));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_LUID_VALID_KHR, sizeof is_valid, &is_valid, NULL));
  EXPECT(!memcmp(device[0], device[1], sizeof driver) && memcmp(device[0], driver, sizeof driver) && !is_valid);
  EXPECT(memcmp(device[0], none, sizeof none) && memcmp(driver, none, sizeof none));
}

static void queue_of_extension(struct setting s) {
  clCreateCommandQueueWithPropertiesKHR_fn make = (clCreateCommandQueueWithPropertiesKHR_fn)
      clGetExtensionFunctionAddressForPlatform(s.platform, "clCreateCommandQueueWithPropertiesKHR");
  cl_queue_properties_khr list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0}, wrong[] = {1, 2, 0};
  cl_command_queue_properties found;
  cl_int error;
  EXPECT(make);
  cl_command_queue queue = make(s.context, s.device, list, &error);
  CHECK(error);
  CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof found, &found, NULL));
  EXPECT(found == CL_QUEUE_PROFILING_ENABLE);
  CHECK(clFinish(queue));
  CHECK(clReleaseCommandQueue(queue));
  EXPECT(!make(s.context, s.device, wrong, &error) && error == CL_INVALID_VALUE);
}

int main(void) {
  struct setting s = start(CL_QUEUE_PROFILING_ENABLE);
  cl_int error;
  range(platform, s.platform, NULL, CL_PLATFORM_PROFILE, CL_PLATFORM_EXTENSIONS, 0);
  query_of(platform, s.platform, NULL, CL_PLATFORM_HOST_TIMER_RESOLUTION, sizeof(cl_ulong));
  query_of(platform, s.platform, NULL, CL_PLATFORM_NUMERIC_VERSION, sizeof(cl_version));
  query_of(platform, s.platform, NULL, CL_PLATFORM_EXTENSIONS_WITH_VERSION, 0);
  unknown(platform, s.platform, NULL);

  // 0x1033 is that of halves; 0x105f is nobody's.
  range(device, s.device, NULL, CL_DEVICE_TYPE, CL_DEVICE_DOUBLE_FP_CONFIG, 0);
  range(device, s.device, NULL, CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, CL_DEVICE_NUMERIC_VERSION, 0);
  range(device, s.device, NULL, CL_DEVICE_EXTENSIONS_WITH_VERSION, CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, 0);
  query_of(device, s.device, NULL, CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR);
  query_of(device, s.device, NULL, CL_DRIVER_UUID_KHR, CL_UUID_SIZE_KHR);
  query_of(device, s.device, NULL, CL_DEVICE_LUID_VALID_KHR, sizeof(cl_bool));
  query_of(device, s.device, NULL, CL_DEVICE_LUID_KHR, CL_LUID_SIZE_KHR);
  query_of(device, s.device, NULL, CL_DEVICE_NODE_MASK_KHR, sizeof(cl_uint));
  identifiers(s);
  queue_of_extension(s);
  query_of(device, s.device, NULL, CL_DEVICE_TYPE, sizeof(cl_device_type));
  query_of(device, s.device, NULL, CL_DEVICE_MAX_WORK_ITEM_SIZES, 3 * sizeof(size_t));
  query_of(device, s.device, NULL, CL_DEVICE_IMAGE_SUPPORT, sizeof(cl_bool));
  query_of(device, s.device, NULL, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
  query_of(device, s.device, NULL, CL_DEVICE_PRINTF_BUFFER_SIZE, sizeof(size_t));
  query_of(device, s.device, NULL, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, sizeof(size_t));
  query_of(device, s.device, NULL, CL_DEVICE_SVM_CAPABILITIES, sizeof(cl_device_svm_capabilities));
  query_of(device, s.device, NULL, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof(cl_uint));
  unknown(device, s.device, NULL);
  features(s);

  range(context, s.context, NULL, CL_CONTEXT_REFERENCE_COUNT, CL_CONTEXT_NUM_DEVICES, 0);
  EXPECT(query_of(context, s.context, NULL, CL_CONTEXT_PROPERTIES, 0) == 0);
  unknown(context, s.context, NULL);

  range(queue, s.queue, NULL, CL_QUEUE_CONTEXT, CL_QUEUE_PROPERTIES, 0);
  query_of(queue, s.queue, NULL, CL_QUEUE_DEVICE_DEFAULT, sizeof(cl_command_queue));
  query_of(queue, s.queue, NULL, CL_QUEUE_PROPERTIES_ARRAY, 3 * sizeof(cl_queue_properties));
  CODE(clGetCommandQueueInfo(s.queue, CL_QUEUE_SIZE, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
  unknown(queue, s.queue, NULL);

  cl_mem whole = clCreateBuffer(s.context, 0, 4096, NULL, &error);
  CHECK(error);
  cl_buffer_region region = {0, 128};
  cl_mem piece = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  CHECK(error);
  range(memory, whole, NULL, CL_MEM_TYPE, CL_MEM_PROPERTIES, 0);
  range(memory, piece, NULL, CL_MEM_TYPE, CL_MEM_PROPERTIES, 0);
  query_of(memory, piece, NULL, CL_MEM_USES_SVM_POINTER, sizeof(cl_bool));
  unknown(memory, whole, NULL);

  cl_program made = build(s, "kernel void k(global int *a) { a[0] = 1; }\n", "-cl-kernel-arg-info");
  for (cl_uint name = CL_PROGRAM_REFERENCE_COUNT; name <= CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT; name++)
    if (name != CL_PROGRAM_BINARIES) query_of(program, made, NULL, name, 0);
  unsigned char *none = NULL;
  size_t needed;
  CHECK(clGetProgramInfo(made, CL_PROGRAM_BINARIES, sizeof none, &none, &needed));
  EXPECT(needed == sizeof none);
  CODE(clGetProgramInfo(made, CL_PROGRAM_BINARIES, sizeof none - 1, &none, NULL), CL_INVALID_VALUE);
  range(built, made, s.device, CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, 0);
  unknown(program, made, NULL);
  unknown(built, made, s.device);

  cl_kernel k = clCreateKernel(made, "k", &error);
  CHECK(error);
  range(kernel, k, NULL, CL_KERNEL_FUNCTION_NAME, CL_KERNEL_ATTRIBUTES, 0);
  range(argument, k, NULL, CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_NAME, 0);
  range(group, k, s.device, CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_PRIVATE_MEM_SIZE, 0);
  range(group, k, NULL, CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_PRIVATE_MEM_SIZE, 0);
  CODE(clGetKernelWorkGroupInfo(k, s.device, CL_KERNEL_GLOBAL_WORK_SIZE, 0, NULL, &needed), CL_INVALID_VALUE);
  query_of(part, k, s.device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(size_t));
  query_of(part, k, s.device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, sizeof(size_t));
  query_of(part, k, s.device, CL_KERNEL_MAX_NUM_SUB_GROUPS, sizeof(size_t));
  query_of(part, k, s.device, CL_KERNEL_COMPILE_NUM_SUB_GROUPS, sizeof(size_t));
  size_t sizes[3], one = 1;
  for (size_t dims = 1; dims <= 3; dims++) {
    CHECK(clGetKernelSubGroupInfo(k, s.device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, sizeof one, &one, dims * sizeof one, sizes, &needed));
    EXPECT(needed == dims * sizeof one && sizes[0] > 0 && (dims < 2 || sizes[1] == 1) && (dims < 3 || sizes[2] == 1));
  }
  unknown(kernel, k, NULL);
  unknown(argument, k, NULL);
  unknown(group, k, s.device);
  unknown(part, k, s.device);

  cl_event done;
  CHECK(clEnqueueMarkerWithWaitList(s.queue, 0, NULL, &done));
  CHECK(clFinish(s.queue));
  range(event, done, NULL, CL_EVENT_COMMAND_QUEUE, CL_EVENT_CONTEXT, 0);
  range(times, done, NULL, CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_COMPLETE, sizeof(cl_ulong));
  unknown(event, done, NULL);
  unknown(times, done, NULL);

  CHECK(clReleaseEvent(done));
  CHECK(clReleaseKernel(k));
  CHECK(clReleaseProgram(made));
  CHECK(clReleaseMemObject(piece));
  CHECK(clReleaseMemObject(whole));
  end(s);
  return passed();
}
