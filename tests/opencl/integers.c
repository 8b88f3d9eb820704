// Integer functions, operators and shuffles against plain C: all types, all widths of vectors, all combinations of special values, and
// random ones.
//
//   integers [--numbers N] [--seed S] [--type char|…|double] [--all]
//   integers --faults   functions with faults, each of which has to be found
//
// Scalars, and vectors of one width, which differs from type to type; with `--all`, of all widths.
#include "check.h"

#define ALIGNED __attribute__((aligned(4096)))
// Divisible by all widths.
enum { CHUNK = 3 << 14 };
typedef __int128 wide;
typedef unsigned __int128 wide_unsigned;

static const struct type {
  const char *name, *of_unsigned, *twice;
  int bits, is_signed;
} TYPES[] = {
    {"char", "uchar", "short", 8, 1},   {"uchar", "uchar", "ushort", 8, 0},   {"short", "ushort", "int", 16, 1}, {"ushort", "ushort", "uint", 16, 0},
    {"int", "uint", "long", 32, 1},     {"uint", "uint", "ulong", 32, 0},     {"long", "ulong", NULL, 64, 1},    {"ulong", "ulong", NULL, 64, 0},
};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

struct plan {
  cl_ulong numbers, seed;
  int is_all;
};

static cl_ulong state;
static inline cl_ulong next(void) {
  cl_ulong x = state += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// --- references: of bits that are the lowest of a number of 64 ---

struct numbers {
  const struct type *type;
  // Vectors select by signs, and do not promote elements before they shift.
  int is_vector;
  wide a, b, c;
};

static wide mask(const struct numbers *n) { return ((wide)1 << n->type->bits) - 1; }
static wide least(const struct numbers *n) { return n->type->is_signed ? -((wide)1 << (n->type->bits - 1)) : 0; }
static wide greatest(const struct numbers *n) { return n->type->is_signed ? ((wide)1 << (n->type->bits - 1)) - 1 : mask(n); }
static wide saturated(const struct numbers *n, wide x) { return x < least(n) ? least(n) : x > greatest(n) ? greatest(n) : x; }
static wide half_of(wide x) { return x >= 0 ? x / 2 : -((1 - x) / 2); }

static wide add_sat(const struct numbers *n) { return saturated(n, n->a + n->b); }
static wide sub_sat(const struct numbers *n) { return saturated(n, n->a - n->b); }
static wide mad_sat(const struct numbers *n) {
  // The product of two unsigned longs needs all bits.
  if (!n->type->is_signed) {
    wide_unsigned sum = (wide_unsigned)n->a * (wide_unsigned)n->b + (wide_unsigned)n->c;
    return sum > (wide_unsigned)greatest(n) ? greatest(n) : (wide)sum;
  }
  return saturated(n, n->a * n->b + n->c);
}
static wide mul_hi(const struct numbers *n) {
  return n->type->is_signed ? (n->a * n->b) >> n->type->bits : (wide)((wide_unsigned)n->a * (wide_unsigned)n->b >> n->type->bits);
}
static wide mad_hi(const struct numbers *n) { return mul_hi(n) + n->c; }
static wide hadd(const struct numbers *n) { return half_of(n->a + n->b); }
static wide rhadd(const struct numbers *n) { return half_of(n->a + n->b + 1); }
static wide rotate(const struct numbers *n) {
  int by = (int)n->b & (n->type->bits - 1);
  return (wide)((wide_unsigned)n->a << by) | (n->a & mask(n)) >> (n->type->bits - by);
}
static wide clz(const struct numbers *n) {
  int count = 0;
  for (int bit = n->type->bits - 1; bit >= 0 && !(n->a >> bit & 1); bit--) count++;
  return count;
}
static wide ctz(const struct numbers *n) {
  int count = 0;
  while (count < n->type->bits && !(n->a >> count & 1)) count++;
  return count;
}
static wide popcount(const struct numbers *n) {
  int count = 0;
  for (int bit = 0; bit < n->type->bits; bit++) count += n->a >> bit & 1;
  return count;
}
static wide size_of(const struct numbers *n) { return n->a < 0 ? -n->a : n->a; }
static wide abs_diff(const struct numbers *n) { return n->a > n->b ? n->a - n->b : n->b - n->a; }
static wide max_of(const struct numbers *n) { return n->a < n->b ? n->b : n->a; }
static wide min_of(const struct numbers *n) { return n->b < n->a ? n->b : n->a; }
static wide clamped(const struct numbers *n) {
  wide low = n->b < n->c ? n->b : n->c, high = n->b < n->c ? n->c : n->b;
  return n->a < low ? low : n->a > high ? high : n->a;
}
static wide bitselect(const struct numbers *n) { return (n->a & ~n->c) | (n->b & n->c); }
static wide selected(const struct numbers *n) { return (n->is_vector ? n->c >> (n->type->bits - 1) & 1 : n->c != 0) ? n->b : n->a; }
// Scalars shorter than int are promoted before they are shifted.
static int amount(const struct numbers *n) { return (int)n->b & ((n->is_vector || n->type->bits > 32 ? n->type->bits : 32) - 1); }
static wide left(const struct numbers *n) { return (wide)((wide_unsigned)n->a << amount(n)); }
static wide right(const struct numbers *n) { return n->a >> amount(n); }
static wide sum(const struct numbers *n) { return n->a + n->b; }
static wide difference(const struct numbers *n) { return n->a - n->b; }
static wide product(const struct numbers *n) { return (wide)((wide_unsigned)n->a * (wide_unsigned)n->b); }
static wide quotient(const struct numbers *n) { return n->a / n->b; }
static wide rest(const struct numbers *n) { return n->a % n->b; }
static wide negative(const struct numbers *n) { return -n->a; }
static wide inverse(const struct numbers *n) { return ~n->a; }
static wide combined(const struct numbers *n) { return (n->a & n->b) ^ (n->a | n->c); }
// Elements of vectors are -1 where a comparison holds.
static wide is_less(const struct numbers *n) { return n->is_vector ? -(n->a < n->b) : n->a < n->b; }
static wide is_at_most(const struct numbers *n) { return n->is_vector ? -(n->a <= n->b) : n->a <= n->b; }
static wide is_equal(const struct numbers *n) { return n->is_vector ? -(n->a == n->b) : n->a == n->b; }
static wide chosen(const struct numbers *n) { return (n->is_vector ? n->a < n->b : n->a < n->b) ? n->c : n->b; }
static wide upsampled(const struct numbers *n) {
  return (wide)((wide_unsigned)n->a << n->type->bits) | (n->b & mask(n));
}
// The lower 24 bits, as a number.
static wide short_part(const struct numbers *n, wide x) { return (x & 0xffffff) - (n->type->is_signed && x & 0x800000 ? 0x1000000 : 0); }
static wide short_product(const struct numbers *n) { return short_part(n, n->a) * short_part(n, n->b); }
static wide short_sum(const struct numbers *n) { return short_product(n) + n->c; }
static wide at_least_5(const struct numbers *n) { return n->a < 5 ? 5 : n->a; }
static wide at_most_5(const struct numbers *n) { return n->a > 5 ? 5 : n->a; }
static wide from_3_to_90(const struct numbers *n) { return n->a < 3 ? 3 : n->a > 90 ? 90 : n->a; }

enum { DIVIDES = 1, IS_TWICE = 2, HAS_32_BITS = 4 };
// Expressions of a, b and c of the type T with elements of E; `AS(x)` has the bits of x in T.
static const struct function {
  const char *text;
  wide (*of)(const struct numbers *);
  int flags;
} FUNCTIONS[] = {
    {"add_sat(a, b)", add_sat, 0},
    {"sub_sat(a, b)", sub_sat, 0},
    {"mad_sat(a, b, c)", mad_sat, 0},
    {"mul_hi(a, b)", mul_hi, 0},
    {"mad_hi(a, b, c)", mad_hi, 0},
    {"hadd(a, b)", hadd, 0},
    {"rhadd(a, b)", rhadd, 0},
    {"rotate(a, b)", rotate, 0},
    {"clz(a)", clz, 0},
    {"ctz(a)", ctz, 0},
    {"popcount(a)", popcount, 0},
    {"AS(abs(a))", size_of, 0},
    {"AS(abs_diff(a, b))", abs_diff, 0},
    {"max(a, b)", max_of, 0},
    {"min(a, b)", min_of, 0},
    {"clamp(a, min(b, c), max(b, c))", clamped, 0},
    {"max(a, (E)5)", at_least_5, 0},
    {"min(a, (E)5)", at_most_5, 0},
    {"clamp(a, (E)3, (E)90)", from_3_to_90, 0},
    {"mul24(a << 8 >> 8, b << 8 >> 8)", short_product, HAS_32_BITS},
    {"mad24(a << 8 >> 8, b << 8 >> 8, c)", short_sum, HAS_32_BITS},
    {"bitselect(a, b, c)", bitselect, 0},
    {"select(a, b, c)", selected, 0},
    {"a << b", left, 0},
    {"a >> b", right, 0},
    {"a + b", sum, 0},
    {"a - b", difference, 0},
    {"a * b", product, 0},
    {"a / b", quotient, DIVIDES},
    {"a % b", rest, DIVIDES},
    {"-a", negative, 0},
    {"~a", inverse, 0},
    {"(a & b) ^ (a | c)", combined, 0},
    {"AS(a < b)", is_less, 0},
    {"AS(a <= b)", is_at_most, 0},
    {"AS(a == b)", is_equal, 0},
    {"a < b ? c : b", chosen, 0},
    {"upsample(a, AS_UNSIGNED(b))", upsampled, IS_TWICE},
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

// True if a type has a function.
static int has_function(const struct type *type, int flags) {
  return (!(flags & IS_TWICE) || type->twice) && (!(flags & HAS_32_BITS) || type->bits == 32);
}

// --- arguments ---

static cl_ulong as[CHUNK] ALIGNED, bs[CHUNK] ALIGNED, cs[CHUNK] ALIGNED, outs[FUNCTION_COUNT * CHUNK] ALIGNED;
static cl_ulong special[64];
static int special_count;

static void list_special(const struct type *type) {
  cl_ulong top = (cl_ulong)1 << (type->bits - 1), all = top - 1 + top;
  cl_ulong some[] = {0, 1, 2, 3, 7, all, all - 1, all - 2, top, top + 1, top - 1, top - 2, top / 2, top / 2 - 1, type->bits - 1, type->bits, type->bits + 1, 31, 32, 33,
                     100, all / 3, all / 3 * 2, all - type->bits + 1, all >> type->bits / 2, (cl_ulong)1 << type->bits / 2};
  special_count = 0;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) special[special_count++] = some[i] & all;
}

// Numbers of all sizes.
static cl_ulong random_bits(const struct type *type) {
  cl_ulong x = next() >> next() % type->bits;
  if (next() & 1) x = ~x;
  return next() % 8 ? x : special[next() % special_count];
}

// Puts the lowest bits of a number into an array of elements of the type's size, or takes them out.
static void put(void *array, int bits, size_t at, cl_ulong x) { memcpy((char *)array + at * (bits / 8), &x, bits / 8); }
static cl_ulong taken(const void *array, int bits, size_t at) {
  cl_ulong x = 0;
  memcpy(&x, (const char *)array + at * (bits / 8), bits / 8);
  return x;
}
static wide value(const struct type *type, cl_ulong bits) {
  return type->is_signed ? (wide)((cl_long)(bits << (64 - type->bits)) >> (64 - type->bits)) : (wide)bits;
}

// Fills in arguments from an index on: all combinations of special values, then random ones.
static cl_ulong fill(const struct type *type, cl_ulong first) {
  cl_ulong n = special_count, all = n * n * n;
  for (int i = 0; i < CHUNK; i++) {
    cl_ulong index = first + i;
    int is_special = index < all;
    put(as, type->bits, i, is_special ? special[index % n] : random_bits(type));
    put(bs, type->bits, i, is_special ? special[index / n % n] : random_bits(type));
    put(cs, type->bits, i, is_special ? special[index / n / n] : random_bits(type));
  }
  return all;
}

// --- kernels ---

// The kernel `f`, which computes all functions, or one of them alone by another expression.
static void kernel_source(char *source, const struct type *type, int width, int replaced, const char *text) {
  char suffix[16] = "";
  if (width > 1) sprintf(suffix, "%d", width);
  int length = sprintf(source,
                       "#define T %1$s%3$s\n#define E %1$s\n#define AS(x) ((T)as_%1$s%3$s(%4$s(x)))\n#define AS_UNSIGNED(x) as_%2$s%3$s(x)\n"
                       "kernel void f(global const %1$s *as, global const %1$s *bs, global const %1$s *cs, global ulong *all) {\n"
                       "  size_t i = get_global_id(0);\n",
                       type->name, type->of_unsigned, suffix, width > 1 ? "" : "(T)");
  for (const char *name = "abc"; *name; name++) {
    if (width == 1) length += sprintf(source + length, "  T %c = %cs[i];\n", *name, *name);
    else length += sprintf(source + length, "  T %c = vload%s(i, %cs);\n", *name, suffix, *name);
  }
  for (int f = 0; f < FUNCTION_COUNT; f++) {
    int is_twice = FUNCTIONS[f].flags & IS_TWICE;
    if (!has_function(type, FUNCTIONS[f].flags) || (text && f != replaced)) continue;
    const char *expression = text ? text : FUNCTIONS[f].text, *result = is_twice ? type->twice : type->name;
    if (width == 1) length += sprintf(source + length, "  ((global %s *)(all + %d))[i] = %s;\n", result, f * CHUNK, expression);
    else length += sprintf(source + length, "  vstore%s(%s, i, (global %s *)(all + %d));\n", suffix, expression, result, f * CHUNK);
  }
  sprintf(source + length, "}\n");
}

static cl_mem buffer(struct setting s, size_t bytes, void *from) {
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, bytes, from, &error);
  CHECK(error);
  return memory;
}

