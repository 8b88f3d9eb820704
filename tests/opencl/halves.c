// Halves in vectors, groups, arguments and images; `math.c` has their arithmetic and functions.
// covers: cl_khr_fp16
#define _GNU_SOURCE
#include "check.h"
#include <CL/cl_ext.h>
#include <math.h>

typedef cl_ushort half;

static double number(half bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent   ? ldexp(fraction + 1024, exponent - 25)
                             : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

// The nearest half, ties to even.
static half rounded(double x) {
  half sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(x);
  if (isnan(x)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent;
  frexp(size, &exponent);
  int unit = size == 0 || exponent < -13 ? -24 : exponent - 11;
  double steps = rint(ldexp(size, -unit));
  return sign | (unit == -24 ? (half)steps : (half)(((unit + 24) << 10) + steps));
}

static cl_mem buffer(struct setting s, size_t bytes, const void *from) {
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, from ? CL_MEM_COPY_HOST_PTR : 0, bytes, (void *)from, &error);
  CHECK(error);
  return memory;
}

static void launch(struct setting s, cl_program program, const char *name, size_t items, size_t group, cl_mem a, cl_mem b,
                   cl_mem out) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof a, &a));
  CHECK(clSetKernelArg(kernel, 1, sizeof b, &b));
  CHECK(clSetKernelArg(kernel, 2, sizeof out, &out));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, group ? &group : NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  CHECK(clReleaseKernel(kernel));
}

static const char *more =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#if !defined cl_khr_fp16\n"
    "#error fp16 is missing\n"
    "#endif\n"
    "constant half third = 1.0h / 3.0h;\n"
    "typedef struct { char c; half h; half3 v; } mixed;\n"
    // Vectors of all widths, in memory with and without gaps.
    "kernel void vectors(global const half *a, global const half *b, global half *out) {\n"
    "  size_t i = get_global_id(0);\n"
    "  half16 v = vload16(i, a) * (half)2 + (half16)third;\n"
    "  half3 w = vload3(i, b);\n"
    "  vstore8(v.hi, 2 * i + 1, out);\n"
    "  vstore4(v.s0123, 4 * i, out);\n"
    "  vstore2(v.s45, 8 * i + 2, out);\n"
    "  out[16 * i + 6] = dot(w, w);\n"
    "  mixed m = {1, w.x, w.zyx};\n"
    "  out[16 * i + 7] = m.v.x + m.h;\n"
    "}\n"
    "kernel void moves(global const half *a, global const half *b, global half *out) {\n"
    "  size_t i = get_global_id(0);\n"
    "  local half copied[64];\n"
    "  prefetch(b, 64);\n"
    "  event_t e = async_work_group_strided_copy(copied, a, 64, 3, 0);\n"
    "  wait_group_events(1, &e);\n"
    "  half8 v = shuffle((half8)(vload2(i, a), vload2(0, b), vload4(i, a)), (ushort8)(7, 6, 5, 4, 3, 2, 1, 0));\n"
    "  half4 w = shuffle2(vload8(0, a).lo, vload8(0, b).hi, (ushort4)(0, 5, 2, 7));\n"
    "  vstore16((half16)(v, w, w), i, out);\n"
    "  vstore3(w.zyx, 0, out + 16 * i + 12);\n"
    "  out[16 * i + 15] = copied[63 - i] + (half)vec_step(half3);\n"
    "}\n"
    // All work-items of a group; sums of halves up to 2048 are exact.
    "kernel void groups(global const half *a, global const half *b, global half *out) {\n"
    "  size_t i = get_global_id(0), l = get_local_id(0);\n"
    "  local half room[64], copied[64];\n"
    "  half x = (half)(int)(l % 7);\n"
    "  room[l] = x;\n"
    "  event_t e = async_work_group_copy(copied, a + get_group_id(0) * 64, 64, 0);\n"
    "  wait_group_events(1, &e);\n"
    "  out[8 * i] = work_group_reduce_add(x);\n"
    "  out[8 * i + 1] = work_group_scan_inclusive_max(x);\n"
    "  out[8 * i + 2] = work_group_broadcast(x, 5);\n"
    "  out[8 * i + 3] = room[63 - l];\n"
    "  out[8 * i + 4] = copied[63 - l];\n"
    "  out[8 * i + 5] = sub_group_reduce_max(x) - sub_group_broadcast(x, 1);\n"
    "  half sum = sub_group_scan_inclusive_add(x), before = sub_group_scan_exclusive_add(x);\n"
    "  out[8 * i + 6] = sum - before;\n"
    "  out[8 * i + 7] = sub_group_shuffle_xor(x, 1);\n"
    "}\n"
    "kernel void value(half by, half4 v, global half *out) {\n"
    "  out[0] = by * v.x + v.w;\n"
    "  out[1] = convert_half_rtz(70000);\n"
    "  out[2] = convert_half_rtp(1e-9f);\n"
    "  out[3] = (half)convert_uchar_sat(by * (half)1000);\n"
    "  printf(\"%.2f %v4hg\\n\", by, v);\n"
    "}\n"
    "kernel void image(read_only image2d_t from, write_only image2d_t to, global half *out) {\n"
    "  int2 at = (int2)(get_global_id(0), 0);\n"
    "  half4 texel = read_imageh(from, at);\n"
    "  write_imageh(to, at, texel + (half)1);\n"
    "  out[get_global_id(0)] = texel.y;\n"
    "}\n";

