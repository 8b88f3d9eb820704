// Ends the process while kernels are compiled, so many microseconds after
//   launches: a kernel has run for as long as it takes until other numbers of lanes are tried;
//   kernels:  kernels were created, which other threads compile before they are launched;
//   build:    another thread has begun to build the program.
// The second argument says who ends the process: `main`, or a `thread` that knows nothing of OpenCL. With `nobody` the main thread ends
// by itself, and another one goes on with the kernels.
#include "check.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define BODY(NUMBER) \
  "kernel void work" #NUMBER "(global float *a) {\n" \
  "  size_t i = get_global_id(0);\n" \
  "  float x = a[i], y = i % 7 + " #NUMBER ";\n" \
  "  for (int k = 0; k < 100; k++) {\n" \
  "    if (x > y) x = sin(x) * cos(y) + pow(fabs(x), 0.3f);\n" \
  "    else y = exp(-x) + log(fabs(y) + 1) + tgamma(fabs(x));\n" \
  "  }\n" \
  "  a[i] = x + y;\n" \
  "}\n"

static const char *source = BODY(0) BODY(1) BODY(2) BODY(3) BODY(4) BODY(5) BODY(6) BODY(7) BODY(8) BODY(9);

// So many that no one waits for their compilation when they are created.
enum { KERNELS = 10, ITEMS = 1 << 14 };

static struct setting s;
static cl_kernel kernels[KERNELS];

static void create(void) {
  cl_program program = build(s, source, "");
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, 0, sizeof(float) * ITEMS, NULL, &error);
  CHECK(error);
  for (int k = 0; k < KERNELS; k++) {
    char name[] = "work0";
    name[4] += k;
    kernels[k] = clCreateKernel(program, name, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernels[k], 0, sizeof memory, &memory));
  }
}

static void launch(cl_kernel kernel) {
  size_t global = ITEMS;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
}

static void launch_for_a_while(void) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    launch(kernels[0]);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 130);
}

static void *leave(void *microseconds) {
  usleep(*(int *)microseconds);
  exit(passed());
}

static void *launch_all(void *none) {
  (void)none;
  // The main thread ends while these kernels are compiled.
  for (int k = 0; k < KERNELS; k++) launch(kernels[k]);
  exit(passed());
}

static void *create_again(void *none) {
  (void)none;
  create();
  return NULL;
}

// A part of the exit that runs after LLVM's tables are destroyed, as destructors of an application may.
static void linger(void) { usleep(100000); }

int main(int count, char **arguments) {
  EXPECT(count == 4);
  static int wait;
  wait = atoi(arguments[3]);
  const char *when = arguments[1], *who = arguments[2];
  pthread_t thread;
  EXPECT(!atexit(linger));
  s = start(0);
  if (!strcmp(when, "build")) {
    EXPECT(!pthread_create(&thread, NULL, create_again, NULL));
  } else {
    create();
    if (!strcmp(when, "launches")) launch_for_a_while();
  }
  if (!strcmp(who, "nobody")) {
    EXPECT(!pthread_create(&thread, NULL, launch_all, NULL));
    usleep(wait);
    pthread_exit(NULL);
  }
  if (!strcmp(who, "thread")) {
    EXPECT(!pthread_create(&thread, NULL, leave, &wait));
    if (!strcmp(when, "launches")) {
      for (;;) launch(kernels[0]);
    }
    for (;;) pause();
  }
  usleep(wait);
  return passed();
}
