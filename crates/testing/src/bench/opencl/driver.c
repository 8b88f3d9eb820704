// Runs one workload on the device that the loader finds, as often as its arguments state.
//
//   driver FOLDER NAME SIZE     SIZE is 0 or 1; sources are in FOLDER
//   driver start FOLDER NAME    building and launching for the first time: cold, and again by the same process
//   driver first FOLDER NAME SIZE
//                               building and the first launches: one line for building, one for each count of launches;
//                               NAME may be `unseen/FILE.cl:KERNEL`, too
//   driver form FOLDER FILE.cl:KERNEL SETTLING BUDGET
//                               a kernel with a line as those of `unseen/`: building and the first ten launches, the result, and the
//                               shortest launch within a budget after some time; milliseconds of the processor
//   driver limits               what this core does at most: GB/s within the cache and beyond, Gflop/s
//   driver list                 names of workloads, and whether each has a large size
//
// At first it says how long building and the first launch took, how far results are off, and what a run does. Then each line
// of the input is a time in milliseconds, for which it runs; it answers with the shortest run, by the clock on the wall
// and by the time that the processor spent on this process.
#define _GNU_SOURCE
#include "kit.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static double wall(void) { return seconds(CLOCK_MONOTONIC); }
static double processor(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

void need(cl_int code, const char *what) {
  if (code == CL_SUCCESS)
    return;
  fprintf(stderr, "%s: error %d\n", what, code);
  exit(1);
}

void *fresh(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, (bytes + 4095) / 4096 * 4096))
    need(CL_OUT_OF_HOST_MEMORY, "memory");
  return memset(memory, 0, bytes);
}

cl_mem buffer_of(struct run *run, const void *bytes, size_t size) {
  cl_int code;
  cl_mem buffer = clCreateBuffer(run->context, CL_MEM_READ_WRITE, size, NULL, &code);
  need(code, "clCreateBuffer");
  void *zeros = bytes ? NULL : fresh(size);
  write_back(run, buffer, bytes ? bytes : zeros, size);
  free(zeros);
  return buffer;
}

void write_back(struct run *run, cl_mem buffer, const void *bytes, size_t size) {
  need(clEnqueueWriteBuffer(run->queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

void read_out(struct run *run, cl_mem buffer, void *bytes, size_t size) {
  need(clEnqueueReadBuffer(run->queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL), "clEnqueueReadBuffer");
}

void give(cl_kernel kernel, const char *kinds, ...) {
  va_list list;
  va_start(list, kinds);
  for (cl_uint i = 0; kinds[i]; i++) {
    cl_mem buffer;
    cl_int number;
    cl_float real;
    switch (kinds[i]) {
    case 'm':
      buffer = va_arg(list, cl_mem);
      need(clSetKernelArg(kernel, i, sizeof buffer, &buffer), "clSetKernelArg");
      break;
    case 'i':
      number = va_arg(list, int);
      need(clSetKernelArg(kernel, i, sizeof number, &number), "clSetKernelArg");
      break;
    case 'f':
      real = (float)va_arg(list, double);
      need(clSetKernelArg(kernel, i, sizeof real, &real), "clSetKernelArg");
      break;
    case 'l':
      need(clSetKernelArg(kernel, i, va_arg(list, size_t), NULL), "clSetKernelArg");
      break;
    }
  }
  va_end(list);
}

void go(struct run *run, int kernel, size_t width, size_t height, size_t local_width, size_t local_height) {
  const size_t global[] = {width, height}, local[] = {local_width, local_height};
  const cl_uint dimensions = height ? 2 : 1;
  need(clEnqueueNDRangeKernel(run->queue, run->kernels[kernel], dimensions, NULL, global, local_width ? local : NULL, 0,
                              NULL, NULL),
       "clEnqueueNDRangeKernel");
}

static unsigned long long state = 1;

unsigned next_random(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33);
}

static void next_sequence(void) { state = 1; }

float next_unit(void) { return next_random() * (1.0f / 2147483648.0f); }

static size_t source_size;

static char *source_of(const char *folder, const char *file) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *in = fopen(path, "r");
  if (!in) {
    perror(path);
    exit(1);
  }
  char *text = fresh(1 << 16);
  source_size = fread(text, 1, (1 << 16) - 1, in);
  text[source_size] = 0;
  fclose(in);
  return text;
}

static void build(struct run *run, const struct workload *workload, const char *source, const char *options) {
  cl_int code;
  // A file may hold SPIR-V in the place of OpenCL C.
  if (!memcmp(source, "\x03\x02\x23\x07", 4))
    run->program = clCreateProgramWithIL(run->context, source, source_size, &code);
  else
    run->program = clCreateProgramWithSource(run->context, 1, &source, NULL, &code);
  need(code, "clCreateProgramWithSource");
  code = clBuildProgram(run->program, 1, &run->device, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(run->program, run->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
    need(code, "clBuildProgram");
  }
  for (int i = 0; i < 2 && workload->kernels[i]; i++) {
    run->kernels[i] = clCreateKernel(run->program, workload->kernels[i], &code);
    need(code, "clCreateKernel");
  }
}

// The clock on the wall and the processor's time of a run.
static void once(struct run *run, const struct workload *workload, double took[2]) {
  if (workload->restore)
    workload->restore(run);
  double processor_start = processor(), wall_start = wall();
  workload->launch(run);
  need(clFinish(run->queue), "clFinish");
  took[0] = wall() - wall_start;
  took[1] = processor() - processor_start;
}

static void open_device(struct run *run, char name[256]) {
  cl_platform_id platform;
  cl_int code;
  need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  need(clGetPlatformInfo(platform, CL_PLATFORM_NAME, 255, name, NULL), "clGetPlatformInfo");
  need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &run->device, NULL), "clGetDeviceIDs");
  run->context = clCreateContext(NULL, 1, &run->device, NULL, NULL, &code);
  need(code, "clCreateContext");
  run->queue = clCreateCommandQueue(run->context, run->device, 0, &code);
  need(code, "clCreateCommandQueue");
}