// Compares the results of a chunk; returns the number of the first wrong function, or -1.
static int compare(const struct type *type, int width, int count, int replaced) {
  struct numbers n = {type, width > 1, 0, 0, 0};
  for (int f = 0; f < FUNCTION_COUNT; f++) {
    int flags = FUNCTIONS[f].flags, bits = flags & IS_TWICE ? 2 * type->bits : type->bits;
    if (!has_function(type, flags) || (replaced >= 0 && f != replaced)) continue;
    cl_ulong all = bits == 64 ? ~(cl_ulong)0 : ((cl_ulong)1 << bits) - 1;
    for (int i = 0; i < count; i++) {
      n.a = value(type, taken(as, type->bits, i)), n.b = value(type, taken(bs, type->bits, i)), n.c = value(type, taken(cs, type->bits, i));
      // Values of these are unspecified.
      if (flags & DIVIDES && (n.b == 0 || (type->is_signed && n.a == least(&n) && n.b == -1))) continue;
      cl_ulong found = taken(outs + (size_t)f * CHUNK, bits, i), truth = (cl_ulong)FUNCTIONS[f].of(&n) & all;
      if (found == truth) continue;
      if (replaced < 0) {
        printf("%s of %s%d at a = %lld, b = %lld, c = %lld: %#llx, true is %#llx\n", FUNCTIONS[f].text, type->name, width, (long long)n.a,
               (long long)n.b, (long long)n.c, (unsigned long long)found, (unsigned long long)truth);
      }
      return f;
    }
  }
  return -1;
}

