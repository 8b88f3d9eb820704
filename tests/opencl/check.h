// What the programs of this folder share: they stop at the first thing that is not as it should be.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

#define CODE(call, expected) \
  do { \
    cl_int code_ = (call); \
    if (code_ != (expected)) { \
      fprintf(stderr, "%s:%d: %s gives %d, not %d\n", __FILE__, __LINE__, #call, code_, (int)(expected)); \
      exit(1); \
    } \
  } while (0)

#define CHECK(call) CODE(call, CL_SUCCESS)

// Says what goes wrong after the calls.
static void CL_CALLBACK say(const char *message, const void *bytes, size_t size, void *data) {
  (void)bytes, (void)size, (void)data;
  fprintf(stderr, "%s\n", message);
}

struct setting {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
};

// The Heddle platform, a context, and a queue with these properties.
static inline struct setting start(cl_command_queue_properties properties) {
  struct setting s;
  cl_platform_id platforms[16];
  cl_uint count = 0;
  cl_int error;
  CHECK(clGetPlatformIDs(16, platforms, &count));
  s.platform = NULL;
  for (cl_uint i = 0; i < count; i++) {
    char name[256];
    CHECK(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL));
    if (!strncmp(name, "Heddle", 6)) s.platform = platforms[i];
  }
  EXPECT(s.platform);
  CHECK(clGetDeviceIDs(s.platform, CL_DEVICE_TYPE_CPU, 1, &s.device, NULL));
  s.context = clCreateContext(NULL, 1, &s.device, say, NULL, &error);
  CHECK(error);
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  s.queue = clCreateCommandQueueWithProperties(s.context, s.device, list, &error);
  CHECK(error);
  return s;
}

static inline void end(struct setting s) {
  CHECK(clReleaseCommandQueue(s.queue));
  CHECK(clReleaseContext(s.context));
}

static inline cl_program build(struct setting s, const char *source, const char *options) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(s.context, 1, &source, NULL, &error);
  CHECK(error);
  error = clBuildProgram(program, 1, &s.device, options, NULL, NULL);
  if (error) {
    char log[16384];
    CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
    fprintf(stderr, "%s\n", log);
  }
  CHECK(error);
  return program;
}

static inline int passed(void) {
  puts("passed");
  return 0;
}
