// How often bytes come up: each work-group counts in its own memory, and adds that to the counts of all.
//   cc histogram.c $(pkg-config --cflags --libs heddle) -o histogram && ./histogram
#include <heddle/program.h>
#include <stdio.h>

enum { COUNT = 1 << 20, GROUP = 256 };

static const char source[] =
    "kernel void histogram(global const uchar *bytes, uint count, local uint *own, global uint *bins) {\n"
    "  own[get_local_id(0)] = 0;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (uint i = get_global_id(0); i < count; i += get_global_size(0)) atomic_inc(&own[bytes[i]]);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  atomic_add(&bins[get_local_id(0)], own[get_local_id(0)]);\n"
    "}\n";

int main(void) {
  static unsigned char bytes[COUNT];
  static unsigned bins[GROUP], wanted[GROUP];
  for (unsigned i = 0; i < COUNT; i++) bytes[i] = (unsigned char)(i * 2654435761u >> 24), wanted[bytes[i]]++;

  heddle_program *program = heddle_program_from_opencl_c(source, NULL);
  if (!heddle_program_ok(program)) return fputs(heddle_program_messages(program), stderr), 1;
  heddle_kernel *kernel = heddle_program_kernel(program, "histogram");
  const unsigned count = COUNT;
  const size_t items = 16 * GROUP, group = GROUP;
  bool done = heddle_kernel_set_memory(kernel, 0, bytes) && heddle_kernel_set_value(kernel, 1, &count, sizeof count) &&
              heddle_kernel_set_local(kernel, 2, GROUP * sizeof *bins) && heddle_kernel_set_memory(kernel, 3, bins) &&
              heddle_kernel_launch(kernel, 1, &items, &group);
  if (!done) return fputs(heddle_kernel_messages(kernel), stderr), 1;

  int wrong = 0;
  for (int i = 0; i < GROUP; i++) wrong += bins[i] != wanted[i];
  printf("%s%d of %d counts differ\n", heddle_kernel_report(kernel), wrong, GROUP);
  heddle_kernel_free(kernel);
  heddle_program_free(program);
  return wrong != 0;
}