// Checks all functions of a type and width; returns the number of the first wrong one, or -1.
static int check(struct setting s, const struct type *type, int width, const struct plan *plan, int replaced, const char *text) {
  static char source[1 << 15];
  kernel_source(source, type, width, replaced, text);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "f", &error);
  CHECK(error);
  cl_mem memory[] = {buffer(s, sizeof as, as), buffer(s, sizeof bs, bs), buffer(s, sizeof cs, cs), buffer(s, sizeof outs, outs)};
  for (int i = 0; i < 4; i++) CHECK(clSetKernelArg(kernel, i, sizeof *memory, &memory[i]));
  list_special(type);
  state = plan->seed;
  int wrong = -1;
  cl_ulong tried = 0, all = 1;
  while (wrong < 0 && tried < all) {
    all = fill(type, tried) + plan->numbers;
    size_t global = CHUNK / width;
    CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    int count = all - tried < CHUNK ? (int)(all - tried) : CHUNK;
    wrong = compare(type, width, count, replaced);
    tried += count;
  }
  for (int i = 0; i < 4; i++) CHECK(clReleaseMemObject(memory[i]));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  if (!text) printf("%-7s width %2d: %llu numbers, %s\n", type->name, width, (unsigned long long)tried, wrong < 0 ? "ok" : "WRONG");
  return wrong;
}

