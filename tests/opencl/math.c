// Mathematical functions against true values: at all special values, all combinations of such, and random numbers.
// covers: cl_khr_fp16 cl_khr_fp64
//
//   math [--numbers N] [--seed S] [--type half|float|double] [--width 1|2|3|4|8|16] [FUNCTION…]
//                      Without a width, scalars, and vectors of one width, which differs from function to function.
//   math --faults    functions with faults, each of which has to be found
//
// True values of halves and floats are doubles of the C library, those of doubles its long doubles, which have 11 bits more: a reference
// that errs by four of its units blurs an error by 0.002 units. What is rounded once is compared bit by bit.
#define _GNU_SOURCE
#include "check.h"
#include <math.h>
#include <time.h>

// As the header of OpenCL C has them.
enum { ILOGB_OF_ZERO = CL_INT_MIN, ILOGB_OF_NAN = CL_INT_MAX };
#define ALIGNED __attribute__((aligned(4096)))
enum { IS_EXACT = 1, ANY_ZERO = 2, HAS_OTHER = 4, HAS_COUNT = 8, IS_INT = 16, TAKES_INT = 32, UNIT_OF_ONE = 64, IS_NEAR = 128, SEVEN_BITS = 256, HAS_EITHER = 512,
       NO_NAN = 1024, IS_RANGE = 2048, IS_SMALL = 4096, ONLY_SCALAR = 8192 };
// Divisible by all widths.
enum { CHUNK = 3 << 14 };
#define OPEN(own) -(double)(own)
// Bound of errors of halves in units: that of the driver, which is less than the specification's.
#define HALF_BOUND 0.51

struct plan {
  cl_ulong numbers, seed;
  int width, is_quiet;
  char **names;
  int name_count;
};

static cl_int counts_in[CHUNK] ALIGNED, counts_out[CHUNK] ALIGNED;
static const cl_int special_counts[] = {0,  1,  -1, 2,   -2,  3,    -3,   4,    5,     -5,    7,     8,     -8,    10,    11,     23,        24,        -24,
                                        52, 53, 64, -64, 65,  126,  127,  128,  -126,  -127,  -149,  -150,  -151,  253,   276,    277,       278,       1022,
                                        1023, 1024, -1022, -1023, -1074, -1075, -1076, 2045, 2097, 2098, 2099, -2099, 16777217, -16777217, 2147483647, -2147483647,
                                        CL_INT_MIN, 2147483646};
enum { COUNTS = sizeof special_counts / sizeof *special_counts };

