// Many host threads at once, for so many seconds: each with its own queues and kernels and what all share, all kinds of
// commands, user events, callbacks, programs that are built meanwhile. What kernels compute is checked.
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const char *source =
    "kernel void step(global uint *a, uint by) { size_t i = get_global_id(0); a[i] = a[i] * 1664525u + by; }\n"
    "kernel void turn(global uint *a, local uint *b) {\n"
    "  size_t i = get_local_id(0), n = get_local_size(0);\n"
    "  b[i] = a[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[get_global_id(0)] = b[n - 1 - i];\n"
    "}\n"
    "kernel void count(global uint *all) { atomic_inc(all); }\n"
    "kernel void shade(read_only image2d_t from, write_only image2d_t to, uint by) {\n"
    "  const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  write_imageui(to, at, read_imageui(from, nearest, at) + by);\n"
    "}\n";

enum { N = 256, LOCAL = 16, MOST = 64, WIDTH = 16, KERNELS = 4 };

static struct setting s;
static cl_program program;
static cl_mem shared;
static double end_time;
static atomic_uint counted, called, rounds;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void CL_CALLBACK done(cl_event event, cl_int status, void *data) {
  (void)event;
  if (status == CL_COMPLETE) atomic_fetch_add((atomic_uint *)data, 1);
}

static cl_uint next(cl_uint *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

// Copies a buffer to an image, adds to all texels, and copies the result back. The event is that of the last command.
static cl_event shade_buffer(cl_command_queue queue, cl_mem memory, cl_uint by, cl_event before) {
  cl_int error;
  cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = N / WIDTH};
  cl_mem from = clCreateImage(s.context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
  CHECK(error);
  cl_mem to = clCreateImage(s.context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
  CHECK(error);
  cl_kernel shade = clCreateKernel(program, "shade", &error);
  CHECK(error);
  size_t origin[3] = {0}, region[] = {WIDTH, N / WIDTH, 1};
  cl_event copied, shaded, copied_back;
  CHECK(clEnqueueCopyBufferToImage(queue, memory, from, 0, origin, region, 1, &before, &copied));
  CHECK(clSetKernelArg(shade, 0, sizeof from, &from));
  CHECK(clSetKernelArg(shade, 1, sizeof to, &to));
  CHECK(clSetKernelArg(shade, 2, sizeof by, &by));
  CHECK(clEnqueueNDRangeKernel(queue, shade, 2, NULL, region, NULL, 1, &copied, &shaded));
  CHECK(clEnqueueCopyImageToBuffer(queue, to, memory, origin, region, 0, 1, &shaded, &copied_back));
  CHECK(clReleaseEvent(copied));
  CHECK(clReleaseEvent(shaded));
  CHECK(clReleaseKernel(shade));
  CHECK(clReleaseMemObject(from));
  CHECK(clReleaseMemObject(to));
  return copied_back;
}

// One queue, some commands whose order is given by the queue or by events, and what they must have left.
static void one_round(cl_uint *seed) {
  cl_int error;
  int in_order = next(seed) % 2;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  cl_command_queue queue = clCreateCommandQueueWithProperties(s.context, s.device, list, &error);
  CHECK(error);
  cl_uint expected[N], found[N];
  for (cl_uint i = 0; i < N; i++) expected[i] = i;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof expected, expected, &error);
  CHECK(error);
  cl_kernel step = clCreateKernel(program, "step", &error), turn = clCreateKernel(program, "turn", &error);
  cl_kernel count = clCreateKernel(program, "count", &error);
  CHECK(error);
  CHECK(clSetKernelArg(step, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(turn, 0, sizeof memory, &memory));
  CHECK(clSetKernelArg(turn, 1, LOCAL * sizeof(cl_uint), NULL));
  CHECK(clSetKernelArg(count, 0, sizeof shared, &shared));
  cl_event gate = clCreateUserEvent(s.context, &error), before = gate;
  CHECK(error);
  CHECK(clRetainEvent(gate));
  int commands = 1 + next(seed) % 12;
  for (int command = 0; command < commands; command++) {
    size_t global = N, local = LOCAL;
    cl_event event;
    cl_uint by = next(seed);
    switch (next(seed) % 5) {
      case 0:
        CHECK(clSetKernelArg(step, 1, sizeof by, &by));
        CHECK(clEnqueueNDRangeKernel(queue, step, 1, NULL, &global, NULL, 1, &before, &event));
        for (int i = 0; i < N; i++) expected[i] = expected[i] * 1664525u + by;
        break;
      case 1:
        CHECK(clEnqueueNDRangeKernel(queue, turn, 1, NULL, &global, &local, 1, &before, &event));
        for (int i = 0; i < N; i += LOCAL)
          for (int j = 0; j < LOCAL / 2; j++) {
            cl_uint value = expected[i + j];
            expected[i + j] = expected[i + LOCAL - 1 - j], expected[i + LOCAL - 1 - j] = value;
          }
        break;
      case 2:
        CHECK(clEnqueueFillBuffer(queue, memory, &by, sizeof by, 64, 128, 1, &before, &event));
        for (int i = 16; i < 48; i++) expected[i] = by;
        break;
      case 3:
        event = shade_buffer(queue, memory, by, before);
        for (int i = 0; i < N; i++) expected[i] += by;
        break;
      default:
        CHECK(clEnqueueNDRangeKernel(queue, count, 1, NULL, &global, NULL, 1, &before, &event));
        atomic_fetch_add(&counted, N);
    }
    CHECK(clSetEventCallback(event, CL_COMPLETE, done, &called));
    atomic_fetch_add(&rounds, 1);
    CHECK(clReleaseEvent(before));
    before = event;
  }
  cl_event read;
  CHECK(clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, sizeof found, found, 1, &before, &read));
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  if (next(seed) % 2) {
    CHECK(clWaitForEvents(1, &read));
  } else {
    CHECK(clFinish(queue));
  }
  EXPECT(!memcmp(expected, found, sizeof found));
  CHECK(clReleaseEvent(read));
  CHECK(clReleaseEvent(before));
  CHECK(clReleaseEvent(gate));
  cl_kernel kernels[] = {step, turn, count};
  for (int i = 0; i < 3; i++) CHECK(clReleaseKernel(kernels[i]));
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseCommandQueue(queue));
}

