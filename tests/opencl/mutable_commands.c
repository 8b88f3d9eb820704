// Commands of command buffers that are changed between executions: arguments, sizes, offsets, addresses; all or none of several updates.
// covers: cl_khr_command_buffer_mutable_dispatch
#include "check.h"

// The interface of version 0.9.5, which older headers lack.
typedef struct buffer_of_commands *command_buffer;
typedef struct mutable_command *command;
typedef cl_uint sync_point;
struct argument {
  cl_uint index;
  size_t size;
  const void *value;
};
struct config {
  command command;
  cl_uint arguments, addresses, infos, dims;
  const struct argument *argument_list, *address_list, *info_list;
  const size_t *offset, *global, *local;
};
static command_buffer (*create)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
static cl_int (*finalize)(command_buffer), (*release)(command_buffer);
static cl_int (*enqueue)(cl_uint, cl_command_queue *, command_buffer, cl_uint, const cl_event *, cl_event *);
static cl_int (*buffer_info)(command_buffer, cl_uint, size_t, void *, size_t *);
static cl_int (*ndrange)(command_buffer, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const sync_point *, sync_point *, command *);
static cl_int (*update)(command_buffer, cl_uint, const cl_uint *, const void **);
static cl_int (*info)(command, cl_uint, size_t, void *, size_t *);

enum {
  FLAGS = 0x1293, STATE = 0x1297, ASSERTS = 0x12b7, MUTABLE = 2, RECORDING = 0, EXECUTABLE = 1, FINALIZED = 2, CAPABILITIES = 0x12b0,
  FIELDS = 0x12b1, COMMAND_ASSERTS = 0x12b8, QUEUE = 0x12a0, BUFFER = 0x12a1, PROPERTIES = 0x12a2, KERNEL = 0x12a3, DIMENSIONS = 0x12a4,
  OFFSET = 0x12a5, GLOBAL = 0x12a6, LOCAL = 0x12a7, KIND = 0x12ad,
  OFFSETS = 1 << 0, GLOBALS = 1 << 1, LOCALS = 1 << 2, ARGUMENTS = 1 << 3, INFOS = 1 << 4, EVERYTHING = 31,
  INVALID_BUFFER = -1138, INVALID_COMMAND = -1141, ITEMS = 64,
  // Room for an offset without the size that belongs to it: a lost update must not write elsewhere.
  ROOM = 2 * ITEMS
};

static void find(struct setting s, const char *name, void *function) {
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, name);
  if (!address) fprintf(stderr, "no %s\n", name);
  EXPECT(address);
  memcpy(function, &address, sizeof address);
}

static cl_mem memory(struct setting s) {
  cl_int error, zero[ROOM] = {0};
  cl_mem made = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &error);
  CHECK(error);
  return made;
}

static command_buffer make(struct setting s, cl_ulong flags) {
  cl_int error;
  cl_ulong list[] = {FLAGS, flags, 0};
  command_buffer b = create(1, &s.queue, list, &error);
  CHECK(error);
  return b;
}

static cl_int change(command_buffer b, const struct config *config) {
  cl_uint type = 0;
  const void *list[] = {config};
  return update(b, 1, &type, list);
}