static void vectors(struct setting s, cl_program program) {
  static half a[64 * 16], b[64 * 3 + 1], out[64 * 16];
  for (int i = 0; i < 64 * 16; i++) a[i] = rounded(i % 100);
  for (int i = 0; i < 64 * 3; i++) b[i] = rounded(i % 5 + 1);
  cl_mem from = buffer(s, sizeof a, a), other = buffer(s, sizeof b, b), to = buffer(s, sizeof out, NULL);
  launch(s, program, "vectors", 64, 0, from, other, to);
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  double third = number(rounded(1 / 3.0));
  for (int i = 0; i < 64; i++) {
    double w[3] = {number(b[3 * i]), number(b[3 * i + 1]), number(b[3 * i + 2])};
    for (int k = 0; k < 16; k++) {
      if (k == 6 || k == 7) continue;
      EXPECT(out[16 * i + k] == rounded(number(a[16 * i + k]) * 2 + third));
    }
    EXPECT(out[16 * i + 6] == rounded(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
    EXPECT(out[16 * i + 7] == rounded(w[2] + w[0]));
  }
  launch(s, program, "moves", 64, 64, from, other, to);
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  for (int i = 0; i < 64; i++) {
    half w[4] = {a[0], b[5], a[2], b[7]}, v[8] = {a[4 * i + 3], a[4 * i + 2], a[4 * i + 1], a[4 * i], b[1], b[0], a[2 * i + 1], a[2 * i]};
    EXPECT(!memcmp(out + 16 * i, v, sizeof v) && !memcmp(out + 16 * i + 8, w, sizeof w));
    EXPECT(out[16 * i + 12] == w[2] && out[16 * i + 13] == w[1] && out[16 * i + 14] == w[0]);
    EXPECT(number(out[16 * i + 15]) == number(a[3 * (63 - i)]) + 4);
  }
  launch(s, program, "groups", 128, 64, from, other, to);
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  double total = 0;
  for (int l = 0; l < 64; l++) total += l % 7;
  for (int i = 0; i < 128; i++) {
    int l = i % 64;
    EXPECT(number(out[8 * i]) == total);
    EXPECT(number(out[8 * i + 1]) == (l < 6 ? l : 6));
    EXPECT(number(out[8 * i + 2]) == 5);
    EXPECT(number(out[8 * i + 3]) == (63 - l) % 7);
    EXPECT(out[8 * i + 4] == a[i / 64 * 64 + 63 - l]);
    EXPECT(number(out[8 * i + 6]) == l % 7);
    EXPECT(number(out[8 * i + 7]) == (l ^ 1) % 7);
  }
  CHECK(clReleaseMemObject(from));
  CHECK(clReleaseMemObject(other));
  CHECK(clReleaseMemObject(to));
}

static void values(struct setting s, cl_program program) {
  cl_int error;
  half by = rounded(1.5), v[4] = {rounded(2), rounded(-3), rounded(4), rounded(0.25)}, out[4];
  cl_mem to = buffer(s, sizeof out, NULL);
  cl_kernel kernel = clCreateKernel(program, "value", &error);
  CHECK(error);
  CODE(clSetKernelArg(kernel, 0, 4, v), CL_INVALID_ARG_SIZE);
  CHECK(clSetKernelArg(kernel, 0, sizeof by, &by));
  CHECK(clSetKernelArg(kernel, 1, sizeof v, v));
  CHECK(clSetKernelArg(kernel, 2, sizeof to, &to));
  size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  EXPECT(number(out[0]) == 3.25 && out[1] == 0x7bff && out[2] == 1 && number(out[3]) == 255);
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseMemObject(to));
}

static void images(struct setting s, cl_program program) {
  cl_int error;
  half texels[16][4], made[16][4], out[16];
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < 4; k++) texels[i][k] = rounded(i * 4 + k);
  cl_image_format format = {CL_RGBA, CL_HALF_FLOAT};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 1};
  cl_mem from = clCreateImage(s.context, CL_MEM_COPY_HOST_PTR, &format, &shape, texels, &error);
  CHECK(error);
  cl_mem to = clCreateImage(s.context, 0, &format, &shape, NULL, &error);
  CHECK(error);
  cl_mem numbers = buffer(s, sizeof out, NULL);
  launch(s, program, "image", 16, 0, from, to, numbers);
  size_t origin[3] = {0}, region[3] = {16, 1, 1};
  CHECK(clEnqueueReadImage(s.queue, to, CL_TRUE, origin, region, 0, 0, made, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, numbers, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  for (int i = 0; i < 16; i++) {
    EXPECT(out[i] == texels[i][1]);
    for (int k = 0; k < 4; k++) EXPECT(number(made[i][k]) == i * 4 + k + 1);
  }
  CHECK(clReleaseMemObject(from));
  CHECK(clReleaseMemObject(to));
  CHECK(clReleaseMemObject(numbers));
}

int main(void) {
  struct setting s = start(0);
  char extensions[4096];
  cl_device_fp_config config;
  cl_uint width;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
  EXPECT(strstr(extensions, "cl_khr_fp16"));
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_HALF_FP_CONFIG, sizeof config, &config, NULL));
  EXPECT(config & CL_FP_ROUND_TO_NEAREST && config & CL_FP_INF_NAN && config & CL_FP_DENORM);
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, sizeof width, &width, NULL));
  EXPECT(width > 0);
  cl_program program = build(s, more, "-cl-std=CL3.0");
  vectors(s, program);
  values(s, program);
  images(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
