// Runs one kernel of images.cl, on images or on buffers: `images FOLDER KERNEL [buffer]`. Where the folder has KERNEL.spv, that is
// the program. Prints the seconds until the first result, then for each line of its input the shortest time of a launch within so
// many milliseconds, and at the end of input the sum of all results.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1024, HEIGHT = 768, SIDE = 128 };

static void check(cl_int code, int line) {
  if (code) {
    fprintf(stderr, "line %d: code %d\n", line, code);
    exit(1);
  }
}
#define CHECK(code) check(code, __LINE__)

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Channels and type of the texels that a kernel reads and writes.
struct format {
  const char *kernel;
  cl_image_format from, to;
};
#define BYTES {CL_RGBA, CL_UNORM_INT8}
#define FLOATS {CL_RGBA, CL_FLOAT}
#define REDS {CL_R, CL_FLOAT}
static const struct format table[] = {
    {"blur_nearest", BYTES, BYTES}, {"blur_linear", BYTES, BYTES}, {"resize", BYTES, BYTES}, {"warp", FLOATS, FLOATS},
    {"to_float", BYTES, FLOATS},    {"from_float", FLOATS, BYTES}, {"median", REDS, REDS},   {"convolve", REDS, REDS},
    {"pyramid", BYTES, BYTES},      {"raycast", REDS, REDS},
};

static size_t texel(cl_image_format format) {
  return (format.image_channel_order == CL_R ? 1 : 4) * (format.image_channel_data_type == CL_FLOAT ? 4 : 1);
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  int on_buffers = count > 3;
  const struct format *f = NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].kernel, arguments[2])) f = &table[i];
  if (!f) return 2;
  int is_volume = !strcmp(f->kernel, "raycast");
  char path[4096], name[64];
  snprintf(path, sizeof path, "%s/images.cl", arguments[1]);
  snprintf(name, sizeof name, "%s%s", f->kernel, on_buffers ? "_buffer" : "");
  FILE *file = fopen(path, "r");
  if (!file) return 2;
  static char source[1 << 16], line[1 << 12], module[1 << 18];
  const char *text = source;
  int is_taken = 1;
  size_t length = strlen(f->kernel);
  while (fgets(line, sizeof line, file)) {
    if (!strncmp(line, "//! ", 4)) is_taken = !strncmp(line + 4, f->kernel, length) && strchr(":\n", line[4 + length]);
    if (is_taken) strcat(source, line);
  }
  fclose(file);
  snprintf(path, sizeof path, "%s/%s.spv", arguments[1], f->kernel);
  FILE *modules = fopen(path, "rb");
  size_t module_size = modules ? fread(module, 1, sizeof module, modules) : 0;
  if (modules) fclose(modules);

  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  CHECK(clGetPlatformIDs(1, &platform, NULL));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL));
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  CHECK(error);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
  CHECK(error);
  size_t texels = is_volume ? SIDE * SIDE * SIDE : WIDTH * HEIGHT;
  size_t bytes = texels * texel(f->from), out_bytes = WIDTH * HEIGHT * texel(f->to);
  unsigned char *host = malloc(bytes), *out = malloc(out_bytes);
  unsigned random = 1;
  for (size_t i = 0; i < bytes / (f->from.image_channel_data_type == CL_FLOAT ? 4 : 1); i++) {
    random = random * 1664525 + 1013904223;
    float value = (random >> 8) / (float)(1 << 24);
    if (f->from.image_channel_data_type == CL_FLOAT) memcpy(host + 4 * i, &value, 4);
    else host[i] = random >> 24;
  }
  double begin = now(CLOCK_PROCESS_CPUTIME_ID);
  cl_program program = module_size ? clCreateProgramWithIL(context, module, module_size, &error)
                                   : clCreateProgramWithSource(context, 1, &text, NULL, &error);
  CHECK(error);
  char options[64];
  if (module_size) *options = 0;
  else snprintf(options, sizeof options, "-cl-std=CL2.0 -DWIDTH=%d -DHEIGHT=%d", WIDTH, HEIGHT);
  error = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (error) {
    static char log[1 << 14];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  CHECK(error);
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT}, from_shape = shape;
  if (is_volume) from_shape = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = SIDE, .image_height = SIDE, .image_depth = SIDE};
  cl_mem from = on_buffers ? clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host, &error)
                           : clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f->from, &from_shape, host, &error);
  CHECK(error);
  cl_mem to = on_buffers ? clCreateBuffer(context, CL_MEM_WRITE_ONLY, out_bytes, NULL, &error)
                         : clCreateImage(context, CL_MEM_WRITE_ONLY, &f->to, &shape, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof from, &from));
  CHECK(clSetKernelArg(kernel, 1, sizeof to, &to));
  if (is_volume) {
    cl_sampler sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 2, sizeof sampler, &sampler));
  }
  size_t global[2] = {WIDTH, HEIGHT};
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL));
  CHECK(clFinish(queue));
  printf("%.6f\n", now(CLOCK_PROCESS_CPUTIME_ID) - begin);
  fflush(stdout);
  double budget;
  while (scanf("%lf", &budget) == 1) {
    double best = 1e9, start = now(CLOCK_PROCESS_CPUTIME_ID);
    do {
      double before = now(CLOCK_PROCESS_CPUTIME_ID);
      CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL));
      CHECK(clFinish(queue));
      double time = now(CLOCK_PROCESS_CPUTIME_ID) - before;
      if (time < best) best = time;
    } while (now(CLOCK_PROCESS_CPUTIME_ID) - start < budget * 1e-3);
    printf("%.9f\n", best);
    fflush(stdout);
  }
  size_t zero[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  if (on_buffers) CHECK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, out_bytes, out, 0, NULL, NULL));
  else CHECK(clEnqueueReadImage(queue, to, CL_TRUE, zero, region, 0, 0, out, 0, NULL, NULL));
  double sum = 0;
  for (size_t i = 0; i < out_bytes; i++) {
    if (f->to.image_channel_data_type != CL_FLOAT) sum += out[i] * (double)(i % 251 + 1);
    else if (i % 4 == 0) {
      float value;
      memcpy(&value, out + i, 4);
      sum += value * (double)(i / 4 % 251 + 1);
    }
  }
  printf("%.9e\n", sum);
  return 0;
}