static void execute(struct setting s, command_buffer b) {
  CHECK(enqueue(0, NULL, b, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
}

// Expects a number in each place of a part of a buffer, another one elsewhere.
static void holds(struct setting s, cl_mem memory, int from, int to, int number, int other) {
  cl_int found[ITEMS];
  CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
  for (int i = 0; i < ITEMS; i++) EXPECT(found[i] == (i >= from && i < to ? number : other));
}

static const char *source = "kernel void put(global int *to, int n) { to[get_global_id(0)] = n * 100 + get_local_size(0); }\n";

static void facts(struct setting s, cl_kernel put) {
  cl_bitfield bits;
  CHECK(clGetDeviceInfo(s.device, CAPABILITIES, sizeof bits, &bits, NULL));
  EXPECT(bits == EVERYTHING);
  cl_int error;
  cl_ulong wrong[] = {ASSERTS, 2, 0}, right[] = {FLAGS, MUTABLE, ASSERTS, 1, 0};
  EXPECT(!create(1, &s.queue, wrong, &error) && error == CL_INVALID_VALUE);
  command_buffer b = create(1, &s.queue, right, &error);
  CHECK(error);
  cl_ulong bad[][5] = {{FIELDS, 32, 0}, {COMMAND_ASSERTS, 2, 0}, {7, 7, 0}, {FIELDS, 1, FIELDS, 1, 0}};
  size_t offset = 8, global = 16, local = 4, size, number;
  command c = NULL, plain;
  for (int i = 0; i < 4; i++) CODE(ndrange(b, NULL, bad[i], put, 1, NULL, &global, NULL, 0, NULL, NULL, &c), CL_INVALID_VALUE);
  cl_ulong list[] = {FIELDS, GLOBALS, COMMAND_ASSERTS, 1, 0}, found[5];
  CHECK(ndrange(b, NULL, list, put, 1, &offset, &global, &local, 0, NULL, NULL, &c));
  CHECK(ndrange(b, NULL, NULL, put, 1, NULL, &global, NULL, 0, NULL, NULL, &plain));
  void *handle;
  cl_uint word;
  CHECK(info(c, QUEUE, sizeof handle, &handle, &size));
  EXPECT(handle == s.queue && size == sizeof handle);
  CHECK(info(c, BUFFER, sizeof handle, &handle, NULL));
  EXPECT(handle == b);
  CHECK(info(c, KERNEL, sizeof handle, &handle, NULL));
  EXPECT(handle == put);
  CHECK(info(c, KIND, sizeof word, &word, NULL));
  EXPECT(word == CL_COMMAND_NDRANGE_KERNEL);
  CHECK(info(c, DIMENSIONS, sizeof word, &word, NULL));
  EXPECT(word == 1);
  CHECK(info(c, PROPERTIES, sizeof found, found, &size));
  EXPECT(size == sizeof list && !memcmp(list, found, size));
  CHECK(info(plain, PROPERTIES, 0, NULL, &size));
  EXPECT(!size);
  CHECK(info(c, OFFSET, sizeof number, &number, &size));
  EXPECT(number == 8 && size == sizeof number);
  CHECK(info(plain, OFFSET, sizeof number, &number, NULL));
  EXPECT(number == 0);
  CHECK(info(c, GLOBAL, sizeof number, &number, NULL));
  EXPECT(number == 16);
  CHECK(info(c, LOCAL, sizeof number, &number, NULL));
  EXPECT(number == 4);
  CHECK(info(plain, LOCAL, sizeof number, &number, NULL));
  EXPECT(number == 0);
  CODE(info(c, 1, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(info(c, GLOBAL, sizeof number - 1, &number, NULL), CL_INVALID_VALUE);
  CODE(info((command)b, GLOBAL, 0, NULL, NULL), INVALID_COMMAND);
  // The command goes with its buffer.
  CHECK(release(b));
  CODE(info(c, GLOBAL, 0, NULL, NULL), INVALID_COMMAND);
}

static void refusals(struct setting s, cl_kernel put, cl_kernel bare) {
  size_t items = 16, three = 3, zero = 0, list[3] = {16, 1, 1};
  cl_ulong nothing[] = {FIELDS, 0, 0}, arguments[] = {FIELDS, ARGUMENTS, 0};
  command_buffer b = make(s, MUTABLE), fixed = make(s, 0), other = make(s, MUTABLE);
  command c, none, foreign, of_fixed;
  CHECK(ndrange(b, NULL, NULL, put, 1, NULL, &items, &items, 0, NULL, NULL, &c));
  CHECK(ndrange(b, NULL, nothing, put, 1, NULL, &items, NULL, 0, NULL, NULL, &none));
  CHECK(ndrange(other, NULL, NULL, put, 1, NULL, &items, NULL, 0, NULL, NULL, &foreign));
  CHECK(ndrange(fixed, NULL, NULL, put, 1, NULL, &items, NULL, 0, NULL, NULL, &of_fixed));
  // Arguments may only be missing where they can still come.
  CODE(ndrange(b, NULL, NULL, bare, 1, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CODE(ndrange(b, NULL, nothing, bare, 1, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  CODE(ndrange(fixed, NULL, arguments, bare, 1, NULL, &items, NULL, 0, NULL, NULL, NULL), CL_INVALID_KERNEL_ARGS);
  cl_int n = 7;
  struct argument value = {1, sizeof n, &n}, beyond = {2, sizeof n, &n}, small = {1, 1, &n}, address = {0, 0, &n}, by_value = {1, 0, &n};
  struct argument unknown = {1, sizeof n, &n};
  struct config config = {.command = c, .arguments = 1, .argument_list = &value};
  CODE(change(b, &config), CL_INVALID_OPERATION);
  CHECK(finalize(b));
  CHECK(finalize(fixed));
  CHECK(finalize(other));
  CODE(change(fixed, &(struct config){.command = of_fixed, .arguments = 1, .argument_list = &value}), CL_INVALID_OPERATION);
  CODE(change((command_buffer)s.queue, &config), INVALID_BUFFER);
  cl_uint type = 0, bad_type = 1;
  const void *configs[] = {&config}, *missing[] = {NULL};
  CODE(update(b, 1, NULL, configs), CL_INVALID_VALUE);
  CODE(update(b, 0, &type, configs), CL_INVALID_VALUE);
  CODE(update(b, 1, &type, NULL), CL_INVALID_VALUE);
  CODE(update(b, 1, &bad_type, configs), CL_INVALID_VALUE);
  CODE(update(b, 1, &type, missing), CL_INVALID_VALUE);
  CHECK(update(b, 0, NULL, NULL));
  struct {
    struct config config;
    cl_int code;
  } cases[] = {
    {{.command = NULL}, INVALID_COMMAND},
    {{.command = (command)b}, INVALID_COMMAND},
    {{.command = foreign}, INVALID_COMMAND},
    {{.command = c, .dims = 2}, CL_INVALID_OPERATION},
    {{.command = c, .dims = 1}, CL_SUCCESS},
    {{.command = c, .global = &three}, CL_INVALID_OPERATION},
    {{.command = c, .local = &three}, CL_INVALID_OPERATION},
    {{.command = c, .local = &zero}, CL_INVALID_WORK_GROUP_SIZE},
    {{.command = c, .arguments = 1}, CL_INVALID_VALUE},
    {{.command = c, .argument_list = &value}, CL_INVALID_VALUE},
    {{.command = c, .addresses = 1}, CL_INVALID_VALUE},
    {{.command = c, .address_list = &address}, CL_INVALID_VALUE},
    {{.command = c, .infos = 1}, CL_INVALID_VALUE},
    {{.command = c, .info_list = &value}, CL_INVALID_VALUE},
    {{.command = c, .infos = 1, .info_list = &unknown}, CL_INVALID_VALUE},
    {{.command = c, .arguments = 1, .argument_list = &beyond}, CL_INVALID_ARG_INDEX},
    {{.command = c, .arguments = 1, .argument_list = &small}, CL_INVALID_ARG_SIZE},
    {{.command = c, .addresses = 1, .address_list = &by_value}, CL_INVALID_ARG_VALUE},
    {{.command = none, .offset = list}, CL_INVALID_OPERATION},
    {{.command = none, .global = list}, CL_INVALID_OPERATION},
    {{.command = none, .local = list}, CL_INVALID_OPERATION},
    {{.command = none, .arguments = 1, .argument_list = &value}, CL_INVALID_OPERATION},
    {{.command = none, .addresses = 1, .address_list = &address}, CL_INVALID_OPERATION},
    {{.command = none, .infos = 1, .info_list = &value}, CL_INVALID_OPERATION},
    {{.command = none}, CL_SUCCESS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cl_int code = change(b, &cases[i].config);
    if (code != cases[i].code) fprintf(stderr, "case %zu gives %d\n", i, code);
    EXPECT(code == cases[i].code);
  }
  CHECK(release(b));
  CHECK(release(fixed));
  CHECK(release(other));
}

// Changes of all parts; what pends keeps what it was enqueued with.
static void changes(struct setting s, cl_kernel put) {
  cl_int error, one = 1, two = 2, three = 3;
  cl_mem x = memory(s), y = memory(s);
  size_t items = ITEMS, half = ITEMS / 2, eight = 8, four = 4;
  command_buffer b = make(s, MUTABLE | 1);
  command c, d;
  CHECK(clSetKernelArg(put, 0, sizeof x, &x));
  CHECK(clSetKernelArg(put, 1, sizeof one, &one));
  CHECK(ndrange(b, NULL, NULL, put, 1, NULL, &items, &eight, 0, NULL, NULL, &c));
  CHECK(ndrange(b, NULL, NULL, put, 1, NULL, &four, &four, 0, NULL, NULL, &d));
  // Changes of the kernel do not concern what is recorded.
  CHECK(clSetKernelArg(put, 1, sizeof three, &three));
  CHECK(finalize(b));
  execute(s, b);
  holds(s, x, 0, 4, 104, 108);
  // A value.
  struct argument value[] = {{1, sizeof two, &two}}, buffer = {0, sizeof y, &y};
  CHECK(change(b, &(struct config){.command = c, .arguments = 1, .argument_list = value}));
  execute(s, b);
  holds(s, x, 0, 4, 104, 208);
  // A buffer, sizes and an offset, in two configurations of one command; the other command keeps its own.
  cl_uint kinds[] = {0, 0};
  struct config first = {.command = c, .arguments = 1, .argument_list = &buffer, .offset = &eight, .dims = 1};
  struct config second = {.command = c, .global = &half, .local = &four};
  const void *both[] = {&first, &second};
  CHECK(update(b, 2, kinds, both));
  execute(s, b);
  holds(s, y, 8, 8 + ITEMS / 2, 204, 0);
  size_t number;
  CHECK(info(c, OFFSET, sizeof number, &number, NULL));
  EXPECT(number == eight);
  CHECK(info(c, GLOBAL, sizeof number, &number, NULL));
  EXPECT(number == half);
  CHECK(info(c, LOCAL, sizeof number, &number, NULL));
  EXPECT(number == four);
  CHECK(info(d, GLOBAL, sizeof number, &number, NULL));
  EXPECT(number == four);
  // One that fails leaves all as they were.
  struct argument beyond = {9, sizeof one, &one}, third = {1, sizeof three, &three};
  struct config good = {.command = c, .arguments = 1, .argument_list = &third, .global = &eight};
  struct config bad = {.command = d, .arguments = 1, .argument_list = &beyond};
  const void *mixed[] = {&good, &bad};
  CODE(update(b, 2, kinds, mixed), CL_INVALID_ARG_INDEX);
  CHECK(info(c, GLOBAL, sizeof number, &number, NULL));
  EXPECT(number == half);
  execute(s, b);
  holds(s, y, 8, 8 + ITEMS / 2, 204, 0);
  // An address, and information on what the kernel uses.
  cl_int *shared = clSVMAlloc(s.context, 0, ROOM * sizeof *shared, 0);
  cl_bool yes = CL_TRUE;
  memset(shared, 0, ROOM * sizeof *shared);
  struct argument address = {0, 0, shared}, system = {CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof yes, &yes};
  CHECK(change(b, &(struct config){.command = c, .addresses = 1, .address_list = &address, .infos = 1, .info_list = &system}));
  execute(s, b);
  for (int i = 0; i < ROOM; i++) EXPECT(shared[i] == (i >= 8 && i < 8 + ITEMS / 2 ? 204 : 0));
  // Executions that wait are not changed.
  cl_event gate = clCreateUserEvent(s.context, &error);
  CHECK(error);
  CHECK(enqueue(0, NULL, b, 1, &gate, NULL));
  struct argument to_x = {0, sizeof x, &x};
  CHECK(change(b, &(struct config){.command = c, .arguments = 1, .argument_list = &to_x, .local = &eight}));
  memset(shared, 0, ROOM * sizeof *shared);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < ROOM; i++) EXPECT(shared[i] == (i >= 8 && i < 8 + ITEMS / 2 ? 204 : 0));
  memset(shared, 0, ROOM * sizeof *shared);
  execute(s, b);
  for (int i = 0; i < ROOM; i++) EXPECT(shared[i] == 0);
  CHECK(release(b));
  CHECK(clReleaseEvent(gate));
  clSVMFree(s.context, shared);
  CHECK(clReleaseMemObject(x));
  CHECK(clReleaseMemObject(y));
}

// A buffer is executable when all arguments have come.
static void postponed(struct setting s, cl_kernel bare) {
  cl_ulong arguments[] = {FIELDS, ARGUMENTS, 0};
  size_t items = ITEMS;
  cl_uint state;
  cl_mem x = memory(s);
  cl_int five = 5;
  command c;
  command_buffer b = make(s, MUTABLE);
  CHECK(ndrange(b, NULL, arguments, bare, 1, NULL, &items, &items, 0, NULL, NULL, &c));
  CHECK(buffer_info(b, STATE, sizeof state, &state, NULL));
  EXPECT(state == RECORDING);
  CHECK(finalize(b));
  CHECK(buffer_info(b, STATE, sizeof state, &state, NULL));
  EXPECT(state == FINALIZED);
  CODE(enqueue(0, NULL, b, 0, NULL, NULL), CL_INVALID_OPERATION);
  struct argument list[] = {{0, sizeof x, &x}, {1, sizeof five, &five}};
  CHECK(change(b, &(struct config){.command = c, .arguments = 1, .argument_list = list + 1}));
  CODE(enqueue(0, NULL, b, 0, NULL, NULL), CL_INVALID_OPERATION);
  CHECK(change(b, &(struct config){.command = c, .arguments = 1, .argument_list = list}));
  CHECK(buffer_info(b, STATE, sizeof state, &state, NULL));
  EXPECT(state == EXECUTABLE);
  execute(s, b);
  holds(s, x, 0, ITEMS, 500 + ITEMS, 0);
  CHECK(release(b));
  CHECK(clReleaseMemObject(x));
}

int main(void) {
  struct setting s = start(0);
  find(s, "clCreateCommandBufferKHR", &create);
  find(s, "clFinalizeCommandBufferKHR", &finalize);
  find(s, "clReleaseCommandBufferKHR", &release);
  find(s, "clEnqueueCommandBufferKHR", &enqueue);
  find(s, "clGetCommandBufferInfoKHR", &buffer_info);
  find(s, "clCommandNDRangeKernelKHR", &ndrange);
  find(s, "clUpdateMutableCommandsKHR", &update);
  find(s, "clGetMutableCommandInfoKHR", &info);
  cl_int error, one = 1;
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel put = clCreateKernel(program, "put", &error), bare = clCreateKernel(program, "put", &error);
  CHECK(error);
  cl_mem x = memory(s);
  CHECK(clSetKernelArg(put, 0, sizeof x, &x));
  CHECK(clSetKernelArg(put, 1, sizeof one, &one));
  facts(s, put);
  refusals(s, put, bare);
  changes(s, put);
  postponed(s, bare);
  CHECK(clReleaseMemObject(x));
  CHECK(clReleaseKernel(put));
  CHECK(clReleaseKernel(bare));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