// Seconds of the processor to build and to launch for the first time: cold, then the least of some times again.
static void begin(const struct workload *workload, const char *folder) {
  struct run run = {0};
  char name[256] = "";
  open_device(&run, name);
  char *source = source_of(folder, workload->file);
  double cold = 0.0, again = INFINITY;
  for (int round = 0; round < 4; round++) {
    double start = processor(), took[2];
    build(&run, workload, source, "");
    double built = processor() - start;
    next_sequence();
    run.own = NULL;
    workload->prepare(&run);
    once(&run, workload, took);
    double all = built + took[1];
    if (round == 0)
      cold = all;
    else
      again = fmin(again, all);
    for (int i = 0; i < 2 && run.kernels[i]; i++)
      need(clReleaseKernel(run.kernels[i]), "clReleaseKernel");
    need(clReleaseProgram(run.program), "clReleaseProgram");
  }
  printf("%.9f;%.9f\n", cold, again);
}

static void serve(const struct workload *workload, const char *folder, int is_large, const char *description) {
  struct run run = {.is_large = is_large};
  char name[256] = "";
  open_device(&run, name);
  char *source = source_of(folder, workload->file), options[256] = "";
  if (description)
    unseen_options(description, options);
  double start = processor(), took[2];
  build(&run, workload, source, options);
  double built = processor() - start;
  if (description)
    unseen_prepare(&run, description);
  else
    workload->prepare(&run);
  once(&run, workload, took);
  printf("%s;%.9f;%.9f;%.3e;%.6e;%.6e\n", name, built, took[1], workload->worst(&run), run.operations, run.bytes);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    double budget = atof(line) * 1e-3, least[2] = {INFINITY, INFINITY}, spent = 0.0;
    do {
      once(&run, workload, took);
      for (int i = 0; i < 2; i++)
        least[i] = fmin(least[i], took[i]);
      spent += took[1];
    } while (spent < budget);
    printf("%.9f;%.9f\n", least[0], least[1]);
    fflush(stdout);
  }
}

