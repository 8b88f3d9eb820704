// Arithmetic and functions of halves: of one number at all 65,536 halves, of two at as many pairs; vectors, groups, images.
// covers: cl_khr_fp16
#define _GNU_SOURCE
#include "check.h"
#include <CL/cl_ext.h>
#include <math.h>

typedef cl_ushort half;
enum { ALL = 65536 };

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

// The error of a result in units of a half; infinity where the kind or the sign of a zero differs.
static double off_by(half bits, double truth) {
  double result = number(bits);
  if (isnan(result) || isnan(truth)) return isnan(result) && isnan(truth) ? 0 : INFINITY;
  if (result == 0 && signbit(result) != signbit(truth)) return INFINITY;
  double a = isinf(result) ? copysign(65536, result) : result, b = fabs(truth) > 65536 ? copysign(65536, truth) : truth;
  int exponent = truth == 0 || isinf(truth) ? -14 : ilogb(truth);
  exponent = exponent < -14 ? -14 : exponent > 15 ? 15 : exponent;
  return fabs(a - b) / ldexp(1, exponent - 10);
}

// --- functions of one number ---

// Whole turns are taken off exactly before the multiplication.
static double sin_pi(double x) {
  double rest = fmod(x, 2);
  return isinf(x) ? NAN : rest == trunc(rest) ? copysign(0, x) : sin(M_PI * remainder(x, 2));
}
static double cos_pi(double x) {
  double rest = fabs(fmod(x, 2));
  return isinf(x) ? NAN : rest == 0.5 || rest == 1.5 ? 0 : cos(M_PI * rest);
}
static double tan_pi(double x) {
  if (isinf(x)) return NAN;
  double rest = remainder(x, 1);
  int is_odd = fabs(fmod(trunc(x), 2)) == 1;
  if (x == trunc(x)) return copysign(0, is_odd ? -x : x);
  if (fabs(rest) == 0.5) return copysign(INFINITY, is_odd ? -x : x);
  return tan(M_PI * rest);
}
static double acos_pi(double x) { return acos(x) / M_PI; }
static double asin_pi(double x) { return asin(x) / M_PI; }
static double atan_pi(double x) { return atan(x) / M_PI; }
static double inverse_root(double x) { return 1 / sqrt(x); }
static double in_degrees(double x) { return x * (180 / M_PI); }
static double in_radians(double x) { return x * (M_PI / 180); }
static double plain(double x) { return x; }
static double times_two(double x) { return x + x; }
static double fraction(double x) { return isnan(x) || x == 0 ? x : isinf(x) ? copysign(0, x) : fmin(x - floor(x), 0x1.ffcp-1); }
static double after_point(double x) { return isinf(x) ? copysign(0, x) : copysign(x - trunc(x), x); }
static double mantissa(double x) {
  int exponent;
  return frexp(x, &exponent);
}
static double exponent(double x) {
  int exponent;
  return x == 0 || !isfinite(x) ? 0 : (frexp(x, &exponent), exponent);
}
static double log_2(double x) { return x == 0 || !isfinite(x) ? 0 : ilogb(x); }
static double eight_times(double x) { return ldexp(x, 3); }
static double cube(double x) { return x * x * x; }
static double one_more(double x) { return 2 * x + 1; }
static double none(double x) { return x * NAN; }
static double sign_of(double x) { return isnan(x) || x == 0 ? isnan(x) ? 0 : x : copysign(1, x); }
static double at_most_one(double x) { return x > 1 ? 1 : x; }
static double at_least_one(double x) { return x < 1 ? 1 : x; }
static double within_one(double x) { return x > 1 ? 1 : x < -1 ? -1 : x; }
static double without_sign_of_zero(double x) { return isinf(x) ? x : x + 0.0; }
static double stepped(double x) { return isnan(x) ? x : x >= 1; }
static double smooth(double x) {
  double t = x > 1 ? 1 : x < 0 ? 0 : x;
  return isnan(x) ? x : t * t * (3 - 2 * t);
}
static double kind(double x) {
  int is_normal = isfinite(x) && fabs(x) >= 0x1p-14;
  return (isfinite(x) != 0) + 2 * (isinf(x) != 0) + 4 * (isnan(x) != 0) + 8 * is_normal + 16 * (signbit(x) != 0 && !isnan(x));
}

