// Runs one program in one of its forms.
//
//   driver list               names of the programs
//   driver fill NAME PTX MS   runs the form in CUDA for so many milliseconds, so that a cache is filled
//   driver cuda NAME PTX      the form in CUDA
//   driver openmp NAME        the form in C with OpenMP
//
// The latter two print the seconds of loading with the first run, by the clock on the wall and by the processor, then, for CUDA,
// how far the outputs are from those of the form in OpenMP, relative to the tolerance. Each line of the input is a time in
// milliseconds, for which they run; they answer with the number of runs and their seconds by both clocks. At the end of the
// input CUDA's outputs are compared again, and the last line has the larger difference.
#define _GNU_SOURCE
#include "kit.h"
#include "programs.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 32, HUGE_PAGE = 2 << 20 };
// Microseconds after which threads of OpenMP no longer poll for work.
static const unsigned REST = 250000;
static const double FLOAT_TOLERANCE = 1e-4, DOUBLE_TOLERANCE = 1e-10;

#define DECLARE(name) extern const struct program name##_program;
#define ENTRY(name) &name##_program,
PROGRAMS(DECLARE)
static const struct program *const programs[] = {PROGRAMS(ENTRY)};
enum { COUNT = sizeof programs / sizeof *programs };

void need(CUresult code, const char *text) {
  if (code == CUDA_SUCCESS)
    return;
  fprintf(stderr, "%s: error %d\n", text, (int)code);
  exit(1);
}

static struct array arrays[MOST];
static int array_count;
enum output_kind { EXACT_OUTPUT, FLOAT_OUTPUT, DOUBLE_OUTPUT };
static struct output {
  struct array array;
  enum output_kind kind;
  double typical;
} outputs[MOST];
static int output_count;

// The device has arrays only in the process that runs the form in CUDA.
static int has_device;

struct array new_array(size_t bytes) {
  struct array array = {.bytes = bytes};
  size_t alignment = bytes < HUGE_PAGE ? 4096 : HUGE_PAGE;
  if (array_count == MOST || posix_memalign(&array.host, alignment, (bytes + alignment - 1) / alignment * alignment)) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  // The driver has its large arrays in huge pages, too.
  if (bytes >= HUGE_PAGE)
    madvise(array.host, bytes, MADV_HUGEPAGE);
  memset(array.host, 0, bytes);
  if (has_device)
    NEED(cuMemAlloc(&array.device, bytes));
  return arrays[array_count++] = array;
}

static void add_output(struct array array, enum output_kind kind, double typical) {
  outputs[output_count++] = (struct output){array, kind, typical};
}

void float_output(struct array array, double typical) { add_output(array, FLOAT_OUTPUT, typical); }
void double_output(struct array array, double typical) { add_output(array, DOUBLE_OUTPUT, typical); }
void exact_output(struct array array) { add_output(array, EXACT_OUTPUT, 0); }

static double far(double found, double wanted, double typical, double tolerance) {
  double by = fabs(found - wanted) / (fabs(wanted) + typical) / tolerance;
  // Values that are no numbers are wrong.
  return by >= 0 ? by : INFINITY;
}

static double difference(struct output output) {
  void *found = malloc(output.array.bytes);
  NEED(cuMemcpyDtoH(found, output.array.device, output.array.bytes));
  double worst = 0;
  size_t bytes = output.array.bytes;
  switch (output.kind) {
  case EXACT_OUTPUT:
    worst = memcmp(found, output.array.host, bytes) ? INFINITY : 0;
    break;
  case FLOAT_OUTPUT:
    for (size_t i = 0; i < bytes / sizeof(float); i++)
      worst = fmax(worst, far(((float *)found)[i], FLOATS(output.array)[i], output.typical, FLOAT_TOLERANCE));
    break;
  case DOUBLE_OUTPUT:
    for (size_t i = 0; i < bytes / sizeof(double); i++)
      worst = fmax(worst, far(((double *)found)[i], DOUBLES(output.array)[i], output.typical, DOUBLE_TOLERANCE));
    break;
  }
  free(found);
  return worst;
}

static double worst_difference(void) {
  double worst = 0;
  for (int i = 0; i < output_count; i++)
    worst = fmax(worst, difference(outputs[i]));
  return output_count ? worst : INFINITY;
}

static uint64_t state = 1;

unsigned next_random(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33);
}

float next_unit(void) { return next_random() * (1.0f / 2147483648.0f); }

void fill_floats(struct array array, float low, float high) {
  for (size_t i = 0; i < array.bytes / sizeof(float); i++)
    FLOATS(array)[i] = low + (high - low) * next_unit();
}

