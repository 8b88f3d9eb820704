// What workloads are made of: see driver.c for how they are run, workloads.c for what they are.
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stddef.h>

// A workload made ready: what it needs to be launched again and again.
struct run {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_device_id device;
  cl_kernel kernels[2];
  // Whether the data is to be larger than the caches.
  int is_large;
  // What one run does: arithmetic operations, and bytes that a machine with endless caches would read and write.
  double operations, bytes;
  // The workload's own.
  void *own;
};

struct workload {
  const char *name, *file, *kernels[2];
  // Whether there is a large size.
  int has_large;
  // Makes data and sets arguments.
  void (*prepare)(struct run *);
  // Brings back the data that a run changes, where the next one would do something else; may be null.
  void (*restore)(struct run *);
  // Enqueues one run.
  void (*launch)(struct run *);
  // How far the results are from the host's own, relative to 1 plus their size.
  double (*worst)(struct run *);
};

extern const struct workload workloads[];
extern const int workload_count;

// Ends the process with a message if this is an error code.
void need(cl_int code, const char *what);
// Zeroed memory of the host.
void *fresh(size_t bytes);
// A buffer with these bytes, or with zeros if there are none.
cl_mem buffer_of(struct run *run, const void *bytes, size_t size);
void write_back(struct run *run, cl_mem buffer, const void *bytes, size_t size);
void read_out(struct run *run, cl_mem buffer, void *bytes, size_t size);
// Sets arguments by kind: m a buffer, i an int, f a float, l a size in local memory.
void give(cl_kernel kernel, const char *kinds, ...);
// Enqueues a kernel; without a local size if that is 0.
void go(struct run *run, int kernel, size_t width, size_t height, size_t local_width, size_t local_height);
// The next of a fixed sequence of numbers, and one from 0 to 1.
unsigned next_random(void);
float next_unit(void);

// Kernels with a line that describes a launch: see unseen.c. The line of a kernel, whether there is one; its buffers and
// arguments; a launch; the sum of its outputs; the sum with weights of either sign, and the norm of the outputs; its options.
int unseen_line(const char *source, const char *kernel, char line[1024]);
void unseen_prepare(struct run *run, const char *line);
void unseen_launch(struct run *run);
double unseen_sum(struct run *run);
void unseen_check(struct run *run, double out[2]);
void unseen_options(const char *line, char options[256]);
