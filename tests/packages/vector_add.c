/* Adds two vectors with the library of an archive. */
#include <heddle/program.h>
#include <stdio.h>

enum { COUNT = 1000 };

int main(void) {
  const char *source =
      "kernel void add(global const float *x, global const float *y, global float *z) {\n"
      "  size_t i = get_global_id(0);\n"
      "  z[i] = x[i] + y[i];\n"
      "}\n";
  static float x[COUNT], y[COUNT], z[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = i, y[i] = 2 * i;
  size_t count = COUNT;
  heddle_program *program = heddle_program_from_opencl_c(source, "");
  heddle_kernel *add = heddle_program_kernel(program, "add");
  heddle_kernel_set_memory(add, 0, x);
  heddle_kernel_set_memory(add, 1, y);
  heddle_kernel_set_memory(add, 2, z);
  if (!heddle_kernel_launch(add, 1, &count, NULL)) {
    fputs(heddle_kernel_messages(add), stderr);
    return 1;
  }
  for (int i = 0; i < COUNT; i++) {
    if (z[i] != 3 * i) {
      printf("wrong at %d: %g\n", i, z[i]);
      return 1;
    }
  }
  puts("vector add passed");
}
