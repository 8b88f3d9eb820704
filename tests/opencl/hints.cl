// Kernel of `versions.c` with expectations and assumptions, as OpenCL C and as SPIR-V.
// covers: cl_khr_expect_assume
#if !__has_builtin(__builtin_expect) || !__has_builtin(__builtin_assume)
#error builtins of clang are missing
#endif
kernel void hinted(global int *at) {
  int i = get_global_id(0), value = at[i];
  __builtin_assume(value >= 0);
  if (__builtin_expect(value == 3, 1)) at[i] = 7;
  at[i] += __builtin_expect(value, 5) % 4;
}
