// Programs in SPIR-V: queries, build, specialization constants, linking, refusals. Arguments: the modules.
// covers: cl_khr_il_program
#include "check.h"
#include <CL/cl_ext.h>

struct module {
  unsigned char *bytes;
  size_t size;
};

static struct module load(const char *path) {
  struct module m;
  FILE *file = fopen(path, "rb");
  EXPECT(file);
  m.bytes = malloc(1 << 20);
  m.size = fread(m.bytes, 1, 1 << 20, file);
  EXPECT(m.size > 20);
  fclose(file);
  return m;
}

static cl_program create(struct setting s, struct module m) {
  cl_int error;
  cl_program program = clCreateProgramWithIL(s.context, m.bytes, m.size, &error);
  CHECK(error);
  return program;
}

static void log_has(struct setting s, cl_program program, const char *part) {
  char log[16384];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  if (!strstr(log, part)) {
    fprintf(stderr, "the log lacks '%s': %s\n", part, log);
    exit(1);
  }
}

static void queries(struct setting s, struct module m) {
  char text[256];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_IL_VERSION, sizeof text, text, NULL));
  EXPECT(strstr(text, "SPIR-V_1.4") && strstr(text, "SPIR-V_1.0"));
  cl_name_version versions[16];
  size_t size;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_ILS_WITH_VERSION, sizeof versions, versions, &size));
  EXPECT(size >= 5 * sizeof *versions && !strcmp(versions[0].name, "SPIR-V"));
  EXPECT(CL_VERSION_MAJOR(versions[0].version) == 1);
  cl_program (*create_khr)(cl_context, const void *, size_t, cl_int *);
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, "clCreateProgramWithILKHR");
  EXPECT(address);
  memcpy(&create_khr, &address, sizeof address);
  cl_int error;
  EXPECT(!create_khr(s.context, NULL, 20, &error) && error == CL_INVALID_VALUE);
  cl_program same = create_khr(s.context, m.bytes, m.size, &error);
  CHECK(error);
  CHECK(clReleaseProgram(same));
  EXPECT(!clCreateProgramWithIL(s.context, NULL, 20, &error) && error == CL_INVALID_VALUE);
  EXPECT(!clCreateProgramWithIL(s.context, m.bytes, 0, &error) && error == CL_INVALID_VALUE);
  EXPECT(!clCreateProgramWithIL(s.context, "kernel void k() {}", 16, &error) && error == CL_INVALID_VALUE);
  cl_program program = create(s, m);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &size));
  EXPECT(size == m.size);
  unsigned char *copy = malloc(size);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_IL, size, copy, NULL));
  EXPECT(!memcmp(copy, m.bytes, size));
  free(copy);
  CHECK(clReleaseProgram(program));
}

// A module that ends early, and one with a word that is no instruction.
static void malformed(struct setting s, struct module m) {
  struct module cut = {m.bytes, m.size / 2 & ~(size_t)3};
  cl_program program = create(s, cut);
  CODE(clBuildProgram(program, 1, &s.device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
  log_has(s, program, "invalid SPIR-V at word");
  CHECK(clReleaseProgram(program));
  unsigned char *bytes = malloc(m.size);
  memcpy(bytes, m.bytes, m.size);
  memset(bytes + 20, 0, 4);
  program = create(s, (struct module){bytes, m.size});
  CODE(clBuildProgram(program, 1, &s.device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
  log_has(s, program, "word 5");
  CHECK(clReleaseProgram(program));
  program = create(s, m);
  CODE(clBuildProgram(program, 1, &s.device, "-what", NULL, NULL), CL_INVALID_BUILD_OPTIONS);
  CHECK(clReleaseProgram(program));
  free(bytes);
}

typedef struct {
  cl_char tag;
  cl_float4 weights;
  cl_short list[3];
} item;

static void many(struct setting s, cl_program program) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "many", &error);
  CHECK(error);
  size_t required[3];
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL));
  EXPECT(required[0] == 4 && required[1] == 1 && required[2] == 1);
  cl_ulong local;
  CHECK(clGetKernelWorkGroupInfo(kernel, s.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL));
  EXPECT(local >= 16);
  cl_kernel_arg_address_qualifier space;
  CHECK(clGetKernelArgInfo(kernel, 3, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL));
  EXPECT(space == CL_KERNEL_ARG_ADDRESS_LOCAL);
  cl_int in[16], out[16];
  for (int i = 0; i < 16; i++) in[i] = 10 * i;
  cl_mem from = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof in, in, &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, sizeof out, NULL, &error);
  CHECK(error);
  item thing = {.tag = 1, .weights = {{1, 2, 7, 4}}, .list = {1, 20, 3}};
  cl_int4 added = {{0, 0, 0, 1000}};
  cl_uchar small = 200;
  CHECK(clSetKernelArg(kernel, 0, sizeof from, &from));
  CHECK(clSetKernelArg(kernel, 1, sizeof to, &to));
  CHECK(clSetKernelArg(kernel, 2, sizeof thing, &thing));
  CHECK(clSetKernelArg(kernel, 3, 16, NULL));
  CHECK(clSetKernelArg(kernel, 4, sizeof added, &added));
  CHECK(clSetKernelArg(kernel, 5, sizeof small, &small));
  size_t global = 16, group = 4;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  for (int i = 0; i < 16; i++) {
    int l = i % 4, table[] = {3, 1, 4, 1};
    int picked = in[i - l + 3 - l] + 20 + 7 + 1000 + 200;
    picked += l == 0 ? 100 : l == 1 ? 0 : table[l];
    for (int j = 0; j < l; j++) picked = picked * 3 - j > picked ? picked * 3 - j : picked;
    EXPECT(out[i] == picked + 6 + 5);
  }
  CHECK(clReleaseMemObject(from));
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
}