static const struct {
  const char *text;
  double (*of)(double);
  int is_exact;
} FUNCTIONS[] = {
    {"acos(x)", acos, 0},       {"acosh(x)", acosh, 0},         {"acospi(x)", acos_pi, 0},   {"asin(x)", asin, 0},
    {"asinh(x)", asinh, 0},     {"asinpi(x)", asin_pi, 0},      {"atan(x)", atan, 0},        {"atanh(x)", atanh, 0},
    {"atanpi(x)", atan_pi, 0},  {"cbrt(x)", cbrt, 0},           {"cos(x)", cos, 0},          {"cosh(x)", cosh, 0},
    {"cospi(x)", cos_pi, 0},    {"erf(x)", erf, 0},             {"erfc(x)", erfc, 0},        {"exp(x)", exp, 0},
    {"exp10(x)", exp10, 0},     {"exp2(x)", exp2, 0},           {"expm1(x)", expm1, 0},      {"log(x)", log, 0},
    {"log10(x)", log10, 0},     {"log1p(x)", log1p, 0},         {"log2(x)", log2, 0},        {"rsqrt(x)", inverse_root, 0},
    {"sin(x)", sin, 0},         {"sinh(x)", sinh, 0},           {"sinpi(x)", sin_pi, 0},     {"tan(x)", tan, 0},
    {"tanh(x)", tanh, 0},       {"tanpi(x)", tan_pi, 0},        {"tgamma(x)", tgamma, 0},    {"degrees(x)", in_degrees, 0},
    {"radians(x)", in_radians, 0}, {"fabs(x)", fabs, 1},        {"ceil(x)", ceil, 1},        {"floor(x)", floor, 1},
    {"rint(x)", rint, 1},       {"round(x)", round, 1},         {"sqrt(x)", sqrt, 1},        {"trunc(x)", trunc, 1},
    {"fract(x, &h)", fraction, 1}, {"modf(x, &h)", after_point, 1}, {"frexp(x, &n)", mantissa, 1},
    {"isfinite(x) ? (frexp(x, &n), (half)n) : (half)0", exponent, 1},
    {"isfinite(x) && x != (half)0 ? (half)ilogb(x) : (half)0", log_2, 1},
    {"ldexp(x, 3)", eight_times, 1}, {"pown(x, 3)", cube, 0},   {"rootn(x, 3)", cbrt, 0},    {"lgamma(x)", lgamma, 0},
    {"lgamma_r(x, &n)", lgamma, 0}, {"sincos(x, &h)", sin, 0},  {"(sincos(x, &h), h)", cos, 0}, {"mad(x, (half)2, (half)1)", one_more, 1},
    {"nan(as_ushort(x))", none, 1}, {"sign(x)", sign_of, 1},    {"isnan(x) ? x : min(x, (half)1)", at_most_one, 1},
    {"isnan(x) ? x : max(x, (half)1)", at_least_one, 1},
    {"isnan(x) ? x : clamp(x, (half)-1, (half)1)", within_one, 1},
    {"isinf(x) ? x : mix(x, x, (half)0.5f) + (half)0", without_sign_of_zero, 1},
    {"isnan(x) ? x : step((half)1, x)", stepped, 1}, {"isnan(x) ? x : smoothstep((half)0, (half)1, x)", smooth, 0},
    {"(half)(isfinite(x) + 2 * isinf(x) + 4 * isnan(x) + 8 * isnormal(x) + 16 * (signbit(x) && !isnan(x)))", kind, 1},
    {"logb(x)", logb, 1},       {"(half)(float)x", plain, 1},   {"(half)(double)x", plain, 1}, {"x + x", times_two, 1},
};
enum { COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

// --- functions of two numbers ---

static double sum(double x, double y) { return x + y; }
static double difference(double x, double y) { return x - y; }
static double product(double x, double y) { return x * y; }
static double quotient(double x, double y) { return x / y; }
static double power(double x, double y) {
  int is_undefined = x < 0 || isnan(y) || (isnan(x) && y == 0) || (isinf(x) && y == 0) || (x == 1 && isinf(y)) || (x == 0 && y == 0);
  return is_undefined ? NAN : pow(fabs(x), y);
}
// Either zero may be the result of a minimum or maximum.
static double most(double x, double y) { return fmax(x, y) + 0.0; }
static double least(double x, double y) { return fmin(x, y) + 0.0; }
static double largest(double x, double y) { return fabs(x) > fabs(y) ? x + 0.0 : fabs(y) > fabs(x) ? y + 0.0 : most(x, y); }
static double smallest(double x, double y) { return fabs(x) < fabs(y) ? x + 0.0 : fabs(y) < fabs(x) ? y + 0.0 : least(x, y); }
static double neighbour(double x, double y) {
  half bits = rounded(x);
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return y;
  if (x == 0) return copysign(0x1p-24, y);
  return number(bits + ((x < y) == (x > 0) ? 1 : -1));
}
static double size(double x, double y) { return isnan(x) || isnan(y) ? NAN : hypot(x, y); }
static double direction(double x, double y) {
  return isfinite(x) && isfinite(y) && (x != 0 || y != 0) ? x / hypot(x, y) : 0;
}
static double product_of_sums(double x, double y) { return x * x - y * y; }
static double order(double x, double y) {
  int is_ordered = !isnan(x) && !isnan(y);
  return (x == y) + 2 * (x != y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x < y) + 32 * (x <= y) + 64 * (is_ordered && x != y) +
         128 * is_ordered + 256 * !is_ordered;
}
static double chosen(double x, double y) { return x < y ? y : x; }
static double first(double x, double y) { return isnan(y) ? x : x; }
static double atan2_pi(double x, double y) { return atan2(x, y) / M_PI; }
static double fused(double x, double y) { return x * y + (rounded(x) & 1 ? 0 : -y); }

static const struct {
  const char *text;
  double (*of)(double, double);
  int is_exact;
} PAIRS[] = {
    {"x + y", sum, 1},           {"x - y", difference, 1},   {"x * y", product, 1},        {"x / y", quotient, 1},
    {"fmod(x, y)", fmod, 1},     {"remainder(x, y)", remainder, 1}, {"fdim(x, y)", fdim, 1}, {"copysign(x, y)", copysign, 1},
    {"remquo(x, y, &n)", remainder, 1}, {"nextafter(x, y)", neighbour, 1}, {"powr(x, y)", power, 0},
    {"fmax(x, y) + (half)0", most, 1}, {"fmin(x, y) + (half)0", least, 1},
    {"maxmag(x, y) + (half)0", largest, 1}, {"minmag(x, y) + (half)0", smallest, 1},
    {"length((half2)(x, y))", size, 0}, {"distance((half2)(x, 0), (half2)(0, y))", size, 0},
    {"isfinite(x) && isfinite(y) && (x != (half)0 || y != (half)0) ? normalize((half2)(x, y)).x : (half)0", direction, 0},
    {"cross((half3)(x, y, 0), (half3)(y, x, 0)).z", product_of_sums, 0},
    {"(half)(isequal(x, y) + 2 * isnotequal(x, y) + 4 * isgreater(x, y) + 8 * isgreaterequal(x, y) + 16 * isless(x, y) + "
     "32 * islessequal(x, y) + 64 * islessgreater(x, y) + 128 * isordered(x, y) + 256 * isunordered(x, y))", order, 1},
    {"select(x, y, (short)isless(x, y))", chosen, 1}, {"bitselect(x, y, (half)0)", first, 1},
    {"hypot(x, y)", hypot, 0},   {"pow(x, y)", pow, 0},      {"atan2(x, y)", atan2, 0},    {"atan2pi(x, y)", atan2_pi, 0}, {"fma(x, y, x_is_odd ? (half)0 : -y)", fused, 1},
};
enum { PAIR_COUNT = sizeof PAIRS / sizeof *PAIRS };

static half some[256];

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

static void functions(struct setting s) {
  static half a[ALL], b[ALL], out[ALL];
  static char source[1 << 16];
  for (int i = 0; i < 256; i++) some[i] = i < 128 ? (i < 24 ? 0x7bfe + i % 4 - 0x4000 * (i / 8) : i * 40503 % 0x7c00) : some[i - 128] | 0x8000;
  some[0] = 0, some[1] = 1, some[2] = 0x7c00, some[3] = 0x7e00, some[128] = 0x8000, some[130] = 0xfc00;
  size_t length = sprintf(source, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
  const char *head = "kernel void %c%d(global const half *a, global const half *b, global half *out) { size_t i = get_global_id(0); "
                     "half x = a[i], y = b[i], h; int n, x_is_odd = as_ushort(x) & 1; out[i] = %s; }\n";
  for (int i = 0; i < COUNT; i++) length += sprintf(source + length, head, 'f', i, FUNCTIONS[i].text);
  for (int i = 0; i < PAIR_COUNT; i++) length += sprintf(source + length, head, 'p', i, PAIRS[i].text);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  for (int is_pair = 0; is_pair < 2; is_pair++) {
    for (int i = 0; i < ALL; i++) a[i] = is_pair ? some[i >> 8] : i, b[i] = some[i & 255];
    cl_mem from = buffer(s, sizeof a, a), other = buffer(s, sizeof b, b), to = buffer(s, sizeof out, NULL);
    for (int f = 0; f < (is_pair ? PAIR_COUNT : COUNT); f++) {
      char name[16];
      sprintf(name, "%c%d", is_pair ? 'p' : 'f', f);
      launch(s, program, name, ALL, 0, from, other, to);
      CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
      const char *text = is_pair ? PAIRS[f].text : FUNCTIONS[f].text;
      int is_exact = is_pair ? PAIRS[f].is_exact : FUNCTIONS[f].is_exact;
      for (int i = 0; i < ALL; i++) {
        double x = number(a[i]), y = number(b[i]);
        double truth = is_pair ? PAIRS[f].of(x, y) : FUNCTIONS[f].of(x);
        int is_right = is_exact ? out[i] == rounded(truth) || (isnan(truth) && isnan(number(out[i])))
                                : off_by(out[i], truth) <= 0.51;
        if (!is_right) {
          fprintf(stderr, "%s at x = %a, y = %a is %a, true is %a: %g units\n", text, x, y, number(out[i]), truth,
                  off_by(out[i], truth));
          exit(1);
        }
      }
    }
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(to));
  }
  CHECK(clReleaseProgram(program));
}

// --- vectors, groups, arguments, images ---

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
  functions(s);
  cl_program program = build(s, more, "-cl-std=CL3.0");
  vectors(s, program);
  values(s, program);
  images(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