// --- shuffles ---

static const struct moved {
  const char *name, *mask;
  int bits;
} MOVED[] = {
    {"char", "uchar", 8}, {"uchar", "uchar", 8}, {"short", "ushort", 16}, {"ushort", "ushort", 16}, {"half", "ushort", 16}, {"int", "uint", 32},
    {"uint", "uint", 32}, {"float", "uint", 32}, {"long", "ulong", 64},   {"ulong", "ulong", 64},   {"double", "ulong", 64},
};
enum { MOVED_COUNT = sizeof MOVED / sizeof *MOVED, ITEMS = 96, ROOM = ITEMS * 16 };

// Checks `shuffle` and `shuffle2` of vectors of one width to all widths, with random masks; returns the number of wrong ones.
static int check_shuffles(struct setting s, const struct moved *moved, int width, const char *fault, const struct plan *plan) {
  static char source[1 << 13];
  static const int widths[] = {2, 4, 8, 16};
  int length = sprintf(source,
                       "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
                       "kernel void f(global const %1$s *xs, global const %1$s *ys, global const %2$s *masks, global %1$s *outs) {\n"
                       "  size_t i = get_global_id(0);\n  %1$s%3$d x = vload%3$d(i, xs), y = vload%3$d(i, ys);\n",
                       moved->name, moved->mask, width);
  for (int k = 0; k < 4; k++) {
    for (int is_pair = 0; is_pair < 2; is_pair++) {
      length += sprintf(source + length, "  vstore%1$d(%2$s(x, %3$svload%1$d(i, masks)%5$s), i, outs + %4$d);\n", widths[k], is_pair ? "shuffle2" : "shuffle",
                        is_pair ? "y, " : "", (2 * k + is_pair) * ROOM, is_pair ? fault : "");
    }
  }
  sprintf(source + length, "}\n");
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, "f", &error);
  CHECK(error);
  cl_mem memory[] = {buffer(s, sizeof as, as), buffer(s, sizeof bs, bs), buffer(s, sizeof cs, cs), buffer(s, sizeof outs, outs)};
  for (int i = 0; i < 4; i++) CHECK(clSetKernelArg(kernel, i, sizeof *memory, &memory[i]));
  state = plan->seed;
  for (int i = 0; i < ROOM; i++) as[i] = next(), bs[i] = next(), cs[i] = next();
  // Patterns of floats without NaN, which a move might make quiet.
  for (int i = 0; i < ROOM; i++) {
    for (int part = 0; part < 64; part += moved->bits) {
      cl_ulong bit = (cl_ulong)1 << (part + moved->bits - 2);
      as[i] &= ~bit, bs[i] &= ~bit;
    }
  }
  size_t global = ITEMS;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  int wrong = 0;
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < ITEMS * widths[k]; i++) {
      cl_ulong at = taken(cs, moved->bits, i) & (2 * width - 1), item = i / widths[k];
      cl_ulong one = taken(as, moved->bits, item * width + at % width), two = taken(at < (cl_ulong)width ? as : bs, moved->bits, item * width + at % width);
      const char *results = (const char *)outs;
      size_t room = (size_t)ROOM * moved->bits / 8;
      wrong += taken(results + 2 * k * room, moved->bits, i) != one || taken(results + (2 * k + 1) * room, moved->bits, i) != two;
    }
  }
  for (int i = 0; i < 4; i++) CHECK(clReleaseMemObject(memory[i]));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  if (!fault[0]) printf("shuffles of %s%d: %s\n", moved->name, width, wrong ? "WRONG" : "ok");
  return wrong != 0;
}