// Runs a kernel of one buffer over this many work-items.
static void run(struct setting s, cl_program program, const char *name, cl_int *out, size_t count) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  cl_mem to = clCreateBuffer(s.context, 0, 8 * sizeof *out, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, 8 * sizeof *out, out, 0, NULL, NULL));
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseKernel(kernel));
}

static cl_program linked(struct setting s, cl_program first, cl_program second) {
  cl_int error;
  CHECK(clCompileProgram(first, 1, &s.device, "", 0, NULL, NULL, NULL, NULL));
  CHECK(clCompileProgram(second, 1, &s.device, "", 0, NULL, NULL, NULL, NULL));
  cl_program both[] = {first, second};
  cl_program program = clLinkProgram(s.context, 1, &s.device, "", 2, both, NULL, NULL, &error);
  CHECK(error);
  return program;
}

static void linking(struct setting s, struct module m, struct module library) {
  cl_int out[8], error;
  // The function is undefined, so the kernel that calls it is refused.
  cl_program program = create(s, m);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  log_has(s, program, "the kernel `calls` cannot be launched: ");
  log_has(s, program, "undefined function @");
  clCreateKernel(program, "calls", &error);
  EXPECT(error == CL_INVALID_KERNEL_DEFINITION);
  cl_program other = create(s, library);
  cl_program whole = linked(s, program, other);
  many(s, whole);
  run(s, whole, "calls", out, 8);
  for (int i = 0; i < 8; i++) EXPECT(out[i] == 2 * i + 1);
  // A program of a binary, and a function in OpenCL C.
  size_t size;
  CHECK(clGetProgramInfo(whole, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
  unsigned char *binary = malloc(size);
  CHECK(clGetProgramInfo(whole, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
  cl_program again =
      clCreateProgramWithBinary(s.context, 1, &s.device, &size, (const unsigned char **)&binary, NULL, &error);
  CHECK(error);
  CHECK(clBuildProgram(again, 1, &s.device, "", NULL, NULL));
  many(s, again);
  const char *source = "int twice(int x) { return 2 * x + 1; }";
  cl_program text = clCreateProgramWithSource(s.context, 1, &source, NULL, &error);
  CHECK(error);
  cl_program mixed = linked(s, program, text);
  run(s, mixed, "calls", out, 8);
  for (int i = 0; i < 8; i++) EXPECT(out[i] == 2 * i + 2);
  free(binary);
  cl_program all[] = {program, other, whole, again, text, mixed};
  for (int i = 0; i < 6; i++) CHECK(clReleaseProgram(all[i]));
}

static void specialization(struct setting s, struct module m, struct module library) {
  cl_int out[8], value = 11, error;
  cl_float single = 2.5f;
  cl_uchar no = 0;
  cl_program program = create(s, m), other = create(s, library);
  cl_program whole = linked(s, program, other);
  run(s, whole, "specialized", out, 1);
  EXPECT(out[0] == 84 && out[1] == 6 && out[2] == 1);
  CHECK(clReleaseProgram(whole));
  CHECK(clSetProgramSpecializationConstant(program, 7, sizeof value, &value));
  CHECK(clSetProgramSpecializationConstant(program, 9, sizeof single, &single));
  CHECK(clSetProgramSpecializationConstant(program, 10, sizeof no, &no));
  CODE(clSetProgramSpecializationConstant(program, 8, sizeof value, &value), CL_INVALID_SPEC_ID);
  CODE(clSetProgramSpecializationConstant(program, 7, 8, &value), CL_INVALID_VALUE);
  CODE(clSetProgramSpecializationConstant(program, 7, sizeof value, NULL), CL_INVALID_VALUE);
  whole = linked(s, program, other);
  run(s, whole, "specialized", out, 1);
  EXPECT(out[0] == 22 && out[1] == 10 && out[2] == 0);
  const char *source = "kernel void k() {}";
  cl_program text = clCreateProgramWithSource(s.context, 1, &source, NULL, &error);
  CHECK(error);
  CODE(clSetProgramSpecializationConstant(text, 7, sizeof value, &value), CL_INVALID_PROGRAM);
  cl_program all[] = {program, other, whole, text};
  for (int i = 0; i < 4; i++) CHECK(clReleaseProgram(all[i]));
}

// The kernel with a pipe is refused, the others are there.
static void refusal(struct setting s, struct module m) {
  cl_int out[8];
  cl_program program = create(s, m);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  log_has(s, program, "pipes and queues of the device are not supported");
  run(s, program, "plain", out, 8);
  EXPECT(out[7] == 7);
  cl_int error;
  EXPECT(!clCreateKernel(program, "pipes", &error) && error == CL_INVALID_KERNEL_DEFINITION);
  CHECK(clReleaseProgram(program));
}

static cl_kernel kernel(cl_program program, const char *name, int count, void **handles) {
  cl_int error;
  cl_kernel made = clCreateKernel(program, name, &error);
  CHECK(error);
  for (int i = 0; i < count; i++) CHECK(clSetKernelArg(made, i, sizeof(void *), &handles[i]));
  return made;
}

// Images and samplers: texels at whole coordinates, between them, sizes and formats.
static void images(struct setting s, struct module m) {
  enum { W = 8, H = 4 };
  static float from[H][W], to[H][W];
  for (int i = 0; i < W * H; i++) (&from[0][0])[i] = (float)(i * i);
  cl_int error, out[8];
  cl_program program = create(s, m);
  CHECK(clBuildProgram(program, 1, &s.device, "", NULL, NULL));
  cl_image_format red = {CL_R, CL_FLOAT}, bytes = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc plane = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
  cl_image_desc volume = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 3, .image_height = 4, .image_depth = 5};
  cl_image_desc layers = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 3, .image_height = 4, .image_array_size = 6};
  cl_mem a = clCreateImage(s.context, CL_MEM_COPY_HOST_PTR, &red, &plane, from, &error);
  CHECK(error);
  cl_mem b = clCreateImage(s.context, 0, &red, &plane, NULL, &error);
  CHECK(error);
  cl_sampler t = clCreateSampler(s.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
  CHECK(error);
  cl_kernel copy = kernel(program, "copy", 3, (void *[]){a, b, t});
  size_t items[2] = {W, H}, zero[3] = {0}, whole[3] = {W, H, 1}, one = 1, texel[3] = {1, 2, 1}, single[3] = {1, 1, 1};
  CHECK(clEnqueueNDRangeKernel(s.queue, copy, 2, NULL, items, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadImage(s.queue, b, CL_TRUE, zero, whole, 0, 0, to, 0, NULL, NULL));
  // The linear filter repeats: coordinates are x / 8 of the width, so each sample lies between four texels.
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      int v = y * H / 8, left = (x + W - 1) % W, below = (v + H - 1) % H;
      float weight = y * H / 8.0f - v == 0 ? 0.5f : 0;
      float upper = (from[v][left] + from[v][x]) / 2, lower = (from[below][left] + from[below][x]) / 2;
      EXPECT(to[y][x] == 2 * from[y][x] + (lower * weight + upper * (1 - weight)));
    }
  cl_mem c = clCreateImage(s.context, 0, &bytes, &volume, NULL, &error);
  CHECK(error);
  cl_mem d = clCreateImage(s.context, 0, &bytes, &layers, NULL, &error);
  CHECK(error);
  cl_mem answers = clCreateBuffer(s.context, 0, sizeof out, NULL, &error);
  CHECK(error);
  cl_uint color[4] = {77, 0, 0, 0};
  CHECK(clEnqueueFillImage(s.queue, c, color, zero, (size_t[]){3, 4, 5}, 0, NULL, NULL));
  cl_kernel sizes = kernel(program, "sizes", 3, (void *[]){c, d, answers});
  CHECK(clEnqueueNDRangeKernel(s.queue, sizes, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, answers, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  // clang adds OpenCL's base to the order, and not to the type.
  cl_int wanted[8] = {3, 4, 5, 6, CL_UNSIGNED_INT8 - CL_SNORM_INT8, CL_RGBA, 4, 77};
  EXPECT(!memcmp(out, wanted, sizeof out));
  cl_uchar written[4];
  CHECK(clEnqueueReadImage(s.queue, d, CL_TRUE, texel, single, 0, 0, written, 0, NULL, NULL));
  EXPECT(written[0] == 255 && written[1] == 2 && written[2] == 3 && written[3] == 4);
  cl_kernel_arg_access_qualifier access;
  CHECK(clGetKernelArgInfo(sizes, 1, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL));
  EXPECT(access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
  cl_mem all[] = {a, b, c, d, answers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) CHECK(clReleaseMemObject(all[i]));
  CHECK(clReleaseSampler(t));
  CHECK(clReleaseKernel(copy));
  CHECK(clReleaseKernel(sizes));
  CHECK(clReleaseProgram(program));
}

int main(int count, char **paths) {
  EXPECT(count == 4);
  struct setting s = start(0);
  struct module m = load(paths[1]), library = load(paths[2]), image = load(paths[3]);
  queries(s, m);
  malformed(s, m);
  linking(s, m, library);
  specialization(s, m, library);
  refusal(s, image);
  images(s, image);
  end(s);
  return passed();
}