static double own_processor(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

// Prints the seconds of building, then, for some counts N, the sum of the first N launches: by the clock on the wall, and by
// the processor's time of the whole process since building began, without what this thread spends on data. Ends after so
// many launches, or after so many seconds of launches. The last line is the error of the result.
static void first(const struct workload *workload, const char *folder, int is_large, const char *line) {
  enum { LAUNCHES = 1000 };
  const double limit = 1.5;
  static const int counts[] = {1, 3, 10, 30, 100, 300, LAUNCHES};
  struct run run = {.is_large = is_large};
  char name[256] = "";
  open_device(&run, name);
  char *source = source_of(folder, workload->file);
  double start = processor(), start_wall = wall(), waited = 0.0, sum = 0.0;
  build(&run, workload, source, "");
  printf("0;%.9f;%.9f\n", wall() - start_wall, processor() - start);
  double other = own_processor();
  if (line)
    unseen_prepare(&run, line);
  else
    workload->prepare(&run);
  waited += own_processor() - other;
  for (int launches = 1, next = 0; launches <= LAUNCHES && sum < limit; launches++) {
    if (workload->restore) {
      other = own_processor();
      workload->restore(&run);
      waited += own_processor() - other;
    }
    double before = wall();
    if (line)
      unseen_launch(&run);
    else
      workload->launch(&run);
    need(clFinish(run.queue), "clFinish");
    sum += wall() - before;
    if (launches == counts[next]) {
      printf("%d;%.9f;%.9f\n", launches, sum, processor() - start - waited);
      next++;
    }
    if (launches == 1 && line) {
      // Later launches may work on what this one has changed.
      other = own_processor();
      printf("sum;%.9e\n", unseen_sum(&run));
      waited += own_processor() - other;
    }
  }
  if (!line)
    printf("worst;%.3e\n", workload->worst(&run));
}

static int described(const char *folder, const char *name, char file[256], char line[1024]) {
  const char *colon = strchr(name, ':');
  if (!colon)
    return 0;
  snprintf(file, 256, "%.*s", (int)(colon - name), name);
  return unseen_line(source_of(folder, file), colon + 1, line);
}

static int first_unseen(const char *folder, const char *name) {
  char file[256], line[1024];
  if (!described(folder, name, file, line))
    return 0;
  const struct workload workload = {.name = name, .file = file, .kernels = {strchr(name, ':') + 1}};
  first(&workload, folder, 0, line);
  return 1;
}

// Prints building and the first ten launches, a sum and the norm of the results of the first launch, and the shortest launch
// within a budget of milliseconds after others have settled: times by the clock on the wall and of the processor.
static int form(const char *folder, const char *name, double settling, double budget) {
  char file[256], line[1024], platform[256] = "";
  if (!described(folder, name, file, line))
    return 0;
  const struct workload workload = {.name = name, .file = file, .kernels = {strchr(name, ':') + 1}, .launch = unseen_launch};
  struct run run = {0};
  open_device(&run, platform);
  char *source = source_of(folder, file);
  double start = processor(), start_wall = wall(), waited = 0.0, waited_wall = 0.0, check[2], took[2];
  build(&run, &workload, source, "");
  for (int launch = 0; launch <= 10; launch++) {
    // Making data and reading results is not counted.
    double other = own_processor(), other_wall = wall();
    if (launch == 0)
      unseen_prepare(&run, line);
    if (launch == 1)
      unseen_check(&run, check);
    waited += own_processor() - other;
    waited_wall += wall() - other_wall;
    if (launch < 10)
      once(&run, &workload, took);
  }
  printf("first;%.9f;%.9f\ncheck;%.9e;%.9e\n", wall() - start_wall - waited_wall, processor() - start - waited, check[0],
         check[1]);
  for (double spent = 0.0; spent < settling * 1e-3; spent += took[1])
    once(&run, &workload, took);
  double least[2] = {INFINITY, INFINITY};
  for (double spent = 0.0; spent < budget * 1e-3; spent += took[1]) {
    once(&run, &workload, took);
    for (int i = 0; i < 2; i++)
      least[i] = fmin(least[i], took[i]);
  }
  printf("last;%.9f;%.9f\n", least[0], least[1]);
  return 1;
}

// Serves a kernel of `unseen/`, whose launch `FILE.lines` describes: the file itself may be SPIR-V. The error of its result is a sum
// over all outputs instead.
static int serve_unseen(const char *folder, const char *name) {
  char file[256], lines[272], line[1024];
  const char *colon = strchr(name, ':');
  if (!colon)
    return 0;
  snprintf(file, sizeof file, "%.*s", (int)(colon - name), name);
  snprintf(lines, sizeof lines, "%s.lines", file);
  if (!unseen_line(source_of(folder, lines), colon + 1, line))
    return 0;
  const struct workload workload = {
      .name = name, .file = file, .kernels = {colon + 1}, .launch = unseen_launch, .worst = unseen_sum};
  serve(&workload, folder, 0, line);
  return 1;
}

// GB/s of a sum of two arrays into a third, as many bytes in all.
static double bandwidth(size_t bytes) {
  size_t count = bytes / 12, repeats = (64u << 20) / bytes + 1;
  float *a = fresh(count * 4), *b = fresh(count * 4), *c = fresh(count * 4);
  double least = INFINITY;
  for (int round = 0; round < 12; round++) {
    double start = processor();
    for (size_t repeat = 0; repeat < repeats; repeat++) {
      for (size_t i = 0; i < count; i++)
        c[i] = a[i] + b[i];
      __asm__ volatile("" ::: "memory");
    }
    least = fmin(least, (processor() - start) / repeats);
  }
  free(a);
  free(b);
  free(c);
  return count * 12 / least * 1e-9;
}

// A vector register of the machine that this is compiled for; larger vectors fit no register constraint.
#ifdef __AVX512F__
enum { VECTOR_BYTES = 64 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
#ifdef __x86_64__
#define VECTOR_REGISTER "+v"
#else
#define VECTOR_REGISTER "+w"
#endif
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

// Gflop/s of fused multiplications and additions that wait for nothing.
static double arithmetic(void) {
  vector sums[12] = {0}, factor = {0};
  double least = INFINITY;
  for (int round = 0; round < 12; round++) {
    double start = processor();
    for (int i = 0; i < 200000; i++) {
#pragma clang loop unroll(full)
      for (int k = 0; k < 12; k++) {
        sums[k] = sums[k] * factor + factor;
        __asm__ volatile("" : VECTOR_REGISTER(sums[k]));
      }
    }
    least = fmin(least, processor() - start);
  }
  return 200000.0 * 12 * (VECTOR_BYTES / sizeof(float)) * 2 / least * 1e-9;
}

int main(int count, char **arguments) {
  if (count == 2 && !strcmp(arguments[1], "list")) {
    for (int i = 0; i < workload_count; i++)
      printf("%s;%d\n", workloads[i].name, workloads[i].has_large);
    return 0;
  }
  if (count == 2 && !strcmp(arguments[1], "limits")) {
    printf("%.3f;%.3f;%.3f\n", bandwidth(192 << 10), bandwidth(192 << 20), arithmetic());
    return 0;
  }
  for (int i = 0; count == 5 && !strcmp(arguments[1], "first") && i < workload_count; i++)
    if (!strcmp(arguments[3], workloads[i].name)) {
      first(&workloads[i], arguments[2], atoi(arguments[4]), NULL);
      return 0;
    }
  if (count == 5 && !strcmp(arguments[1], "first") && first_unseen(arguments[2], arguments[3]))
    return 0;
  if (count == 6 && !strcmp(arguments[1], "form") &&
      form(arguments[2], arguments[3], atof(arguments[4]), atof(arguments[5])))
    return 0;
  if (count == 4 && strcmp(arguments[1], "start") && serve_unseen(arguments[1], arguments[2]))
    return 0;
  int starts = count == 4 && !strcmp(arguments[1], "start");
  for (int i = 0; count == 4 && i < workload_count; i++) {
    if (starts && !strcmp(arguments[3], workloads[i].name)) {
      begin(&workloads[i], arguments[2]);
      return 0;
    }
    if (!starts && !strcmp(arguments[2], workloads[i].name)) {
      serve(&workloads[i], arguments[1], atoi(arguments[3]), NULL);
      return 0;
    }
  }
  fprintf(stderr, "usage: driver FOLDER NAME SIZE, driver start FOLDER NAME, driver first FOLDER NAME SIZE, "
                  "driver form FOLDER NAME SETTLING BUDGET, driver limits, driver list\n");
  return 2;
}
