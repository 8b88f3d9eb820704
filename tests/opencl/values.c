// Values of builtin functions, bit by bit.
// covers: cl_khr_fp64
#include "check.h"
#include <math.h>

static const char *source =
    "kernel void floats(global const float *x, global const float *y, global float *out, global int *q) {\n"
    "  size_t i = get_global_id(0); int r;\n"
    "  out[3 * i] = remainder(x[i], y[i]); out[3 * i + 1] = remquo(x[i], y[i], &r); out[3 * i + 2] = atan2pi(x[i], y[i]); q[i] = r;\n"
    "}\n"
    "kernel void doubles(global const double *x, global const double *y, global double *out, global int *q) {\n"
    "  size_t i = get_global_id(0); int r;\n"
    "  out[3 * i] = remainder(x[i], y[i]); out[3 * i + 1] = remquo(x[i], y[i], &r); out[3 * i + 2] = atan2pi(x[i], y[i]); q[i] = r;\n"
    "}\n"
    "kernel void logarithms(global int *out, float x, double y) {\n"
    "  out[0] = ilogb(x * 0) == FP_ILOGB0; out[1] = ilogb(y * 0) == FP_ILOGB0;\n"
    "  out[2] = ilogb(NAN * x) == FP_ILOGBNAN; out[3] = ilogb(y * (double)NAN) == FP_ILOGBNAN; out[4] = ilogb(x) == 1;\n"
    "}\n"
    "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable\n"
    "kernel void bits(global uint *out, global const uint4 *in) {\n"
    "  size_t i = get_global_id(0); uint4 v = in[i];\n"
    "  out[8 * i] = get_max_sub_group_size(); out[8 * i + 1] = get_sub_group_local_id();\n"
    "  out[8 * i + 2] = sub_group_ballot_find_msb(v); out[8 * i + 3] = sub_group_ballot_find_lsb(v);\n"
    "  out[8 * i + 4] = sub_group_ballot_bit_count(v); out[8 * i + 5] = sub_group_ballot_inclusive_scan(v);\n"
    "  out[8 * i + 6] = sub_group_ballot_exclusive_scan(v); out[8 * i + 7] = get_sub_group_id();\n"
    "}\n";

enum { COUNT = 4096 };
static unsigned long long state = 88172645463325252ull;
static unsigned long long next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static cl_mem buffer(struct setting s, size_t bytes, void *from) {
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, bytes, from, &error);
  CHECK(error);
  return memory;
}

#define REMAINDERS(NAME, T, F, BITS, EXPONENTS) \
  static void NAME(struct setting s, cl_program program) { \
    static T x[COUNT], y[COUNT], out[3 * COUNT]; \
    static cl_int q[COUNT]; \
    for (int i = 0; i < COUNT; i++) { \
      union { unsigned long long bits; double d; struct { float f, other; } s; } of; \
      of.bits = next(); \
      x[i] = (T)F(ldexp)(1 + (T)(of.bits >> 12) * (T)0x1p-52, (int)(next() % EXPONENTS) - EXPONENTS / 2); \
      of.bits = next(); \
      y[i] = (T)F(ldexp)(1 + (T)(of.bits >> 12) * (T)0x1p-52, (int)(next() % EXPONENTS) - EXPONENTS / 2); \
      /* Quotients near powers of two, where sizes are largest. */ \
      if (i % 2) y[i] = F(ldexp)(y[i], F(ilogb)(x[i]) - F(ilogb)(y[i]) - i % 12); \
      if (i % 3 == 0) x[i] = -x[i]; \
      if (i % 5 == 0) y[i] = -y[i]; \
    } \
    for (int i = 0; i < 64; i++) { \
      x[i] = F(ldexp)(1 + (T)(next() >> 12) * (T)0x1p-53, EXPONENTS / 2 - 1); \
      y[i] = F(ldexp)(1 + (T)(next() >> 12) * (T)0x1p-53, EXPONENTS / 2 - 1 - i % 12); \
    } \
    x[64] = -(T)0x1.5d7bf8p+127; y[64] = (T)0x1.36bf02p+120; \
    const T inf = (T)INFINITY, edges[][2] = {{inf, inf}, {-inf, inf}, {inf, -inf}, {-inf, -inf}}; \
    for (int i = 0; i < 4; i++) x[65 + i] = edges[i][0], y[65 + i] = edges[i][1]; \
    cl_int error; \
    cl_kernel kernel = clCreateKernel(program, #NAME, &error); \
    CHECK(error); \
    cl_mem memory[] = {buffer(s, sizeof x, x), buffer(s, sizeof y, y), buffer(s, sizeof out, out), buffer(s, sizeof q, q)}; \
    for (int i = 0; i < 4; i++) CHECK(clSetKernelArg(kernel, i, sizeof *memory, &memory[i])); \
    size_t global = COUNT; \
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL)); \
    CHECK(clFinish(s.queue)); \
    for (int i = 0; i < COUNT; i++) { \
      int quotient; \
      T rest = F(remquo)(x[i], y[i], &quotient); \
      if (isinf(x[i])) { \
        T turn = copysign(y[i] > 0 ? 0.25 : 0.75, x[i]); \
        EXPECT(isnan(out[3 * i]) && out[3 * i + 2] == turn); \
        continue; \
      } \
      if (out[3 * i] != rest || out[3 * i + 1] != rest || (quotient & 7) != (q[i] & 7)) { \
        int own = q[i] < 0 ? -q[i] : q[i], theirs = quotient < 0 ? -quotient : quotient; \
        if (out[3 * i] != rest || out[3 * i + 1] != rest || (own & 7) != (theirs & 7)) \
          fprintf(stderr, #NAME " %a by %a: %a and %a, quotient %d, not %a, %d\n", (double)x[i], (double)y[i], (double)out[3 * i], (double)out[3 * i + 1], q[i], (double)rest, quotient), exit(1); \
      } \
    } \
    for (int i = 0; i < 4; i++) CHECK(clReleaseMemObject(memory[i])); \
    CHECK(clReleaseKernel(kernel)); \
  }
