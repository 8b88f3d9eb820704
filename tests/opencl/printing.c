// Kernels that print: all conversions, from one group and from many.
#include "check.h"

static const char *source =
    "void deep(int i, constant char *word) { printf(\"%s %d\\n\", word, i); }\n"
    "kernel void all(int n, global const char *text) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i == 0) {\n"
    "    printf(\"100%% plain\\n\");\n"
    "    printf(\"%d %i %5d|%-5d|%05d|%+d|% d\\n\", -1, 2, 3, 4, 5, 6, 7);\n"
    "    printf(\"%u %o %x %#X %.3d\\n\", 4000000000u, 8, 255, 255, 7);\n"
    "    printf(\"%hhd %hd %ld %lu\\n\", (char)-1, (short)-2, -3L, 18446744073709551615UL);\n"
    "    printf(\"%f %.2f %e %G %a\\n\", 1.5f, 2.25, 12345.678, 1e-10, 1.0f);\n"
    "    printf(\"%c%c %s %10s|%-6s|\\n\", 'o', 'k', \"text\", \"right\", \"left\");\n"
    "    printf(\"%v2d %v3d %v4hlf %v8hhd\\n\", (int2)(1, -2), (int3)(3, 4, 5), (float4)(1, 2, 3, 4.5f), (char8)(-1, 2, 3, 4, 5, 6, 7, 8));\n"
    "    printf(\"%v2ld %v2lf %v4hx %#v2hlx\\n\", (long2)(1L << 40, -1), (double2)(0.5, 0.25), (ushort4)(1, 2, 3, 0xffff), (uint2)(16, 17));\n"
    "    printf(\"%.1v16hlf\\n\", (float16)(1));\n"
    "  }\n"
    "  // One after the other, in the order of work-items; those that are there.\n"
    "  if (i % 2) printf(\"odd %d of %d\\n\", i, n);\n"
    "  for (int j = 0; j < i; j++) if (j == 2) deep(i, \"far\");\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  printf(\"after\\n\");\n"
    "}\n"
    "kernel void many(void) { printf(\"work-item %05d is here\\n\", (int)get_global_id(0)); }\n";

static void launch(struct setting s, cl_kernel kernel, size_t global, size_t local) {
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
}

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "");
  cl_int error, n = 6;
  cl_kernel all = clCreateKernel(program, "all", &error);
  CHECK(error);
  cl_kernel many = clCreateKernel(program, "many", &error);
  CHECK(error);
  CHECK(clSetKernelArg(all, 0, sizeof n, &n));
  CHECK(clSetKernelArg(all, 1, sizeof(cl_mem), NULL));
  // What the application prints comes before what kernels print after it.
  printf("first\n");
  launch(s, all, 6, 6);
  printf("many\n");
  launch(s, many, 5000, 50);
  CHECK(clReleaseKernel(all));
  CHECK(clReleaseKernel(many));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
