// Builds kernels with the options of the first argument, and shows the build log.
#include "check.h"

static const char *source =
    "kernel void gathers(global int *a, global const int *b, global int *n) {\n"
    "  size_t i = get_global_id(0); int d = a[i];\n"
    "  int c = b[d & 7];\n"
    "  if (c > 3)\n"
    "    atomic_add(n, c);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[i] = c;\n"
    "}\n"
    "kernel void plain(global int *a) { a[get_global_id(0)] += 1; }\n";

int main(int count, char **arguments) {
  struct setting s = start(0);
  cl_program program = build(s, source, count > 1 ? arguments[1] : "");
  char log[4096];
  CHECK(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  puts(log);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