struct graph new_graph(int nodes, int degree, int is_skewed) {
  struct graph graph = {new_array((nodes + 1) * sizeof(int)), {0}, nodes, 0};
  int *starts = INTS(graph.starts);
  for (int i = 0; i < nodes; i++)
    starts[i + 1] = starts[i] + (int)(next_random() % (2 * degree + 1));
  graph.edges = starts[nodes];
  graph.ends = new_array(graph.edges * sizeof(int));
  for (int i = 0; i < graph.edges; i++) {
    double at = next_unit();
    INTS(graph.ends)[i] = (int)((is_skewed ? at * at * at : at) * nodes) % nodes;
  }
  return graph;
}

static CUmodule module;
static CUdevice device;
static struct {
  const char *name;
  CUfunction function;
} kernels[16];
static int kernel_count;

static CUfunction kernel_of(const char *name) {
  for (int i = 0; i < kernel_count; i++)
    if (!strcmp(kernels[i].name, name))
      return kernels[i].function;
  need(cuModuleGetFunction(&kernels[kernel_count].function, module, name), name);
  kernels[kernel_count].name = name;
  return kernels[kernel_count++].function;
}

void launch(const char *kernel, struct grid grid, void *const *arguments) {
  need(cuLaunchKernel(kernel_of(kernel), grid.blocks[0], grid.blocks[1], 1, grid.threads[0], grid.threads[1], 1, 0, NULL,
                      (void **)arguments, NULL),
       kernel);
}

void set_constant(const char *name, const void *bytes, size_t size) {
  CUdeviceptr address;
  need(cuModuleGetGlobal(&address, NULL, module, name), name);
  need(cuMemcpyHtoD(address, bytes, size), name);
}

// Seconds by the clock on the wall, and of the processor for all threads of the process.
struct moment {
  double wall, processor;
};

static struct moment now(void) {
  struct timespec time;
  struct rusage usage;
  clock_gettime(CLOCK_MONOTONIC, &time);
  getrusage(RUSAGE_SELF, &usage);
  double user = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
  double kernel = usage.ru_stime.tv_sec + usage.ru_stime.tv_usec * 1e-6;
  return (struct moment){time.tv_sec + time.tv_nsec * 1e-9, user + kernel};
}

static struct moment since(struct moment start) {
  struct moment end = now();
  return (struct moment){end.wall - start.wall, end.processor - start.processor};
}

static void run_once(const struct program *program) {
  if (!has_device) {
    program->openmp();
    return;
  }
  program->cuda();
  NEED(cuCtxSynchronize());
}

static int run_for(const struct program *program, double milliseconds) {
  struct moment start = now();
  int runs = 0;
  do {
    run_once(program);
    runs++;
  } while (since(start).wall * 1e3 < milliseconds);
  return runs;
}

static void serve(const struct program *program) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    struct moment start = now();
    int runs = run_for(program, atof(line));
    struct moment took = since(start);
    // Threads that poll for work would take time from the other form.
    if (!has_device && omp_get_max_threads() > 1)
      usleep(REST);
    printf("%d;%.9f;%.9f\n", runs, took.wall, took.processor);
    fflush(stdout);
  }
}

static void open_device(void) {
  CUcontext context;
  NEED(cuInit(0));
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDevicePrimaryCtxRetain(&context, device));
  NEED(cuCtxSetCurrent(context));
  has_device = 1;
}

static void close_device(void) {
  NEED(cuModuleUnload(module));
  NEED(cuDevicePrimaryCtxRelease(device));
}

int main(int count, char **arguments) {
  const char *form = count > 1 ? arguments[1] : "";
  if (!strcmp(form, "list")) {
    for (int i = 0; i < COUNT; i++)
      printf("%s\n", programs[i]->name);
    return 0;
  }
  const struct program *program = NULL;
  for (int i = 0; i < COUNT && count > 2; i++)
    if (!strcmp(programs[i]->name, arguments[2]))
      program = programs[i];
  int fills = !strcmp(form, "fill"), is_cuda = fills || !strcmp(form, "cuda");
  if (!program || count != 3 + is_cuda + fills) {
    fprintf(stderr, "usage: driver list | fill NAME PTX MS | cuda NAME PTX | openmp NAME\n");
    return 2;
  }
  if (is_cuda)
    open_device();
  program->prepare();
  for (int i = 0; i < array_count && is_cuda; i++)
    NEED(cuMemcpyHtoD(arrays[i].device, arrays[i].host, arrays[i].bytes));
  struct moment start = now();
  if (is_cuda)
    NEED(cuModuleLoad(&module, arguments[3]));
  if (fills) {
    run_for(program, atof(arguments[4]));
    close_device();
    return 0;
  }
  run_once(program);
  struct moment took = since(start);
  double worst = 0;
  if (is_cuda) {
    program->openmp();
    usleep(REST);
    worst = worst_difference();
  }
  printf("%.9f;%.9f;%.3e\n", took.wall, took.processor, worst);
  fflush(stdout);
  serve(program);
  if (is_cuda) {
    printf("%.3e\n", fmax(worst, worst_difference()));
    close_device();
  }
}
