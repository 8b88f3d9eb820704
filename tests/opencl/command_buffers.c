// Command buffers: every function, recording and execution, sync points, all wrong arguments, several executions at once.
// covers: cl_khr_command_buffer
#include "check.h"

// The interface of version 0.9.8, which older headers lack.
typedef struct buffer_of_commands *command_buffer;
typedef cl_uint sync_point;
#define TAIL cl_uint, const sync_point *, sync_point *, void **
static command_buffer (*create)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
static cl_int (*finalize)(command_buffer), (*retain)(command_buffer), (*release)(command_buffer);
static cl_int (*enqueue)(cl_uint, cl_command_queue *, command_buffer, cl_uint, const cl_event *, cl_event *);
static cl_int (*info)(command_buffer, cl_uint, size_t, void *, size_t *);
static cl_int (*barrier)(command_buffer, cl_command_queue, const cl_ulong *, TAIL);
static cl_int (*ndrange)(command_buffer, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, TAIL);
static cl_int (*copy)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, cl_mem, size_t, size_t, size_t, TAIL);
static cl_int (*copy_rect)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, cl_mem, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, TAIL);
static cl_int (*copy_to_image)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, cl_mem, size_t, const size_t *, const size_t *, TAIL);
static cl_int (*copy_image)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, cl_mem, const size_t *, const size_t *, const size_t *, TAIL);
static cl_int (*copy_from_image)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, cl_mem, const size_t *, const size_t *, size_t, TAIL);
static cl_int (*fill)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, const void *, size_t, size_t, size_t, TAIL);
static cl_int (*fill_image)(command_buffer, cl_command_queue, const cl_ulong *, cl_mem, const void *, const size_t *, const size_t *, TAIL);
static cl_int (*svm_copy)(command_buffer, cl_command_queue, const cl_ulong *, void *, const void *, size_t, TAIL);
static cl_int (*svm_fill)(command_buffer, cl_command_queue, const cl_ulong *, void *, const void *, size_t, size_t, TAIL);

enum {
  FLAGS = 0x1293, QUEUES = 0x1294, NUM_QUEUES = 0x1295, REFERENCES = 0x1296, STATE = 0x1297, PROPERTIES = 0x1298, CONTEXT = 0x1299,
  SUPPORTED_QUEUES = 0x129a, KIND = 0x12a8, CAPABILITIES = 0x12a9, REQUIRED_QUEUES = 0x12aa,
  RECORDING = 0, EXECUTABLE = 1, SIMULTANEOUS = 1, MUTABLE = 2,
  INVALID_BUFFER = -1138, INVALID_SYNC_POINTS = -1139
};

static void find(struct setting s, const char *name, void *function) {
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, name);
  if (!address) fprintf(stderr, "no %s\n", name);
  EXPECT(address);
  memcpy(function, &address, sizeof address);
}

static command_buffer make(struct setting s) {
  cl_int error;
  command_buffer b = create(1, &s.queue, NULL, &error);
  CHECK(error);
  return b;
}

static cl_mem memory(struct setting s, size_t size) {
  cl_int error;
  cl_mem made = clCreateBuffer(s.context, 0, size, NULL, &error);
  CHECK(error);
  return made;
}

// Executes a command buffer and waits for it.
static void execute(struct setting s, command_buffer b) {
  cl_event event;
  CHECK(enqueue(0, NULL, b, 0, NULL, &event));
  CHECK(clWaitForEvents(1, &event));
  CHECK(clReleaseEvent(event));
  (void)s;
}