// A context and a program of its own.
static void one_build(cl_uint *seed) {
  cl_int error;
  cl_context context = clCreateContext(NULL, 1, &s.device, say, NULL, &error);
  CHECK(error);
  cl_program own = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  CHECK(error);
  char options[32];
  sprintf(options, "-D PLACE=%u", next(seed) % 8);
  CHECK(clBuildProgram(own, 0, NULL, options, NULL, NULL));
  cl_kernel kernels[KERNELS];
  CHECK(clCreateKernelsInProgram(own, KERNELS, kernels, NULL));
  for (int i = 0; i < KERNELS; i++) CHECK(clReleaseKernel(kernels[i]));
  CHECK(clReleaseProgram(own));
  CHECK(clReleaseContext(context));
}

static void *work(void *data) {
  cl_uint seed = (cl_uint)(size_t)data;
  for (cl_uint turn = 0; now() < end_time; turn++) {
    one_round(&seed);
    if (turn % 50 == 0) one_build(&seed);
  }
  return NULL;
}

int main(int count, char **arguments) {
  double seconds = count > 1 ? atof(arguments[1]) : 2;
  int threads = count > 2 ? atoi(arguments[2]) : 12;
  EXPECT(threads >= 1 && threads <= MOST);
  cl_int error;
  cl_uint zero = 0, all;
  s = start(0);
  program = build(s, source, "");
  shared = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof zero, &zero, &error);
  CHECK(error);
  end_time = now() + seconds;
  pthread_t handles[MOST];
  for (int i = 0; i < threads; i++) EXPECT(!pthread_create(&handles[i], NULL, work, (void *)(size_t)(i + 1)));
  for (int i = 0; i < threads; i++) EXPECT(!pthread_join(handles[i], NULL));
  CHECK(clEnqueueReadBuffer(s.queue, shared, CL_TRUE, 0, sizeof all, &all, 0, NULL, NULL));
  // Callbacks come after the completion that others wait for.
  for (int wait = 0; wait < 1000 && called < rounds; wait++) nanosleep(&(struct timespec){0, 10000000}, NULL);
  fprintf(stderr, "%u commands\n", rounds);
  EXPECT(all == counted && called == rounds);
  CHECK(clReleaseMemObject(shared));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
