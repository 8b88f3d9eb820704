// Ends the process while kernels are compiled in the background: so many microseconds after a kernel has run for as long as it
// takes until other numbers of lanes are tried; with `thread`, by a thread that knows nothing of OpenCL, while others go on.
#include "check.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const char *source =
    "kernel void work(global float *a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  float x = a[i], y = i % 7;\n"
    "  for (int k = 0; k < 100; k++) {\n"
    "    if (x > y) x = sin(x) * cos(y) + pow(fabs(x), 0.3f);\n"
    "    else y = exp(-x) + log(fabs(y) + 1) + tgamma(fabs(x));\n"
    "  }\n"
    "  a[i] = x + y;\n"
    "}\n";

static void *leave(void *microseconds) {
  usleep(*(int *)microseconds);
  exit(passed());
}

int main(int count, char **arguments) {
  EXPECT(count == 2 || (count == 3 && !strcmp(arguments[2], "thread")));
  int wait = atoi(arguments[1]);
  struct setting s = start(0);
  cl_program program = build(s, source, "");
  cl_int error;
  cl_kernel work = clCreateKernel(program, "work", &error);
  CHECK(error);
  cl_mem memory = clCreateBuffer(s.context, 0, sizeof(float) << 14, NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(work, 0, sizeof memory, &memory));
  size_t global = 1 << 14;
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    CHECK(clEnqueueNDRangeKernel(s.queue, work, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clFinish(s.queue));
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 130);
  if (count == 3) {
    pthread_t thread;
    EXPECT(!pthread_create(&thread, NULL, leave, &wait));
    for (;;) {
      CHECK(clEnqueueNDRangeKernel(s.queue, work, 1, NULL, &global, NULL, 0, NULL, NULL));
      CHECK(clFinish(s.queue));
    }
  }
  usleep(wait);
  return passed();
}