static void creation(struct setting s) {
  cl_int error;
  cl_bitfield bits;
  CHECK(clGetDeviceInfo(s.device, CAPABILITIES, sizeof bits, &bits, NULL));
  EXPECT(bits & 1);
  CHECK(clGetDeviceInfo(s.device, SUPPORTED_QUEUES, sizeof bits, &bits, NULL));
  EXPECT(bits == (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE));
  CHECK(clGetDeviceInfo(s.device, REQUIRED_QUEUES, sizeof bits, &bits, NULL));
  EXPECT(bits == 0);
  cl_command_queue two[] = {s.queue, s.queue}, wrong = (cl_command_queue)s.context;
  EXPECT(!create(0, &s.queue, NULL, &error) && error == CL_INVALID_VALUE);
  EXPECT(!create(2, two, NULL, &error) && error == CL_INVALID_VALUE);
  EXPECT(!create(1, NULL, NULL, &error) && error == CL_INVALID_VALUE);
  EXPECT(!create(1, &wrong, NULL, &error) && error == CL_INVALID_COMMAND_QUEUE);
  cl_ulong unknown[] = {0x7777, 0, 0}, bad[] = {FLAGS, 64, 0}, twice[] = {FLAGS, 0, FLAGS, 0, 0}, mutable[] = {FLAGS, MUTABLE, 0};
  EXPECT(!create(1, &s.queue, unknown, &error) && error == CL_INVALID_VALUE);
  EXPECT(!create(1, &s.queue, bad, &error) && error == CL_INVALID_VALUE);
  EXPECT(!create(1, &s.queue, twice, &error) && error == CL_INVALID_VALUE);
  command_buffer changeable = create(1, &s.queue, mutable, &error);
  CHECK(error);
  CHECK(release(changeable));
  cl_ulong simultaneous[] = {FLAGS, SIMULTANEOUS, 0}, found[3];
  command_buffer b = create(1, &s.queue, simultaneous, &error);
  CHECK(error);
  cl_uint number;
  size_t size;
  void *handle;
  CHECK(info(b, NUM_QUEUES, sizeof number, &number, &size));
  EXPECT(number == 1 && size == sizeof number);
  CHECK(info(b, QUEUES, sizeof handle, &handle, &size));
  EXPECT(handle == s.queue && size == sizeof handle);
  CHECK(info(b, CONTEXT, sizeof handle, &handle, NULL));
  EXPECT(handle == s.context);
  CHECK(info(b, PROPERTIES, sizeof found, found, &size));
  EXPECT(size == sizeof found && !memcmp(found, simultaneous, size));
  CHECK(retain(b));
  CHECK(info(b, REFERENCES, sizeof number, &number, NULL));
  EXPECT(number == 2);
  CHECK(release(b));
  CHECK(info(b, STATE, sizeof number, &number, NULL));
  EXPECT(number == RECORDING);
  CODE(info(b, STATE, sizeof number - 1, &number, NULL), CL_INVALID_VALUE);
  CODE(info(b, 0x7777, sizeof number, &number, NULL), CL_INVALID_VALUE);
  CODE(enqueue(0, NULL, b, 0, NULL, NULL), CL_INVALID_OPERATION);
  CHECK(finalize(b));
  CHECK(info(b, STATE, sizeof number, &number, NULL));
  EXPECT(number == EXECUTABLE);
  CODE(finalize(b), CL_INVALID_OPERATION);
  CODE(enqueue(1, NULL, b, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(enqueue(0, &s.queue, b, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(enqueue(2, two, b, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(enqueue(1, &wrong, b, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
  CODE(enqueue(0, NULL, b, 1, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
  CODE(enqueue(0, NULL, (command_buffer)s.queue, 0, NULL, NULL), INVALID_BUFFER);
  struct setting other = start(0);
  CODE(enqueue(1, &other.queue, b, 0, NULL, NULL), CL_INVALID_CONTEXT);
  end(other);
  // Without commands.
  execute(s, b);
  CHECK(release(b));
  CODE(finalize(b), INVALID_BUFFER);
  CODE(retain(b), INVALID_BUFFER);
  CODE(release(b), INVALID_BUFFER);
  CODE(info(b, STATE, sizeof number, &number, NULL), INVALID_BUFFER);
}

// Expects the errors that each command has; its own arguments follow.
#define REFUSES(function, ...) \
  do { \
    command_buffer target = b; \
    cl_command_queue queue = NULL; \
    const cl_ulong *properties = NULL; \
    sync_point none[] = {77}; \
    cl_ulong property[] = {5, 5, 0}, empty[] = {0}; \
    void *mutable; \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 1, NULL, NULL, NULL), INVALID_SYNC_POINTS); \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 0, none, NULL, NULL), INVALID_SYNC_POINTS); \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 1, none, NULL, NULL), INVALID_SYNC_POINTS); \
    if ((void *)function != (void *)ndrange) \
      CODE(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, &mutable), CL_INVALID_VALUE); \
    properties = property; \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, NULL), CL_INVALID_VALUE); \
    properties = empty; \
    queue = s.queue; \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, NULL), CL_INVALID_COMMAND_QUEUE); \
    queue = NULL; \
    target = (command_buffer)s.queue; \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, NULL), INVALID_BUFFER); \
    target = done; \
    CODE(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, NULL), CL_INVALID_OPERATION); \
    target = b; \
    CHECK(function(target, queue, properties, ##__VA_ARGS__, 0, NULL, NULL, NULL)); \
  } while (0)

static const char *source =
    "kernel void add(global int *to, int n) { to[get_global_id(0)] += n; }\n"
    "kernel void print(void) { printf(\"recorded\\n\"); }\n";

static void refusals(struct setting s, cl_program program, cl_kernel add) {
  command_buffer b = make(s), done = make(s);
  CHECK(finalize(done));
  cl_int error, n = 1;
  cl_mem x = memory(s, 256), y = memory(s, 256);
  cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
  cl_image_desc plane = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
  cl_mem i = clCreateImage(s.context, 0, &format, &plane, NULL, &error), k = clCreateImage(s.context, 0, &format, &plane, NULL, &error);
  CHECK(error);
  cl_uint color[4] = {1, 2, 3, 4};
  size_t origin[3] = {0}, region[3] = {4, 4, 1}, items = 4;
  char *shared = clSVMAlloc(s.context, 0, 256, 0);
  CHECK(clSetKernelArg(add, 0, sizeof x, &x));
  CHECK(clSetKernelArg(add, 1, sizeof n, &n));
  REFUSES(barrier);
  REFUSES(ndrange, add, 1, NULL, &items, NULL);
  REFUSES(copy, x, y, 0, 0, 16);
  REFUSES(copy_rect, x, y, origin, origin, region, 0, 0, 0, 0);
  REFUSES(copy_to_image, x, i, 0, origin, region);
  REFUSES(copy_image, i, k, origin, origin, region);
  REFUSES(copy_from_image, i, x, origin, region, 0);
  REFUSES(fill, x, color, 4, 0, 16);
  REFUSES(fill_image, i, color, origin, region);
  REFUSES(svm_copy, shared, shared + 64, 64);
  REFUSES(svm_fill, shared, color, 4, 64);
  // Errors of the same commands of queues.
  CODE(ndrange(b, NULL, NULL, (cl_kernel)x, 1, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_KERNEL);
  CODE(ndrange(b, NULL, NULL, add, 4, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_WORK_DIMENSION);
  cl_kernel bare = clCreateKernel(program, "add", &error);
  CODE(ndrange(b, NULL, NULL, bare, 1, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CODE(copy(b, NULL, NULL, x, y, 0, 250, 16, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  CODE(copy(b, NULL, NULL, x, x, 0, 8, 16, 0, NULL, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CODE(copy(b, NULL, NULL, x, (cl_mem)s.queue, 0, 0, 16, 0, NULL, NULL, NULL), CL_INVALID_MEM_OBJECT);
  CODE(copy_rect(b, NULL, NULL, x, y, origin, NULL, region, 0, 0, 0, 0, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  CODE(fill(b, NULL, NULL, x, color, 3, 0, 12, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  CODE(fill_image(b, NULL, NULL, i, NULL, origin, region, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  CODE(svm_copy(b, NULL, NULL, NULL, shared, 64, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  CODE(svm_copy(b, NULL, NULL, shared, shared + 8, 64, 0, NULL, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CODE(svm_fill(b, NULL, NULL, shared + 1, color, 4, 64, 0, NULL, NULL, NULL), CL_INVALID_VALUE);
  struct setting other = start(0);
  cl_mem foreign = memory(other, 256);
  CODE(copy(b, NULL, NULL, x, foreign, 0, 0, 16, 0, NULL, NULL, NULL), CL_INVALID_CONTEXT);
  CHECK(clReleaseMemObject(foreign));
  end(other);
  // Released without being executed.
  CHECK(release(b));
  CHECK(release(done));
  CHECK(clReleaseKernel(bare));
  cl_mem all[] = {x, y, i, k};
  for (int at = 0; at < 4; at++) CHECK(clReleaseMemObject(all[at]));
  clSVMFree(s.context, shared);
}

// Each command, in a chain of sync points, executed twice, on a queue of the other kind, too.
static void chain(struct setting s, cl_program program, cl_kernel add, cl_command_queue other) {
  command_buffer b = make(s);
  cl_int error, one = 1, hundred = 100, zero = 0;
  cl_mem x = memory(s, 256), y = memory(s, 256);
  cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
  cl_image_desc plane = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 4};
  cl_mem i = clCreateImage(s.context, 0, &format, &plane, NULL, &error), k = clCreateImage(s.context, 0, &format, &plane, NULL, &error);
  CHECK(error);
  int *shared = clSVMAlloc(s.context, 0, 256, 0);
  size_t items = 64, origin[3] = {0}, next[3] = {0, 1, 0}, region[3] = {8, 1, 1}, bytes[3] = {32, 1, 1}, second[3] = {32, 0, 0};
  cl_uint color[4] = {40, 0, 0, 0};
  sync_point p[12];
  // x = 100, then 101 by the kernel, whose argument is changed afterwards.
  CHECK(fill(b, NULL, NULL, x, &hundred, 4, 0, 256, 0, NULL, p, NULL));
  CHECK(clSetKernelArg(add, 0, sizeof x, &x));
  CHECK(clSetKernelArg(add, 1, sizeof one, &one));
  CHECK(ndrange(b, NULL, NULL, add, 1, NULL, &items, NULL, 1, p, p + 1, NULL));
  CHECK(clSetKernelArg(add, 1, sizeof hundred, &hundred));
  // y = 101 in the first row of eight, 0 elsewhere.
  CHECK(fill(b, NULL, NULL, y, &zero, 4, 0, 256, 0, NULL, p + 2, NULL));
  sync_point both[] = {p[1], p[2]};
  CHECK(copy(b, NULL, NULL, x, y, 0, 0, 32, 2, both, p + 3, NULL));
  // The second row is the first one.
  CHECK(copy_rect(b, NULL, NULL, y, y, origin, second, bytes, 64, 0, 64, 0, 1, p + 3, p + 4, NULL));
  // Rows of the image: 40, the second of y, and those of another image.
  CHECK(fill_image(b, NULL, NULL, i, color, origin, region, 0, NULL, p + 5, NULL));
  CHECK(copy_to_image(b, NULL, NULL, y, i, 32, next, region, 1, p + 4, p + 6, NULL));
  CHECK(barrier(b, NULL, NULL, 0, NULL, p + 7, NULL));
  size_t rows[3] = {8, 2, 1};
  CHECK(copy_image(b, NULL, NULL, i, k, origin, origin, rows, 1, p + 7, p + 8, NULL));
  CHECK(copy_from_image(b, NULL, NULL, k, y, origin, rows, 128, 1, p + 8, p + 9, NULL));
  CHECK(svm_fill(b, NULL, NULL, shared, &hundred, 4, 128, 0, NULL, p + 10, NULL));
  CHECK(svm_copy(b, NULL, NULL, shared + 32, shared, 64, 1, p + 10, p + 11, NULL));
  cl_kernel print = clCreateKernel(program, "print", &error);
  CHECK(error);
  size_t single = 1;
  CHECK(ndrange(b, NULL, NULL, print, 1, NULL, &single, NULL, 0, NULL, NULL, NULL));
  for (int at = 0; at < 12; at++)
    for (int before = 0; before < at; before++) EXPECT(p[at] != p[before]);
  CHECK(finalize(b));
  // The buffer holds what it needs.
  CHECK(clReleaseKernel(print));
  CHECK(clReleaseMemObject(i));
  CHECK(clReleaseMemObject(k));
  for (int time = 0; time < 2; time++) {
    int found[64];
    memset(shared, 0, 256);
    cl_event event;
    CHECK(enqueue(time, time ? &other : NULL, b, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    cl_command_type type;
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    EXPECT(type == KIND);
    cl_ulong started, ended;
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof started, &started, NULL));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL));
    EXPECT(ended > started);
    CHECK(clReleaseEvent(event));
    CHECK(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, 256, found, 0, NULL, NULL));
    for (int at = 0; at < 64; at++) EXPECT(found[at] == 101);
    CHECK(clEnqueueReadBuffer(s.queue, y, CL_TRUE, 0, 256, found, 0, NULL, NULL));
    for (int at = 0; at < 64; at++) {
      int row = at / 8, expected = row == 0 || row == 1 || row == 5 ? 101 : row == 4 ? 40 : 0;
      EXPECT(row > 5 || found[at] == expected);
    }
    for (int at = 0; at < 48; at++) EXPECT(shared[at] == 100);
    for (int at = 48; at < 64; at++) EXPECT(shared[at] == 0);
  }
  CHECK(release(b));
  CHECK(clReleaseMemObject(x));
  CHECK(clReleaseMemObject(y));
  clSVMFree(s.context, shared);
}

// Many executions in flight, in order by a queue and at once by another one; the buffer is released meanwhile.
static void repeated(struct setting s, cl_kernel add, cl_command_queue unordered) {
  enum { TIMES = 50 };
  cl_int error, one = 1, zero = 0, found[64];
  cl_mem x = memory(s, 256);
  size_t items = 64;
  cl_event gate = clCreateUserEvent(s.context, &error), last;
  CHECK(error);
  CHECK(clEnqueueFillBuffer(s.queue, x, &zero, 4, 0, 256, 0, NULL, NULL));
  CHECK(clSetKernelArg(add, 0, sizeof x, &x));
  CHECK(clSetKernelArg(add, 1, sizeof one, &one));
  command_buffer b = make(s);
  for (int i = 0; i < 3; i++) CHECK(ndrange(b, NULL, NULL, add, 1, NULL, &items, NULL, 0, NULL, NULL, NULL));
  CHECK(finalize(b));
  for (int i = 0; i < TIMES; i++) CHECK(enqueue(0, NULL, b, i == 0, i ? NULL : &gate, i == TIMES - 1 ? &last : NULL));
  CHECK(release(b));
  cl_int status;
  CHECK(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  EXPECT(status != CL_COMPLETE);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, 256, found, 0, NULL, NULL));
  for (int i = 0; i < 64; i++) EXPECT(found[i] == 3 * TIMES);
  // At once: each fills its memory with the same number.
  b = make(s);
  CHECK(fill(b, NULL, NULL, x, &one, 4, 0, 256, 0, NULL, NULL, NULL));
  CHECK(finalize(b));
  for (int i = 0; i < TIMES; i++) CHECK(enqueue(1, &unordered, b, 0, NULL, NULL));
  CHECK(clFinish(unordered));
  CHECK(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, 256, found, 0, NULL, NULL));
  for (int i = 0; i < 64; i++) EXPECT(found[i] == 1);
  CHECK(release(b));
  CHECK(clReleaseEvent(gate));
  CHECK(clReleaseEvent(last));
  CHECK(clReleaseMemObject(x));
}

int main(void) {
  struct setting s = start(CL_QUEUE_PROFILING_ENABLE);
  find(s, "clCreateCommandBufferKHR", &create);
  find(s, "clFinalizeCommandBufferKHR", &finalize);
  find(s, "clRetainCommandBufferKHR", &retain);
  find(s, "clReleaseCommandBufferKHR", &release);
  find(s, "clEnqueueCommandBufferKHR", &enqueue);
  find(s, "clGetCommandBufferInfoKHR", &info);
  find(s, "clCommandBarrierWithWaitListKHR", &barrier);
  find(s, "clCommandNDRangeKernelKHR", &ndrange);
  find(s, "clCommandCopyBufferKHR", &copy);
  find(s, "clCommandCopyBufferRectKHR", &copy_rect);
  find(s, "clCommandCopyBufferToImageKHR", &copy_to_image);
  find(s, "clCommandCopyImageKHR", &copy_image);
  find(s, "clCommandCopyImageToBufferKHR", &copy_from_image);
  find(s, "clCommandFillBufferKHR", &fill);
  find(s, "clCommandFillImageKHR", &fill_image);
  find(s, "clCommandSVMMemcpyKHR", &svm_copy);
  find(s, "clCommandSVMMemFillKHR", &svm_fill);
  cl_int error;
  cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, 0};
  cl_command_queue unordered = clCreateCommandQueueWithProperties(s.context, s.device, list, &error);
  CHECK(error);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel add = clCreateKernel(program, "add", &error);
  CHECK(error);
  creation(s);
  refusals(s, program, add);
  chain(s, program, add, unordered);
  repeated(s, add, unordered);
  CHECK(clReleaseKernel(add));
  CHECK(clReleaseProgram(program));
  CHECK(clReleaseCommandQueue(unordered));
  end(s);
  return passed();
}
