// Launches that the oracle repeats: with barriers and parts of a buffer, with a struct, with groups at the end that are
// smaller, one that reads what it may not, and one whose outcome is anything.
#include "check.h"

static const char *source =
    "kernel void sum(global int *to, global const int *from, local int *part) {\n"
    "  size_t i = get_local_id(0), n = get_local_size(0);\n"
    "  part[i] = from[get_global_id(0)];\n"
    "  for (size_t half_of = n / 2; half_of > 0; half_of /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i < half_of) part[i] += part[i + half_of];\n"
    "  }\n"
    "  if (i == 0) { to[get_group_id(0)] = part[0]; printf(\"\"); }\n"
    "}\n"
    "typedef struct { char tag; float weight; } item;\n"
    "kernel void thing(global float *to, item it) {\n"
    "  size_t i = get_global_id(0);\n"
    "  to[i] = sin((float)get_local_id(0)) * it.weight + it.tag;\n"
    "}\n"
    "kernel void races(global int *at, global int *to) {\n"
    "  size_t i = get_local_linear_id(), n = get_local_size(0) * get_local_size(1);\n"
    "  at[i] = i + 1;\n"
    "  to[i] = at[(i + 7) % n];\n"
    "}\n"
    "kernel void far(global int *to) { if (to[5000] == 1) to[0] = 1; }\n";

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_int error, data[256];
  for (int i = 0; i < 256; i++) data[i] = i;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  cl_buffer_region region = {0, 64};
  cl_mem first = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  CHECK(error);
  cl_kernel sum = clCreateKernel(program, "sum", &error);
  CHECK(error);
  CHECK(clSetKernelArg(sum, 0, sizeof first, &first));
  CHECK(clSetKernelArg(sum, 2, 16 * sizeof(cl_int), NULL));
  size_t global = 240, local = 16;
  cl_mem all = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error);
  CHECK(error);
  CHECK(clSetKernelArg(sum, 1, sizeof all, &all));
  CHECK(clEnqueueNDRangeKernel(s.queue, sum, 1, NULL, &global, &local, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, first, CL_TRUE, 0, 60, data, 0, NULL, NULL));
  for (int i = 0; i < 15; i++) EXPECT(data[i] == 16 * 16 * i + 120);
  struct { cl_char tag; cl_float weight; } item = {3, 0.5f};
  cl_kernel thing = clCreateKernel(program, "thing", &error);
  CHECK(error);
  CHECK(clSetKernelArg(thing, 0, sizeof all, &all));
  CHECK(clSetKernelArg(thing, 1, sizeof item, &item));
  global = 24, local = 8;
  CHECK(clEnqueueNDRangeKernel(s.queue, thing, 1, NULL, &global, &local, 0, NULL, NULL));
  global = 20;
  CHECK(clEnqueueNDRangeKernel(s.queue, thing, 1, NULL, &global, &local, 0, NULL, NULL));
  // Natively there is other memory after the buffer's, in the same allocation of the application.
  static cl_int large[8192];
  cl_mem small = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, 4096, large, &error);
  CHECK(error);
  cl_kernel far = clCreateKernel(program, "far", &error);
  CHECK(error);
  CHECK(clSetKernelArg(far, 0, sizeof small, &small));
  CHECK(clEnqueueTask(s.queue, far, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  // Work-items that run together read what others have written just before.
  cl_kernel races = clCreateKernel(program, "races", &error);
  CHECK(error);
  cl_mem twice[] = {clCreateBuffer(s.context, 0, 60, NULL, &error), clCreateBuffer(s.context, 0, 60, NULL, &error)};
  CHECK(error);
  size_t both[] = {5, 3};
  for (int i = 0; i < 2; i++) CHECK(clSetKernelArg(races, i, sizeof *twice, &twice[i]));
  CHECK(clEnqueueNDRangeKernel(s.queue, races, 2, NULL, both, both, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < 2; i++) CHECK(clReleaseMemObject(twice[i]));
  CHECK(clReleaseKernel(races));
  cl_mem memories[] = {first, memory, all, small};
  for (int i = 0; i < 4; i++) CHECK(clReleaseMemObject(memories[i]));
  CHECK(clReleaseKernel(sum));
  CHECK(clReleaseKernel(thing));
  CHECK(clReleaseKernel(far));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
