// Sub-group functions of all types, in all lanes and in some, against loops over local memory; bit fields; dot products.
// covers: cl_khr_subgroup_extended_types cl_khr_subgroup_non_uniform_arithmetic cl_khr_subgroup_clustered_reduce
// covers: cl_khr_subgroup_rotate cl_khr_extended_bit_ops cl_khr_integer_dot_product cl_khr_subgroups
#include "check.h"
#include <CL/cl_ext.h>

// A work-item compares a function of its sub-group with a loop over the values that its active lanes have laid down.
static const char *frame =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#if !defined cl_khr_subgroup_extended_types || !defined cl_khr_subgroup_non_uniform_arithmetic || \\\n"
    "    !defined cl_khr_subgroup_clustered_reduce || !defined cl_khr_subgroup_rotate || \\\n"
    "    !defined cl_khr_extended_bit_ops || !defined cl_khr_integer_dot_product\n"
    "#error an extension is missing\n"
    "#endif\n"
    "#define J_add(a, b) ((a) + (b))\n"
    "#define J_mul(a, b) ((a) * (b))\n"
    "#define J_min(a, b) ((b) < (a) ? (b) : (a))\n"
    "#define J_max(a, b) ((a) < (b) ? (b) : (a))\n"
    "#define J_and(a, b) ((a) & (b))\n"
    "#define J_or(a, b) ((a) | (b))\n"
    "#define J_xor(a, b) ((a) ^ (b))\n"
    "#define J_logical_and(a, b) ((a) && (b))\n"
    "#define J_logical_or(a, b) ((a) || (b))\n"
    "#define J_logical_xor(a, b) (!(a) != !(b))\n"
    // Each bit of the errors is a function. Expectations are computed in one loop over the lanes of the sub-group.
    "#define KERNEL(name, T, call, step) \\\n"
    "  kernel void name(global int *errors) { \\\n"
    "    local T values[256]; \\\n"
    "    int l = get_local_id(0), lane = get_sub_group_local_id(), base = l - lane, size = get_sub_group_size(); \\\n"
    "    T x = (T)((l * 7 + 3) % 5 - (l % 3 == 0 ? 1 : 0)); \\\n"
    "    int is_some = l % 3 != 1, wrong = 0; \\\n"
    "    values[l] = x; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    call \\\n"
    "    for (int i = 0; i < size; i++) { \\\n"
    "      T v = values[base + i]; \\\n"
    "      int counts = (base + i) % 3 != 1; \\\n"
    "      step \\\n"
    "    } \\\n"
    "    CHECKED \\\n"
    "    if (wrong) { atomic_or(errors, wrong); } \\\n"
    "  }\n"
    "#define CHECKED \\\n"
    "  wrong |= r0 != e0 ? 1 : 0; wrong |= r1 != e1 ? 2 : 0; wrong |= r2 != e2 ? 4 : 0; wrong |= r3 != e3 ? 8 : 0; \\\n"
    "  wrong |= r4 != e4 ? 16 : 0;\n"
    "#define EXPECTED(T, neutral) T e0 = (T)(neutral), e1 = e0, e2 = e0, e3 = e0, e4 = e0; T r0 = e0, r1 = e0, r2 = e0, r3 = e0, r4 = e0;\n"
    "#define MEET(T, e, by, condition) if (condition) e = (T)J_##by(e, v);\n"
    "#define WHOLE(T, by, neutral) \\\n"
    "  KERNEL(whole_##by##_##T, T, \\\n"
    "    EXPECTED(T, neutral) \\\n"
    "    r0 = sub_group_reduce_##by(x); r1 = sub_group_scan_inclusive_##by(x); r2 = sub_group_scan_exclusive_##by(x);, \\\n"
    "    MEET(T, e0, by, true) MEET(T, e1, by, i <= lane) MEET(T, e2, by, i < lane))\n"
    "#define OTHERS(T, by, neutral) \\\n"
    "  KERNEL(some_##by##_##T, T, \\\n"
    "    EXPECTED(T, neutral) \\\n"
    "    if (is_some) { \\\n"
    "      r0 = sub_group_non_uniform_reduce_##by(x); r1 = sub_group_non_uniform_scan_inclusive_##by(x); \\\n"
    "      r2 = sub_group_non_uniform_scan_exclusive_##by(x); r3 = sub_group_clustered_reduce_##by(x, 2); \\\n"
    "    } \\\n"
    "    r4 = sub_group_clustered_reduce_##by(x, 4);, \\\n"
    "    MEET(T, e0, by, is_some && counts) MEET(T, e1, by, is_some && counts && i <= lane) \\\n"
    "    MEET(T, e2, by, is_some && counts && i < lane) MEET(T, e3, by, is_some && counts && i / 2 == lane / 2) \\\n"
    "    MEET(T, e4, by, i / 4 == lane / 4))\n"
    "#define NUMBERS(T, least, most) \\\n"
    "  WHOLE(T, add, 0) WHOLE(T, min, most) WHOLE(T, max, least) \\\n"
    "  OTHERS(T, add, 0) OTHERS(T, mul, 1) OTHERS(T, min, most) OTHERS(T, max, least) \\\n"
    "  kernel void moved_##T(global int *errors) { \\\n"
    "    local T values[256]; \\\n"
    "    int l = get_local_id(0), lane = get_sub_group_local_id(), base = l - lane; \\\n"
    "    T x = (T)(l % 100); \\\n"
    "    values[l] = x; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    int width = get_max_sub_group_size(); \\\n"
    "    int wrong = sub_group_broadcast(x, 1) != values[base + 1]; \\\n"
    "    wrong += sub_group_rotate(x, 3) != values[base + (lane + 3) % width]; \\\n"
    "    wrong += sub_group_rotate(x, -1) != values[base + (lane + width - 1) % width]; \\\n"
    "    wrong += sub_group_clustered_rotate(x, 1, 4) != values[base + (lane & ~3) + (lane + 1) % 4]; \\\n"
    "    wrong += sub_group_clustered_rotate(x, -1, 2) != values[base + (lane ^ 1)]; \\\n"
    "    T##2 two = (T##2)(x, x + (T)1); T##3 three = (T##3)(two, x); T##16 many = (T##16)(x); \\\n"
    "    wrong += sub_group_broadcast(two, 1).y != values[base + 1] + (T)1; \\\n"
    "    wrong += sub_group_broadcast(three, 1).z != values[base + 1]; \\\n"
    "    wrong += sub_group_broadcast(many, 1).sf != values[base + 1]; \\\n"
    "    wrong += sub_group_broadcast(many.lo, 1).s7 != values[base + 1]; \\\n"
    "    wrong += sub_group_broadcast(many.lo.lo, 1).s3 != values[base + 1]; \\\n"
    "    if (wrong) { atomic_add(errors, wrong); } \\\n"
    "  }\n"
    "#define BITS(T, least, most) NUMBERS(T, least, most) OTHERS(T, and, ~(T)0) OTHERS(T, or, 0) OTHERS(T, xor, 0) \\\n"
    "  FIELDS(T, T) FIELDS(T##3, T)\n"
    // Each bit of a field is that of its source.
    "#define FIELDS(T, E) \\\n"
    "  kernel void fields_##T(global int *errors) { \\\n"
    "    int l = get_local_id(0), bits = sizeof(E) * 8, offset = l % bits, count = l * 3 % (bits - offset + 1); \\\n"
    "    T base = (T)(l * 37 - 100), other = (T)(99 - l * 53); \\\n"
    "    ulong insert = as_bits(bitfield_insert(base, other, offset, count)), low = as_bits(base), high = as_bits(other); \\\n"
    "    ulong out = as_bits(bitfield_extract_unsigned(base, offset, count)); \\\n"
    "    long with_sign = first(bitfield_extract_signed(base, offset, count)); \\\n"
    "    ulong back = as_bits(bit_reverse(base)); \\\n"
    "    int wrong = 0; \\\n"
    "    for (int i = 0; i < bits; i++) { \\\n"
    "      int is_in = i >= offset && i < offset + count; \\\n"
    "      wrong += (insert >> i & 1) != ((is_in ? high >> (i - offset) : low >> i) & 1); \\\n"
    "      wrong += (out >> i & 1) != (i < count ? low >> (i + offset) & 1 : 0); \\\n"
    "      int from = i < count ? i : count - 1; \\\n"
    "      wrong += (with_sign >> i & 1) != (count ? low >> (from + offset) & 1 : 0); \\\n"
    "      wrong += (back >> i & 1) != (low >> (bits - 1 - i) & 1); \\\n"
    "    } \\\n"
    "    if (wrong) { atomic_add(errors, wrong); } \\\n"
    "  }\n"
    "#define AS_BITS(T, U) \\\n"
    "  ulong __attribute__((overloadable)) as_bits(T x) { return (U)x; } \\\n"
    "  ulong __attribute__((overloadable)) as_bits(T##3 x) { return (U)x.z; } \\\n"
    "  long __attribute__((overloadable)) first(T x) { return x; } \\\n"
    "  long __attribute__((overloadable)) first(T##3 x) { return x.z; }\n"
    "AS_BITS(char, uchar) AS_BITS(uchar, uchar) AS_BITS(short, ushort) AS_BITS(ushort, ushort)\n"
    "AS_BITS(int, uint) AS_BITS(uint, uint) AS_BITS(long, ulong) AS_BITS(ulong, ulong)\n";