static cl_ulong state;
static inline cl_ulong next(void) {
  cl_ulong x = state += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static double half_number(cl_ushort bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

// The nearest half, ties to even.
static cl_ushort half_rounded(double x) {
  cl_ushort sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(x);
  if (isnan(x)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent;
  frexp(size, &exponent);
  int unit = size == 0 || exponent < -13 ? -24 : exponent - 11;
  double steps = rint(ldexp(size, -unit));
  return sign | (unit == -24 ? (cl_ushort)steps : (cl_ushort)(((unit + 24) << 10) + steps));
}

// The kernel `f`, which computes an expression of x, y, z, n, `other` and `count`.
static void kernel_source(char *source, const char *type, const char *text, int width) {
  char wide[16] = "";
  if (width > 1) sprintf(wide, "%d", width);
  const char *bits = !strcmp(type, "half") ? "ushort" : !strcmp(type, "float") ? "uint" : "ulong";
  int has_other = strstr(text, "&other") != NULL, has_count = strstr(text, "&count") != NULL, is_int = !strncmp(text, "i", 1);
  int length = sprintf(source,
                       "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define BITS(x) as_%1$s%2$s(x)\n#define INT %3$s\n"
                       "#define T %4$s\n#define T2 %4$s2\n#define T3 %4$s3\n",
                       bits, wide, bits + 1, type);
  length += sprintf(source + length,
                    "kernel void f(global const %1$s *xs, global const %1$s *ys, global const %1$s *zs, global const int *ns,\n"
                    "              global %1$s *outs, global %1$s *others, global int *counts) {\n  size_t i = get_global_id(0);\n",
                    type);
  const char *names[] = {"x", "y", "z"};
  for (int k = 0; k < 3; k++) {
    if (width == 1) length += sprintf(source + length, "  %1$s %2$s = %2$ss[i];\n", type, names[k]);
    else length += sprintf(source + length, "  %1$s%2$s %3$s = vload%2$s(i, %3$ss);\n", type, wide, names[k]);
  }
  if (width == 1) length += sprintf(source + length, "  int n = ns[i], count;\n  %s other;\n", type);
  else length += sprintf(source + length, "  int%1$s n = vload%1$s(i, ns), count;\n  %2$s%1$s other;\n", wide, type);
  const char *stored[] = {text, "other", "count"}, *names_out[] = {"outs", "others", "counts"};
  int is_stored[] = {!is_int, has_other, has_count || is_int};
  if (is_int) stored[2] = text;
  for (int k = 0; k < 3; k++) {
    if (!is_stored[k]) continue;
    if (width == 1) length += sprintf(source + length, "  %s[i] = %s;\n", names_out[k], stored[k]);
    else length += sprintf(source + length, "  vstore%s(%s, i, %s);\n", wide, stored[k], names_out[k]);
  }
  sprintf(source + length, "}\n");
}

// The name of a function is the part of its expression before the first parenthesis, of an operator all of it.
static void name_of(const char *text, char *name) {
  size_t length = strcspn(text, "(");
  if (!text[length] || length == 0) strcpy(name, text);
  else memcpy(name, text, length), name[length] = 0;
}

static int is_named(const char *text, const struct plan *plan) {
  char name[64];
  name_of(text, name);
  for (int i = 0; i < plan->name_count; i++) {
    if (!strcmp(plan->names[i], name)) return 1;
  }
  return plan->name_count == 0;
}

static void print_line(const char *text, const char *type, int width, cl_ulong tried, double units, double bound, int is_own, int is_right, double speed) {
  char name[64], wide[80];
  name_of(text, name);
  if (width > 1) sprintf(wide, "%s%d", type, width);
  else strcpy(wide, type);
  printf("%-14s %-9s %11llu numbers  %9.3f units, bound %g%s, %s, %.1f million a second\n", name, wide, (unsigned long long)tried, units, bound,
         is_own ? " (own)" : "", is_right ? "ok" : "WRONG", speed * 1e-6);
}

#define NAME(x) x##_half
#define TYPE_NAME "half"
#define STORED cl_ushort
#define TYPE double
#define T(f) f
#define REAL double
#define R(f) f
#define DIGITS 11
#define LEAST -14
#define MOST 15
#define BITS cl_ushort
#include "math_of_type.h"

#define NAME(x) x##_float
#define TYPE_NAME "float"
#define STORED cl_float
#define TYPE float
#define T(name) name##f
#define REAL double
#define R(f) f
#define DIGITS 24
#define LEAST -126
#define MOST 127
#define BITS cl_uint
#include "math_of_type.h"

#define NAME(x) x##_double
#define TYPE_NAME "double"
#define STORED cl_double
#define TYPE double
#define T(f) f
#define REAL long double
#define R(f) f##l
#define DIGITS 53
#define LEAST -1022
#define MOST 1023
#define BITS cl_ulong
#include "math_of_type.h"

// --- faults ---

static const struct {
  const char *name, *text;
} FAULTS[] = {
    // Coefficients and constants that are nearly right.
    {"sin", "(fabs(x) < 0.25f ? x - x * x * x * 0.166666f : sin(x))"},
    {"expm1", "(fabs(x) < 0.01f ? x + x * x * 0.50002f : expm1(x))"},
    {"log1p", "(fabs(x) < 0x1p-10f ? x - x * x * 0.5001f : log1p(x))"},
    {"cbrt", "(x > 1000 && x < 1001 ? cbrt(x) * 1.0000004f : cbrt(x))"},
    {"pow", "(pow(x, y) > 0x1p125f ? pow(x, y) * 1.000003f : pow(x, y))"},
    {"atan2", "atan2(x, y) * (y < 0 ? 1.0000006f : 1.0f)"},
    {"erfc", "(x > 9 ? exp(-x * x) / (x * 1.7724538f) : erfc(x))"},
    {"tanpi", "tan(x * M_PI_F)"},
    {"hypot", "sqrt(x * x + y * y)"},
    // Ends of the range.
    {"exp", "(x < -87.4f ? 0 : exp(x))"},
    {"exp10", "(x > 38.53f ? INFINITY : exp10(x))"},
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"tgamma", "(x > 35 ? INFINITY : tgamma(x))"},
    {"rsqrt", "(x < 0x1p-126f ? INFINITY : rsqrt(x))"},
    // Special values.
    {"sinpi", "(x == -3 ? 0.0f : sinpi(x))"},
    {"cospi", "(x == 1.5f ? -0.0f : cospi(x))"},
    {"round", "floor(x + 0.5f)"},
    {"rint", "round(x)"},
    {"ceil", "(x > -1 && x < 0 ? 0.0f : ceil(x))"},
    {"fract", "(fract(x, &other), x - floor(x))"},
    {"modf", "(modf(x, &other), x - trunc(x))"},
    {"frexp", "(isinf(x) ? frexp(1.0f, &count) * x : frexp(x, &count))"},
    {"ilogb", "ilogb(fabs(x) < 0x1p-148f ? 0x1p-148f : x)"},
    {"logb", "(x == 0 ? -126.0f : logb(x))"},
    {"lgamma_r", "(lgamma_r(x, &count) + (count = count == 0 ? 1 : count) * 0)"},
    {"fmax", "(x < y ? y : x)"},
    {"fdim", "fmax(x - y, 0.0f)"},
    {"maxmag", "(fabs(x) >= fabs(y) ? x : y)"},
    {"nextafter", "(x == 0 ? 0x1p-149f : nextafter(x, y))"},
    {"powr", "pow(x, y)"},
    {"pown", "pow(x, (float)n)"},
    {"rootn", "(n == -2 && x == 0 ? x / 0.0f : rootn(x, n))"},
    {"ldexp", "ldexp(ldexp(x, n / 2), n - n / 2)"},
    {"fmod", "x - trunc(x / y) * y"},
    {"remainder", "fmod(x, y)"},
    {"remquo", "(remquo(x, y, &count) + (count &= 7) * 0)"},
    {"fma", "as_float(as_uint(x * y)) + z"},
    {"mad", "(x * y == 0 ? z : mad(x, y, z))"},
    {"x / y", "x * (1 / y)"},
    {"x - y", "(x == y ? -0.0f : x - y)"},
    {"step", "(float)(x < y)"},
    {"clamp", "max(min(x, z), z)"},
    {"smoothstep", "(x - y) / (z - y)"},
    {"length", "sqrt(x * x + y * y)"},
    {"normalize", "y / hypot(hypot(x, y), z)"},
    {"isequal", "isequal(x, y) + 2 * (isless(x, y) || isgreater(x, y))"},
    {"isfinite", "isfinite(x) + 2 * isinf(x) + 4 * isnan(x) + 8 * (fabs(x) > 0x1p-126f) + 16 * signbit(x)"},
};

static int find_faults(struct setting s, struct plan plan) {
  int missed = 0, count = sizeof FAULTS / sizeof *FAULTS;
  plan.width = 1;
  for (int i = 0; i < count; i++) {
    char name[64];
    int is_found = 0, is_there = 0;
    for (int k = 0; k < FUNCTIONS_float; k++) {
      name_of(functions_float[k].text, name);
      if (strcmp(name, FAULTS[i].name)) continue;
      is_there = 1;
      plan.is_quiet = 1;
      is_found |= !check_float(s, &functions_float[k], &plan, FAULTS[i].text);
    }
    EXPECT(is_there);
    if (!is_found) printf("not found: %s for %s\n", FAULTS[i].text, FAULTS[i].name), missed++;
  }
  printf("%d faults, %d of them not found\n", count, missed);
  return missed;
}

// True if a name is that of a function of floats or halves, which include those of doubles.
static int is_function(char *name) {
  struct plan only = {.names = &name, .name_count = 1};
  for (int i = 0; i < FUNCTIONS_float; i++) {
    if (is_named(functions_float[i].text, &only)) return 1;
  }
  for (int i = 0; i < FUNCTIONS_half; i++) {
    if (is_named(functions_half[i].text, &only)) return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  struct plan plan = {.numbers = 20000, .seed = 1, .names = argv, .name_count = 0};
  const char *type = "";
  int has_faults = 0;
  for (int i = 1; i < argc; i++) {
    int has_value = i + 1 < argc;
    if (!strcmp(argv[i], "--numbers") && has_value) plan.numbers = (cl_ulong)strtod(argv[++i], NULL);
    else if (!strcmp(argv[i], "--seed") && has_value) plan.seed = strtoull(argv[++i], NULL, 0);
    else if (!strcmp(argv[i], "--width") && has_value) plan.width = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--type") && has_value) type = argv[++i];
    else if (!strcmp(argv[i], "--faults")) has_faults = 1;
    else if (argv[i][0] == '-' && argv[i][1] == '-') return fprintf(stderr, "math: there is no option %s\n", argv[i]), 2;
    else if (!is_function(argv[i])) return fprintf(stderr, "math: there is no function %s\n", argv[i]), 2;
    else plan.names[plan.name_count++] = argv[i];
  }
  static const int widths[] = {0, 1, 2, 3, 4, 8, 16};
  int is_width = 0;
  for (int i = 0; i < 7; i++) is_width |= plan.width == widths[i];
  if (!is_width || (type[0] && strcmp(type, "half") && strcmp(type, "float") && strcmp(type, "double"))) {
    return fprintf(stderr, "math: types are half, float and double, widths 1, 2, 3, 4, 8 and 16\n"), 2;
  }
  struct setting s = start(0);
  int wrong = 0;
  if (has_faults) wrong = find_faults(s, plan);
  else {
    if (!type[0] || !strcmp(type, "half")) wrong += check_all_half(s, &plan);
    if (!type[0] || !strcmp(type, "float")) wrong += check_all_float(s, &plan);
    if (!type[0] || !strcmp(type, "double")) wrong += check_all_double(s, &plan);
  }
  end(s);
  if (wrong) return printf("%d wrong\n", wrong), 1;
  return passed();
}