// --- faults ---

static const struct {
  // The function, and a type among those for which the expression is wrong.
  const char *name, *type, *text;
  int width;
} FAULTS[] = {
    {"add_sat(a, b)", "int", "a + b", 1},
    {"add_sat(a, b)", "uchar", "(uchar)(a + b)", 1},
    {"sub_sat(a, b)", "long", "(b == LONG_MIN ? LONG_MAX : sub_sat(a, b))", 1},
    {"mad_sat(a, b, c)", "long", "add_sat(a * b, c)", 1},
    {"mad_sat(a, b, c)", "uint", "add_sat(a * b, c)", 4},
    {"mul_hi(a, b)", "short", "(short)((ushort)a * (ushort)b >> 16)", 1},
    {"mad_hi(a, b, c)", "int", "add_sat(mul_hi(a, b), c)", 1},
    {"hadd(a, b)", "int", "(a + b) >> 1", 1},
    {"rhadd(a, b)", "ulong", "hadd(a, b)", 2},
    {"rotate(a, b)", "char", "(char)((uchar)a << (b & 7))", 1},
    {"clz(a)", "ushort", "(a == 0 ? (ushort)0 : clz(a))", 1},
    {"ctz(a)", "int", "31 - clz(a & -a)", 1},
    {"popcount(a)", "long", "(long)popcount((int)a)", 1},
    {"AS(abs(a))", "char", "add_sat((char)abs(a), (char)0) == CHAR_MIN ? CHAR_MAX : (char)abs(a)", 1},
    {"AS(abs_diff(a, b))", "int", "AS(abs(a - b))", 1},
    {"max(a, b)", "uint", "AS(max(as_int(a), as_int(b)))", 1},
    {"min(a, b)", "long", "(a == LONG_MIN ? b : min(a, b))", 1},
    {"clamp(a, min(b, c), max(b, c))", "int", "min(a, max(b, c))", 1},
    {"bitselect(a, b, c)", "int", "bitselect(b, a, c)", 3},
    {"select(a, b, c)", "int", "select(a, b, -(c != 0))", 8},
    {"a << b", "int", "((b & 63) > 31 ? 0 : a << b)", 1},
    {"a >> b", "long", "(long)((ulong)a >> b)", 1},
    {"a / b", "int", "(int)((float)a / (float)b)", 1},
    {"a % b", "int", "a - a / b * b + (a == INT_MIN)", 1},
    {"AS(a < b)", "char", "AS(a - b < (char)0)", 4},
    {"upsample(a, AS_UNSIGNED(b))", "short", "(int)a << 16 | b", 1},
};