static const char *bodies[] = {
    "BITS(char, CHAR_MIN, CHAR_MAX)\n",
    "BITS(uchar, 0, UCHAR_MAX)\n",
    "BITS(short, SHRT_MIN, SHRT_MAX)\n",
    "BITS(ushort, 0, USHRT_MAX)\n",
    "BITS(int, INT_MIN, INT_MAX)\n",
    "OTHERS(int, logical_and, 1) OTHERS(int, logical_or, 0) OTHERS(int, logical_xor, 0)\n",
    "BITS(uint, 0, UINT_MAX)\n",
    "BITS(long, LONG_MIN, LONG_MAX)\n",
    "BITS(ulong, 0, ULONG_MAX)\n",
    "NUMBERS(half, -INFINITY, INFINITY)\n",
    "NUMBERS(float, -INFINITY, INFINITY)\n",
    "NUMBERS(double, -INFINITY, INFINITY)\n",
    // Sums are compared with sums of products, and saturate at both ends.
    "kernel void products(global int *errors) {\n"
    "  int l = get_local_id(0);\n"
    "  uchar4 u = (uchar4)(l, 255 - l, 3, 200), v = (uchar4)(9, l, 255, 17);\n"
    "  char4 s = (char4)(l - 128, 5, -128, 127), t = (char4)(-1, l - 100, -128, 3);\n"
    "  uint uu = u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;\n"
    "  int ss = s.x * t.x + s.y * t.y + s.z * t.z + s.w * t.w, us = u.x * t.x + u.y * t.y + u.z * t.z + u.w * t.w;\n"
    "  int wrong = dot(u, v) != uu || dot(s, t) != ss || dot(u, t) != us || dot(t, u) != us;\n"
    "  wrong += dot_4x8packed_uu_uint(as_uint(u), as_uint(v)) != uu || dot_4x8packed_ss_int(as_uint(s), as_uint(t)) != ss;\n"
    "  wrong += dot_4x8packed_us_int(as_uint(u), as_uint(t)) != us || dot_4x8packed_su_int(as_uint(t), as_uint(u)) != us;\n"
    "  wrong += dot_acc_sat(u, v, 7u) != uu + 7 || dot_acc_sat(u, v, UINT_MAX - 1) != (uu > 1 ? UINT_MAX : UINT_MAX - 1 + uu);\n"
    "  wrong += dot_acc_sat(s, t, 7) != ss + 7 || dot_acc_sat(s, t, INT_MAX) != (ss > 0 ? INT_MAX : INT_MAX + ss);\n"
    "  wrong += dot_acc_sat(u, t, INT_MIN) != (us < 0 ? INT_MIN : INT_MIN + us) || dot_acc_sat(t, u, -7) != us - 7;\n"
    "  wrong += dot_acc_sat_4x8packed_uu_uint(as_uint(u), as_uint(v), 7u) != uu + 7;\n"
    "  wrong += dot_acc_sat_4x8packed_ss_int(as_uint(s), as_uint(t), 7) != ss + 7;\n"
    "  wrong += dot_acc_sat_4x8packed_us_int(as_uint(u), as_uint(t), 7) != us + 7;\n"
    "  wrong += dot_acc_sat_4x8packed_su_int(as_uint(t), as_uint(u), 7) != us + 7;\n"
    "  if (wrong) { atomic_inc(errors); }\n"
    "}\n",
};

