// What is made and released over and over takes no more memory in the end, and a kernel that never ends does not keep the
// process from exiting.
#include "check.h"

static const char *source =
    "kernel void none(global int *a) { }\n"
    "kernel void endless(global int *a) { for (;;) a[0]++; }\n";

static long resident(void) {
  long pages = 0, all;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT(file && fscanf(file, "%ld %ld", &all, &pages) == 2);
  fclose(file);
  return pages * 4;
}

static void cycle(struct setting s, cl_program program, int i) {
  cl_int error;
  cl_context context = clCreateContext(NULL, 1, &s.device, NULL, NULL, &error);
  CHECK(error);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, s.device, NULL, &error);
  CHECK(error);
  cl_mem memory = clCreateBuffer(context, 0, 4096, NULL, &error);
  CHECK(error);
  cl_buffer_region region = {128, 128};
  cl_mem part = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  CHECK(error);
  cl_event user = clCreateUserEvent(context, &error), fill;
  CHECK(error);
  CHECK(clEnqueueFillBuffer(queue, part, &i, sizeof i, 0, 64, 1, &user, &fill));
  CHECK(clSetUserEventStatus(user, i % 3 ? CL_COMPLETE : -1));
  CHECK(clFinish(queue));
  cl_program other = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  CHECK(error);
  cl_kernel kernel = clCreateKernel(program, "none", &error);
  CHECK(error);
  cl_kernel clone = clCloneKernel(kernel, &error);
  CHECK(error);
  void *shared = clSVMAlloc(context, 0, 256, 0);
  EXPECT(shared);
  if (i % 2) clSVMFree(context, shared);
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseMemObject(part));
  CHECK(clReleaseEvent(user));
  CHECK(clReleaseEvent(fill));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseKernel(clone));
  CHECK(clReleaseProgram(other));
  CHECK(clReleaseCommandQueue(queue));
  CHECK(clReleaseContext(context));
}

int main(int count, char **arguments) {
  int cycles = count > 1 ? atoi(arguments[1]) : 100000;
  struct setting s = start(0);
  cl_program program = build(s, source, "");
  for (int i = 0; i < cycles / 4; i++) cycle(s, program, i);
  long before = resident();
  for (int i = 0; i < cycles; i++) cycle(s, program, i);
  long after = resident();
  fprintf(stderr, "%ld KiB, then %ld KiB\n", before, after);
  EXPECT(after - before < 4096);

  cl_int error;
  int zero = 0;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof zero, &zero, &error);
  CHECK(error);
  cl_kernel endless = clCreateKernel(program, "endless", &error);
  CHECK(error);
  CHECK(clSetKernelArg(endless, 0, sizeof memory, &memory));
  size_t global = 1;
  CHECK(clEnqueueNDRangeKernel(s.queue, endless, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFlush(s.queue));
  return passed();
}