static int find_faults(struct setting s, const struct plan *plan) {
  int missed = 0, count = sizeof FAULTS / sizeof *FAULTS;
  for (int i = 0; i < count; i++) {
    int function = 0, type = 0;
    while (strcmp(FUNCTIONS[function].text, FAULTS[i].name)) EXPECT(++function < FUNCTION_COUNT);
    while (strcmp(TYPES[type].name, FAULTS[i].type)) EXPECT(++type < TYPE_COUNT);
    if (check(s, &TYPES[type], FAULTS[i].width, plan, function, FAULTS[i].text) == function) continue;
    printf("not found: %s for %s\n", FAULTS[i].text, FAULTS[i].name);
    missed++;
  }
  if (!check_shuffles(s, &MOVED[5], 4, " & 3", plan)) printf("not found: a mask of two vectors that is too short\n"), missed++;
  printf("%d faults, %d of them not found\n", count + 1, missed);
  return missed;
}

int main(int argc, char **argv) {
  struct plan plan = {20000, 1, 0};
  static const int widths[] = {1, 2, 3, 4, 8, 16};
  const char *type = "";
  int has_faults = 0, wrong = 0;
  for (int i = 1; i < argc; i++) {
    int has_value = i + 1 < argc;
    if (!strcmp(argv[i], "--numbers") && has_value) plan.numbers = (cl_ulong)strtod(argv[++i], NULL);
    else if (!strcmp(argv[i], "--seed") && has_value) plan.seed = strtoull(argv[++i], NULL, 0);
    else if (!strcmp(argv[i], "--type") && has_value) type = argv[++i];
    else if (!strcmp(argv[i], "--all")) plan.is_all = 1;
    else if (!strcmp(argv[i], "--faults")) has_faults = 1;
    else return fprintf(stderr, "integers: there is no option %s\n", argv[i]), 2;
  }
  struct setting s = start(0);
  if (has_faults) wrong = find_faults(s, &plan);
  for (int i = 0; i < TYPE_COUNT && !has_faults; i++) {
    if (type[0] && strcmp(type, TYPES[i].name)) continue;
    for (int k = 0; k < 6; k++) {
      int is_taken = plan.is_all || k == 0 || k == 1 + i % 5;
      wrong += is_taken && check(s, &TYPES[i], widths[k], &plan, -1, NULL) >= 0;
    }
  }
  for (int i = 0; i < MOVED_COUNT && !has_faults; i++) {
    if (type[0] && strcmp(type, MOVED[i].name)) continue;
    for (int width = 2; width <= 16; width *= 2) {
      int is_taken = plan.is_all || width == 2 << i % 4;
      wrong += is_taken && check_shuffles(s, &MOVED[i], width, "", &plan);
    }
  }
  end(s);
  if (wrong) return printf("%d wrong\n", wrong), 1;
  return passed();
}