// All kernels of a program count no error.
static int run(struct setting s, cl_program program) {
  cl_uint count, failures = 0;
  cl_kernel kernels[256];
  cl_int error;
  CHECK(clCreateKernelsInProgram(program, 256, kernels, &count));
  for (cl_uint i = 0; i < count; i++) {
    cl_int errors = 0;
    cl_mem to = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof errors, &errors, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernels[i], 0, sizeof to, &to));
    size_t items = 256;
    CHECK(clEnqueueNDRangeKernel(s.queue, kernels[i], 1, NULL, &items, &items, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof errors, &errors, 0, NULL, NULL));
    char name[128];
    CHECK(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    if (errors) fprintf(stderr, "%s: errors %#x\n", name, errors);
    failures += errors != 0;
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(kernels[i]));
  }
  return failures;
}

int main(void) {
  // Some 140 kernels are launched once: one code of each is enough.
  setenv("HEDDLE_TRIALS", "off", 1);
  struct setting s = start(0);
  char text[16384];
  int failures = 0;
  cl_bitfield inputs;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR, sizeof inputs, &inputs, NULL));
  EXPECT(inputs == (CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR | CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR));
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    snprintf(text, sizeof text, "%s%s", frame, bodies[i]);
    cl_program program = build(s, text, "-cl-std=CL3.0");
    failures += run(s, program);
    CHECK(clReleaseProgram(program));
  }
  // Wrong expectations are noticed.
  snprintf(text, sizeof text, "%sWHOLE(int, add, 1)\n", frame);
  fprintf(stderr, "expected: ");
  cl_program program = build(s, text, "-cl-std=CL3.0");
  EXPECT(run(s, program) == 1);
  CHECK(clReleaseProgram(program));
  EXPECT(failures == 0);
  end(s);
  return passed();
}