#define SINGLE(name) name##f
#define TWICE(name) name
REMAINDERS(floats, cl_float, SINGLE, 32, 252)
REMAINDERS(doubles, cl_double, TWICE, 64, 2044)

static void logarithms(struct setting s, cl_program program) {
  cl_int error, out[5] = {0};
  float x = 2;
  double y = 2;
  cl_kernel kernel = clCreateKernel(program, "logarithms", &error);
  CHECK(error);
  cl_mem memory = buffer(s, sizeof out, out);
  CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(kernel, 1, sizeof x, &x));
  CHECK(clSetKernelArg(kernel, 2, sizeof y, &y));
  CHECK(clEnqueueTask(s.queue, kernel, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 5; i++) EXPECT(out[i] == 1);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseKernel(kernel));
}

static void bits(struct setting s, cl_program program) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "bits", &error);
  CHECK(error);
  static cl_uint out[8 * 256];
  static cl_uint4 in[256];
  // Groups whose last sub-group is not full, of one and of several sub-groups.
  for (size_t local = 1; local <= 64; local += local < 20 ? 1 : 11) {
    size_t global = 3 * local;
    for (size_t i = 0; i < global; i++)
      for (int k = 0; k < 4; k++) in[i].s[k] = i % 5 == 0 ? 0xffffffffu : (cl_uint)next();
    cl_mem to = buffer(s, sizeof out, out), from = buffer(s, sizeof in, in);
    CHECK(clSetKernelArg(kernel, 0, sizeof to, &to));
    CHECK(clSetKernelArg(kernel, 1, sizeof from, &from));
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    for (size_t i = 0; i < global; i++) {
      cl_uint *of = out + 8 * i;
      unsigned long long value = in[i].s[0] | (unsigned long long)in[i].s[1] << 32;
      // Bits count below the size of the largest sub-group, also in a smaller one.
      if (of[0] < 64) value &= (1ull << of[0]) - 1;
      unsigned long long to_here = ((2ull << of[1]) - 1) & value, before = ((1ull << of[1]) - 1) & value;
      if (value) {
        EXPECT(of[2] == 63 - (cl_uint)__builtin_clzll(value));
        EXPECT(of[3] == (cl_uint)__builtin_ctzll(value));
      }
      EXPECT(of[4] == (cl_uint)__builtin_popcountll(value));
      EXPECT(of[5] == (cl_uint)__builtin_popcountll(to_here) && of[6] == (cl_uint)__builtin_popcountll(before));
    }
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
  }
  CHECK(clReleaseKernel(kernel));
}

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  floats(s, program);
  doubles(s, program);
  logarithms(s, program);
  bits(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
