// Images and samplers of the host's interface: making, reading, writing, copying, filling, mapping, questions, wrong
// arguments. The functions of kernels are tested in crates/opencl/tests/images.
// covers: cl_khr_image2d_from_buffer
#include "check.h"

enum { W = 64, H = 16, D = 4 };

static const char *source =
    "const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "kernel void k(read_only image2d_t a, write_only image2d_t b, sampler_t t) {\n"
    "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "  float4 v = read_imagef(a, s, p) + read_imagef(a, t, (float2)(p.x + 1.5f, p.y + 0.5f));\n"
    "  write_imagef(b, p, v);\n"
    "}\n"
    "kernel void ask(read_only image3d_t a, write_only image2d_array_t b, read_only image1d_buffer_t c, global int *out) {\n"
    "  out[0] = get_image_width(a); out[1] = get_image_height(a); out[2] = get_image_depth(a);\n"
    "  out[3] = get_image_channel_data_type(a) == CLK_UNORM_INT8; out[4] = get_image_channel_order(a) == CLK_RGBA;\n"
    "  out[5] = get_image_dim(a).z; out[6] = get_image_dim(b).y; out[7] = get_image_array_size(b); out[8] = get_image_width(c);\n"
    "}\n"
    "kernel void both(read_write image2d_t a) {\n"
    "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "  write_imagef(a, p, 1 - read_imagef(a, p));\n"
    "}\n"
    "float4 helper(read_only image2d_t a, sampler_t t, float2 p) { return read_imagef(a, t, p); }\n"
    "kernel void divergent(read_only image2d_t a, sampler_t t, global float *out) {\n"
    "  int x = get_global_id(0);\n"
    "  float v = -1;\n"
    "  if (x % 3 == 0) v = helper(a, t, (float2)(x, 0)).x;\n"
    "  for (int i = 0; i < x % 5; i++) v += helper(a, t, (float2)(i, x % 7)).y;\n"
    "  out[x] = v;\n"
    "}\n";

static const cl_image_format bytes = {CL_RGBA, CL_UNORM_INT8}, floats = {CL_RGBA, CL_FLOAT}, reds = {CL_R, CL_FLOAT};
static const size_t zero[3];

static cl_mem image(struct setting s, cl_mem_flags flags, cl_image_format format, cl_image_desc shape, void *host) {
  cl_int error;
  cl_mem made = clCreateImage(s.context, flags, &format, &shape, host, &error);
  CHECK(error);
  return made;
}

static void refused(struct setting s, cl_mem_flags flags, cl_image_format format, cl_image_desc shape, void *host, cl_int code) {
  cl_int error;
  EXPECT(!clCreateImage(s.context, flags, &format, &shape, host, &error));
  CODE(error, code);
}

static size_t number(cl_mem of, cl_image_info name) {
  size_t value = ~(size_t)0;
  CHECK(clGetImageInfo(of, name, sizeof value, &value, NULL));
  return value;
}

static cl_image_desc plane(void) {
  return (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
}

static void kernels(struct setting s, cl_program p) {
  cl_int e;
  static float out[H][W][4], line[W];
  static unsigned char in[H][W][4];
  for (int i = 0; i < H * W * 4; i++) (&in[0][0][0])[i] = (unsigned char)(i * 7);
  cl_mem a = image(s, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, plane(), in);
  cl_mem b = image(s, CL_MEM_WRITE_ONLY, floats, plane(), NULL);
  cl_sampler t = clCreateSampler(s.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &e);
  CHECK(e);
  cl_kernel k = clCreateKernel(p, "k", &e);
  CHECK(e);
  // Arguments of other kinds, accesses and contexts.
  cl_mem buffer = clCreateBuffer(s.context, 0, 4096, NULL, &e);
  CHECK(e);
  cl_mem line_image = image(s, 0, bytes, (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 8}, NULL);
  CODE(clSetKernelArg(k, 0, sizeof a, NULL), CL_INVALID_ARG_VALUE);
  CODE(clSetKernelArg(k, 0, 4, &a), CL_INVALID_ARG_SIZE);
  CODE(clSetKernelArg(k, 0, sizeof b, &b), CL_INVALID_ARG_VALUE);
  CODE(clSetKernelArg(k, 1, sizeof a, &a), CL_INVALID_ARG_VALUE);
  CODE(clSetKernelArg(k, 0, sizeof line_image, &line_image), CL_INVALID_ARG_VALUE);
  CODE(clSetKernelArg(k, 0, sizeof buffer, &buffer), CL_INVALID_MEM_OBJECT);
  CODE(clSetKernelArg(k, 0, sizeof t, &t), CL_INVALID_MEM_OBJECT);
  CODE(clSetKernelArg(k, 2, sizeof a, &a), CL_INVALID_SAMPLER);
  CODE(clSetKernelArg(k, 2, sizeof t, NULL), CL_INVALID_SAMPLER);
  CODE(clSetKernelArg(k, 2, 4, &t), CL_INVALID_ARG_SIZE);
  CODE(clSetKernelArgSVMPointer(k, 0, out), CL_INVALID_ARG_VALUE);
  size_t n[2] = {W, H}, whole[3] = {W, H, 1};
  CODE(clEnqueueNDRangeKernel(s.queue, k, 2, NULL, n, NULL, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CHECK(clSetKernelArg(k, 0, sizeof a, &a));
  CHECK(clSetKernelArg(k, 1, sizeof b, &b));
  CHECK(clSetKernelArg(k, 2, sizeof t, &t));
  CHECK(clEnqueueNDRangeKernel(s.queue, k, 2, NULL, n, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadImage(s.queue, b, CL_TRUE, zero, whole, 0, 0, out, 0, NULL, NULL));
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      for (int c = 0; c < 4; c++) {
        float w = in[y][x][c] * (1 / 255.f) + (x == W - 1 ? 0 : in[y][x + 1][c] * (1 / 255.f));
        EXPECT(out[y][x][c] == w);
      }
  // Reads under masks, in a function that is called.
  cl_kernel d = clCreateKernel(p, "divergent", &e);
  CHECK(e);
  CHECK(clSetKernelArg(d, 0, sizeof a, &a));
  CHECK(clSetKernelArg(d, 1, sizeof t, &t));
  CHECK(clSetKernelArg(d, 2, sizeof buffer, &buffer));
  CHECK(clEnqueueNDRangeKernel(s.queue, d, 1, NULL, n, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, buffer, CL_TRUE, 0, sizeof line, line, 0, NULL, NULL));
  for (int x = 0; x < W; x++) {
    float w = x % 3 ? -1 : in[0][x][0] * (1 / 255.f);
    for (int i = 0; i < x % 5; i++) w += in[x % 7][i][1] * (1 / 255.f);
    EXPECT(line[x] == w);
  }
  // Parameters of the kernel as its source declares them.
  cl_kernel_arg_address_qualifier address;
  cl_kernel_arg_access_qualifier access;
  char type[32];
  CHECK(clGetKernelArgInfo(k, 1, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, NULL));
  CHECK(clGetKernelArgInfo(k, 1, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL));
  CHECK(clGetKernelArgInfo(k, 1, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL));
  EXPECT(address == CL_KERNEL_ARG_ADDRESS_GLOBAL && access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY && !strcmp(type, "image2d_t"));
  CHECK(clGetKernelArgInfo(k, 2, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL));
  CHECK(clGetKernelArgInfo(k, 2, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, NULL));
  EXPECT(!strcmp(type, "sampler_t") && address == CL_KERNEL_ARG_ADDRESS_PRIVATE);
  // An image that was released is none, and the sampler's bits were copied.
  CHECK(clReleaseSampler(t));
  CHECK(clReleaseMemObject(a));
  CODE(clEnqueueNDRangeKernel(s.queue, k, 2, NULL, n, NULL, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  // Reading and writing the same image.
  cl_kernel both = clCreateKernel(p, "both", &e);
  CHECK(e);
  CODE(clSetKernelArg(both, 0, sizeof b, &b), CL_INVALID_ARG_VALUE);
  cl_mem c = image(s, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, floats, plane(), out);
  CHECK(clSetKernelArg(both, 0, sizeof c, &c));
  CHECK(clEnqueueNDRangeKernel(s.queue, both, 2, NULL, n, NULL, 0, NULL, NULL));
  float first = out[3][5][2];
  CHECK(clEnqueueReadImage(s.queue, c, CL_TRUE, zero, whole, 0, 0, out, 0, NULL, NULL));
  EXPECT(out[3][5][2] == 1 - first);
  // Sizes and formats in kernels.
  cl_kernel ask = clCreateKernel(p, "ask", &e);
  CHECK(e);
  cl_image_desc volume = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 5, .image_height = 6, .image_depth = 7};
  cl_image_desc layers = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 5, .image_height = 6, .image_array_size = 3};
  cl_image_desc of_buffer = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 9, .buffer = buffer};
  cl_mem v = image(s, 0, bytes, volume, NULL), l = image(s, 0, bytes, layers, NULL), o = image(s, 0, bytes, of_buffer, NULL);
  cl_mem answers = clCreateBuffer(s.context, 0, 64, NULL, &e);
  CHECK(e);
  CHECK(clSetKernelArg(ask, 0, sizeof v, &v));
  CHECK(clSetKernelArg(ask, 1, sizeof l, &l));
  CHECK(clSetKernelArg(ask, 2, sizeof o, &o));
  CHECK(clSetKernelArg(ask, 3, sizeof answers, &answers));
  size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(s.queue, ask, 1, NULL, &one, NULL, 0, NULL, NULL));
  cl_int got[9], wanted[9] = {5, 6, 7, 1, 1, 7, 6, 3, 9};
  CHECK(clEnqueueReadBuffer(s.queue, answers, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  EXPECT(!memcmp(got, wanted, sizeof got));
  EXPECT(number(l, CL_IMAGE_ARRAY_SIZE) == 3 && number(l, CL_IMAGE_DEPTH) == 0 && number(l, CL_IMAGE_SLICE_PITCH) == 120);
  EXPECT(number(v, CL_IMAGE_DEPTH) == 7 && number(v, CL_IMAGE_ARRAY_SIZE) == 0 && number(o, CL_IMAGE_HEIGHT) == 0);
  cl_mem parent;
  CHECK(clGetImageInfo(o, CL_IMAGE_BUFFER, sizeof parent, &parent, NULL));
  EXPECT(parent == buffer);
  cl_mem all[] = {b, buffer, line_image, c, v, l, o, answers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) CHECK(clReleaseMemObject(all[i]));
  cl_kernel made[] = {k, d, both, ask};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) CHECK(clReleaseKernel(made[i]));
}

static int gone;
static void CL_CALLBACK count(cl_mem memory, void *data) { (void)memory, gone += *(int *)data; }

static void commands(struct setting s) {
  cl_int e;
  static float host[D][H][W + 3], back[D][H][W], more[D][H + 2][W + 5];
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W + 3; x++) host[z][y][x] = (float)(10000 * z + 100 * y + x);
  size_t row = sizeof host[0][0], slice = sizeof host[0];
  cl_image_desc volume = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = W, .image_height = H, .image_depth = D};
  cl_image_desc pitched = volume;
  pitched.image_row_pitch = row, pitched.image_slice_pitch = slice;
  cl_mem copied = image(s, CL_MEM_COPY_HOST_PTR, reds, pitched, host), used = image(s, CL_MEM_USE_HOST_PTR, reds, pitched, host);
  EXPECT(number(copied, CL_IMAGE_ROW_PITCH) == 4 * W && number(copied, CL_IMAGE_SLICE_PITCH) == 4 * W * H);
  EXPECT(number(used, CL_IMAGE_ROW_PITCH) == row && number(used, CL_IMAGE_SLICE_PITCH) == slice && number(used, CL_IMAGE_ELEMENT_SIZE) == 4);
  size_t whole[3] = {W, H, D}, origin[3] = {3, 2, 1}, region[3] = {7, 5, 2}, far[3] = {W - 6, 0, 0};
  for (int which = 0; which < 2; which++) {
    memset(back, 0, sizeof back);
    CHECK(clEnqueueReadImage(s.queue, which ? used : copied, CL_TRUE, zero, whole, 0, 0, back, 0, NULL, NULL));
    for (int z = 0; z < D; z++)
      for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) EXPECT(back[z][y][x] == host[z][y][x]);
  }
  // Regions, with pitches of the host.
  CHECK(clEnqueueReadImage(s.queue, copied, CL_TRUE, origin, region, sizeof more[0][0], sizeof more[0], more, 0, NULL, NULL));
  EXPECT(more[1][4][6] == host[2][6][9] && more[0][0][0] == host[1][2][3] && more[0][0][7] == 0 && more[1][5][0] == 0);
  more[1][4][6] = -5;
  CHECK(clEnqueueWriteImage(s.queue, copied, CL_TRUE, origin, region, sizeof more[0][0], sizeof more[0], more, 0, NULL, NULL));
  cl_float minus[4] = {-1, 2, 3, 4};
  CHECK(clEnqueueFillImage(s.queue, copied, minus, far, region, 0, NULL, NULL) == CL_INVALID_VALUE ? CL_SUCCESS : 1);
  CHECK(clEnqueueFillImage(s.queue, copied, minus, zero, region, 0, NULL, NULL));
  CHECK(clEnqueueReadImage(s.queue, copied, CL_TRUE, zero, whole, 0, 0, back, 0, NULL, NULL));
  EXPECT(back[2][6][9] == -5 && back[0][0][0] == -1 && back[1][4][6] == -1 && back[1][4][7] == host[1][4][7] && back[2][0][0] == host[2][0][0]);
  // Copies between images, within one, and to and from buffers.
  size_t apart[3] = {30, 0, 0}, near[3] = {4, 2, 1};
  CHECK(clEnqueueCopyImage(s.queue, used, copied, origin, apart, region, 0, NULL, NULL));
  CHECK(clEnqueueCopyImage(s.queue, copied, copied, apart, zero, region, 0, NULL, NULL));
  CODE(clEnqueueCopyImage(s.queue, copied, copied, origin, near, region, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CODE(clEnqueueCopyImage(s.queue, copied, copied, origin, far, region, 0, NULL, NULL), CL_INVALID_VALUE);
  cl_mem other = image(s, 0, bytes, volume, NULL);
  CODE(clEnqueueCopyImage(s.queue, copied, other, zero, zero, region, 0, NULL, NULL), CL_IMAGE_FORMAT_MISMATCH);
  cl_mem buffer = clCreateBuffer(s.context, 0, 4 * 7 * 5 * 2 + 8, NULL, &e);
  CHECK(e);
  CHECK(clEnqueueCopyImageToBuffer(s.queue, copied, buffer, zero, region, 8, 0, NULL, NULL));
  CODE(clEnqueueCopyImageToBuffer(s.queue, copied, buffer, zero, region, 12, 0, NULL, NULL), CL_INVALID_VALUE);
  CHECK(clEnqueueCopyBufferToImage(s.queue, buffer, copied, 8, near, region, 0, NULL, NULL));
  CODE(clEnqueueCopyBufferToImage(s.queue, copied, buffer, 8, near, region, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
  CODE(clEnqueueReadBuffer(s.queue, copied, CL_TRUE, 0, 4, back, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
  CODE(clEnqueueReadImage(s.queue, buffer, CL_TRUE, zero, region, 0, 0, back, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
  CHECK(clEnqueueReadImage(s.queue, copied, CL_TRUE, near, region, 0, 0, back, 0, NULL, NULL));
  EXPECT((&back[0][0][0])[7 * 5 * 2 - 1] == host[2][6][9] && back[0][0][0] == host[1][2][3]);
  // Maps lead into the image itself.
  size_t row_pitch = 0, slice_pitch = 0;
  float *map = clEnqueueMapImage(s.queue, used, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &row_pitch, &slice_pitch, 0, NULL, NULL, &e);
  CHECK(e);
  EXPECT(map == &host[1][2][3] && row_pitch == row && slice_pitch == slice);
  CHECK(clEnqueueUnmapMemObject(s.queue, used, map, 0, NULL, NULL));
  clEnqueueMapImage(s.queue, used, CL_TRUE, CL_MAP_READ, origin, region, &row_pitch, NULL, 0, NULL, NULL, &e);
  CODE(e, CL_INVALID_VALUE);
  CODE(clEnqueueReadImage(s.queue, copied, CL_TRUE, zero, whole, 4 * W - 4, 0, back, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueReadImage(s.queue, copied, CL_TRUE, zero, whole, 0, 4 * W, back, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueReadImage(s.queue, copied, CL_TRUE, zero, whole, 0, 0, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueReadImage(s.queue, copied, CL_TRUE, NULL, whole, 0, 0, back, 0, NULL, NULL), CL_INVALID_VALUE);
  cl_mem secret = image(s, CL_MEM_HOST_NO_ACCESS, reds, volume, NULL);
  CODE(clEnqueueReadImage(s.queue, secret, CL_TRUE, zero, whole, 0, 0, back, 0, NULL, NULL), CL_INVALID_OPERATION);
  // Events: a write that waits, and a command type.
  cl_event gate = clCreateUserEvent(s.context, &e), done;
  CHECK(e);
  CHECK(clEnqueueWriteImage(s.queue, copied, CL_FALSE, zero, whole, row, slice, host, 1, &gate, &done));
  cl_command_type type;
  CHECK(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  EXPECT(type == CL_COMMAND_WRITE_IMAGE);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clWaitForEvents(1, &done));
  CHECK(clReleaseEvent(gate));
  CHECK(clReleaseEvent(done));
  int one = 1, ten = 10;
  CHECK(clSetMemObjectDestructorCallback(copied, count, &one));
  CHECK(clSetMemObjectDestructorCallback(copied, count, &ten));
  CHECK(clFinish(s.queue));
  cl_mem all[] = {copied, used, other, buffer, secret};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) CHECK(clReleaseMemObject(all[i]));
  EXPECT(gone == 11);
  // Arrays of lines: regions have layers in the second dimension.
  static float lines[3][10], got[3][10];
  for (int i = 0; i < 30; i++) (&lines[0][0])[i] = (float)i;
  cl_image_desc array = {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = 8, .image_array_size = 3, .image_row_pitch = 40, .image_slice_pitch = 40};
  cl_mem many = image(s, CL_MEM_COPY_HOST_PTR, reds, array, lines);
  size_t layers[3] = {8, 3, 1};
  CHECK(clEnqueueReadImage(s.queue, many, CL_TRUE, zero, layers, 0, 40, got, 0, NULL, NULL));
  EXPECT(got[2][7] == 27 && got[2][8] == 0 && got[1][0] == 10 && number(many, CL_IMAGE_SLICE_PITCH) == 32);
  CHECK(clReleaseMemObject(many));
}

static void making(struct setting s) {
  cl_int e;
  static float host[W * H * 4];
  cl_image_format format = bytes;
  cl_image_desc shape = plane();
  EXPECT(!clCreateImage(s.context, 0, NULL, &shape, NULL, &e));
  CODE(e, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  EXPECT(!clCreateImage(s.context, 0, &format, NULL, NULL, &e));
  CODE(e, CL_INVALID_IMAGE_DESCRIPTOR);
  EXPECT(!clCreateImage(NULL, 0, &format, &shape, NULL, &e));
  CODE(e, CL_INVALID_CONTEXT);
  refused(s, 1 << 20, bytes, plane(), NULL, CL_INVALID_VALUE);
  refused(s, CL_MEM_USE_HOST_PTR, bytes, plane(), NULL, CL_INVALID_HOST_PTR);
  refused(s, 0, bytes, plane(), host, CL_INVALID_HOST_PTR);
  refused(s, 0, (cl_image_format){CL_RGBA, CL_UNORM_SHORT_565}, plane(), NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  refused(s, 0, (cl_image_format){CL_RGBA, 7}, plane(), NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  refused(s, 0, (cl_image_format){CL_sRGB, CL_UNORM_INT8}, plane(), NULL, CL_IMAGE_FORMAT_NOT_SUPPORTED);
  shape.image_width = 0;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_SIZE);
  shape.image_width = 1 << 20;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_SIZE);
  shape = plane(), shape.image_row_pitch = 4 * W;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
  shape.image_row_pitch = 4 * W - 4;
  refused(s, CL_MEM_USE_HOST_PTR, bytes, shape, host, CL_INVALID_IMAGE_DESCRIPTOR);
  shape.image_row_pitch = 4 * W + 1;
  refused(s, CL_MEM_USE_HOST_PTR, bytes, shape, host, CL_INVALID_IMAGE_DESCRIPTOR);
  shape = plane(), shape.num_mip_levels = 2;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
  shape = plane(), shape.image_type = CL_MEM_OBJECT_BUFFER;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
  shape = plane(), shape.image_type = CL_MEM_OBJECT_IMAGE3D, shape.image_depth = 2;
  refused(s, 0, (cl_image_format){CL_DEPTH, CL_FLOAT}, shape, NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  // Those of OpenCL 1.0.
  cl_mem old = clCreateImage2D(s.context, CL_MEM_USE_HOST_PTR, &format, W, H, 0, host, &e);
  CHECK(e);
  CHECK(clReleaseMemObject(old));
  old = clCreateImage3D(s.context, 0, &format, W, H, 3, 0, 0, NULL, &e);
  CHECK(e);
  EXPECT(number(old, CL_IMAGE_DEPTH) == 3);
  CHECK(clReleaseMemObject(old));
  EXPECT(!clCreateImage2D(s.context, 0, &format, W, 0, 0, NULL, &e));
  CODE(e, CL_INVALID_IMAGE_SIZE);
  EXPECT(!clCreateImage2D(s.context, CL_MEM_USE_HOST_PTR, &format, W, H, 3, host, &e));
  CODE(e, CL_INVALID_IMAGE_SIZE);
  // In the memory of buffers and images.
  cl_mem_properties none[] = {0}, some[] = {1, 2, 0};
  cl_mem buffer = clCreateBuffer(s.context, CL_MEM_READ_ONLY, 4 * W * H, NULL, &e);
  CHECK(e);
  shape = plane(), shape.mem_object = buffer;
  cl_mem view = clCreateImageWithProperties(s.context, none, 0, &format, &shape, NULL, &e);
  CHECK(e);
  EXPECT(!clCreateImageWithProperties(s.context, some, 0, &format, &shape, NULL, &e));
  CODE(e, CL_INVALID_PROPERTY);
  cl_mem parent;
  cl_mem_flags flags;
  cl_mem_object_type type;
  CHECK(clGetMemObjectInfo(view, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
  CHECK(clGetMemObjectInfo(view, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
  CHECK(clGetMemObjectInfo(view, CL_MEM_TYPE, sizeof type, &type, NULL));
  EXPECT(parent == buffer && flags == CL_MEM_READ_ONLY && type == CL_MEM_OBJECT_IMAGE2D);
  refused(s, CL_MEM_WRITE_ONLY, bytes, shape, NULL, CL_INVALID_VALUE);
  refused(s, 0, bytes, shape, host, CL_INVALID_HOST_PTR);
  refused(s, 0, floats, shape, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
  cl_uint fill = 0xff804000;
  CHECK(clEnqueueFillBuffer(s.queue, buffer, &fill, 4, 0, 4 * W * H, 0, NULL, NULL));
  shape = plane(), shape.mem_object = view;
  cl_mem curved = image(s, 0, (cl_image_format){CL_sRGBA, CL_UNORM_INT8}, shape, NULL);
  cl_uint texel;
  size_t single[3] = {1, 1, 1}, last[3] = {W - 1, H - 1, 0};
  CHECK(clEnqueueReadImage(s.queue, curved, CL_TRUE, last, single, 0, 0, &texel, 0, NULL, NULL));
  EXPECT(texel == fill);
  refused(s, 0, floats, shape, NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  shape = (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = W * H + 1, .buffer = buffer};
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_SIZE);
  shape.buffer = NULL;
  refused(s, 0, bytes, shape, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
  cl_buffer_region part = {0, 128};
  EXPECT(!clCreateSubBuffer(view, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &e));
  CODE(e, CL_INVALID_MEM_OBJECT);
  CODE(clGetImageInfo(buffer, CL_IMAGE_WIDTH, 8, &part, NULL), CL_INVALID_MEM_OBJECT);
  CODE(clGetImageInfo(view, 0x11ff, 8, &part, NULL), CL_INVALID_VALUE);
  cl_uint levels = 9;
  CHECK(clGetImageInfo(view, CL_IMAGE_NUM_MIP_LEVELS, sizeof levels, &levels, NULL));
  EXPECT(levels == 0);
  CHECK(clFinish(s.queue));
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseMemObject(view));
  CHECK(clReleaseMemObject(curved));
}

static void formats(struct setting s) {
  cl_image_format list[256];
  cl_uint count, fewer;
  CHECK(clGetSupportedImageFormats(s.context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 256, list, &count));
  CHECK(clGetSupportedImageFormats(s.context, CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_OBJECT_IMAGE3D, 0, NULL, &fewer));
  EXPECT(count > fewer && fewer > 80 && count < 256);
  // Those that the specification requires of OpenCL 3.0 with images.
  cl_channel_order orders[] = {CL_R, CL_RG, CL_RGBA};
  cl_channel_type types[] = {CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_SIGNED_INT8, CL_SIGNED_INT16,
                             CL_SIGNED_INT32, CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32, CL_HALF_FLOAT, CL_FLOAT};
  cl_image_format required[3 * 12 + 4] = {{CL_BGRA, CL_UNORM_INT8}, {CL_sRGBA, CL_UNORM_INT8}, {CL_DEPTH, CL_UNORM_INT16}, {CL_DEPTH, CL_FLOAT}};
  for (int i = 0; i < 36; i++) required[4 + i] = (cl_image_format){orders[i / 12], types[i % 12]};
  for (int i = 0; i < 40; i++) {
    int is_there = 0;
    for (cl_uint k = 0; k < count; k++) is_there |= !memcmp(&list[k], &required[i], sizeof *list);
    EXPECT(is_there);
  }
  CODE(clGetSupportedImageFormats(s.context, 0, CL_MEM_OBJECT_BUFFER, 0, NULL, &count), CL_INVALID_VALUE);
  CODE(clGetSupportedImageFormats(s.context, 0, CL_MEM_OBJECT_IMAGE2D, 0, list, &count), CL_INVALID_VALUE);
  CODE(clGetSupportedImageFormats(s.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count), CL_INVALID_VALUE);
}

static void samplers(struct setting s) {
  cl_int e;
  cl_sampler_properties list[] = {CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_REPEAT, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0}, got[8];
  cl_sampler made = clCreateSamplerWithProperties(s.context, list, &e);
  CHECK(e);
  size_t size;
  CHECK(clGetSamplerInfo(made, CL_SAMPLER_PROPERTIES, sizeof got, got, &size));
  EXPECT(size == sizeof list && !memcmp(got, list, size));
  cl_uint value;
  CHECK(clGetSamplerInfo(made, CL_SAMPLER_ADDRESSING_MODE, sizeof value, &value, NULL));
  EXPECT(value == CL_ADDRESS_REPEAT);
  CHECK(clGetSamplerInfo(made, CL_SAMPLER_FILTER_MODE, sizeof value, &value, NULL));
  EXPECT(value == CL_FILTER_LINEAR);
  CHECK(clGetSamplerInfo(made, CL_SAMPLER_NORMALIZED_COORDS, sizeof value, &value, NULL));
  EXPECT(value == CL_TRUE);
  CHECK(clRetainSampler(made));
  CHECK(clGetSamplerInfo(made, CL_SAMPLER_REFERENCE_COUNT, sizeof value, &value, NULL));
  EXPECT(value == 2);
  CHECK(clReleaseSampler(made));
  CHECK(clReleaseSampler(made));
  CODE(clReleaseSampler(made), CL_INVALID_SAMPLER);
  CODE(clGetSamplerInfo(made, CL_SAMPLER_CONTEXT, 8, got, NULL), CL_INVALID_SAMPLER);
  // Coordinates that are not normalized do not repeat.
  EXPECT(!clCreateSampler(s.context, CL_FALSE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST, &e));
  CODE(e, CL_INVALID_VALUE);
  EXPECT(!clCreateSampler(s.context, CL_TRUE, 0x1135, CL_FILTER_NEAREST, &e));
  CODE(e, CL_INVALID_VALUE);
  EXPECT(!clCreateSampler(s.context, CL_TRUE, CL_ADDRESS_CLAMP, 0x1142, &e));
  CODE(e, CL_INVALID_VALUE);
  list[2] = CL_SAMPLER_ADDRESSING_MODE;
  EXPECT(!clCreateSamplerWithProperties(s.context, list, &e));
  CODE(e, CL_INVALID_VALUE);
}

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0 -cl-kernel-arg-info");
  kernels(s, program);
  commands(s);
  making(s);
  formats(s);
  samplers(s);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
