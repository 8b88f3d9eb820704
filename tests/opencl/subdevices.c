// Sub-devices: partitions of all schemes and their errors, contexts of parts, programs and kernels for them, launches on their
// queues, command buffers, shared memory. Argument: the number of compute units of the root device, at least 4.
#include "check.h"
#include <CL/cl_ext.h>
#include <dirent.h>
#include <unistd.h>

static cl_uint number_of(cl_device_id device, cl_device_info name) {
  cl_uint number = 77;
  CHECK(clGetDeviceInfo(device, name, sizeof number, &number, NULL));
  return number;
}

static cl_uint units_of(cl_device_id device) { return number_of(device, CL_DEVICE_MAX_COMPUTE_UNITS); }

static cl_device_id parent_of(cl_device_id device) {
  cl_device_id parent;
  CHECK(clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL));
  return parent;
}

// Checks the list that a part comes from.
static void expect_type(cl_device_id device, size_t count, const cl_device_partition_property *expected) {
  cl_device_partition_property found[16];
  size_t size;
  CHECK(clGetDeviceInfo(device, CL_DEVICE_PARTITION_TYPE, sizeof found, found, &size));
  EXPECT(size == count * sizeof *found && !memcmp(found, expected, size));
}

static void roots(struct setting s, cl_uint units) {
  EXPECT(units_of(s.device) == units && !parent_of(s.device));
  EXPECT(number_of(s.device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES) == units);
  expect_type(s.device, 0, NULL);
  cl_device_partition_property schemes[8];
  size_t size;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_PARTITION_PROPERTIES, sizeof schemes, schemes, &size));
  EXPECT(size >= 2 * sizeof *schemes && schemes[0] == CL_DEVICE_PARTITION_EQUALLY && schemes[1] == CL_DEVICE_PARTITION_BY_COUNTS);
  // Root devices are not counted.
  for (int i = 0; i < 3; i++) CHECK(clReleaseDevice(s.device));
  CHECK(clRetainDevice(s.device));
  EXPECT(number_of(s.device, CL_DEVICE_REFERENCE_COUNT) == 1);
}

static void partitions(struct setting s, cl_uint units) {
  cl_device_id parts[64], parts_of_part[8];
  cl_uint count;
  cl_device_partition_property ones[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0}, threes[] = {CL_DEVICE_PARTITION_EQUALLY, 3, 0};
  CHECK(clCreateSubDevices(s.device, ones, 0, NULL, &count));
  EXPECT(count == units && units <= 64);
  CHECK(clCreateSubDevices(s.device, ones, 64, parts, NULL));
  for (cl_uint i = 0; i < units; i++) {
    EXPECT(units_of(parts[i]) == 1 && parent_of(parts[i]) == s.device && number_of(parts[i], CL_DEVICE_REFERENCE_COUNT) == 1);
    expect_type(parts[i], 3, ones);
    for (cl_uint k = 0; k < i; k++) EXPECT(parts[k] != parts[i]);
    // A single compute unit cannot be divided.
    cl_device_partition_property scheme = 5;
    size_t size;
    EXPECT(number_of(parts[i], CL_DEVICE_PARTITION_MAX_SUB_DEVICES) == 0);
    CHECK(clGetDeviceInfo(parts[i], CL_DEVICE_PARTITION_PROPERTIES, sizeof scheme, &scheme, &size));
    EXPECT(size == sizeof scheme && scheme == 0);
    CODE(clCreateSubDevices(parts[i], ones, 8, parts_of_part, NULL), CL_DEVICE_PARTITION_FAILED);
    CHECK(clReleaseDevice(parts[i]));
    CODE(clReleaseDevice(parts[i]), CL_INVALID_DEVICE);
  }
  // Units that are left over belong to no part.
  CHECK(clCreateSubDevices(s.device, threes, 64, parts, &count));
  EXPECT(count == units / 3 && units_of(parts[0]) == 3);
  for (cl_uint i = 0; i < count; i++) CHECK(clReleaseDevice(parts[i]));

  cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 3, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  CHECK(clCreateSubDevices(s.device, counts, 2, parts, &count));
  EXPECT(count == 2 && units_of(parts[0]) == 3 && units_of(parts[1]) == 1);
  expect_type(parts[0], 5, counts);
  // Parts of a part, which lives as long as they do.
  cl_device_partition_property smaller[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 2, 0, 0};
  CHECK(clCreateSubDevices(parts[0], smaller, 8, parts_of_part, &count));
  EXPECT(count == 2 && units_of(parts_of_part[0]) == 1 && units_of(parts_of_part[1]) == 2);
  EXPECT(parent_of(parts_of_part[1]) == parts[0]);
  CHECK(clRetainDevice(parts[1]));
  EXPECT(number_of(parts[1], CL_DEVICE_REFERENCE_COUNT) == 2);
  CHECK(clReleaseDevice(parts[1]));
  CHECK(clReleaseDevice(parts[1]));
  CODE(clGetDeviceInfo(parts[1], CL_DEVICE_TYPE, 0, NULL, NULL), CL_INVALID_DEVICE);
  CHECK(clReleaseDevice(parts[0]));
  EXPECT(units_of(parent_of(parts_of_part[1])) == 3);
  CHECK(clReleaseDevice(parts_of_part[0]));
  CHECK(clReleaseDevice(parts_of_part[1]));
  CODE(clGetDeviceInfo(parts[0], CL_DEVICE_TYPE, 0, NULL, NULL), CL_INVALID_DEVICE);
}

// A scheme by domains works where the device names it, and only there.
static void domains(struct setting s, cl_uint units) {
  cl_device_affinity_domain known;
  cl_device_id parts[64];
  cl_uint count = 0, sum = 0;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_PARTITION_AFFINITY_DOMAIN, sizeof known, &known, NULL));
  cl_device_affinity_domain names[] = {CL_DEVICE_AFFINITY_DOMAIN_NUMA, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE};
  for (int i = 0; i < 2; i++) {
    cl_device_partition_property list[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, (cl_device_partition_property)names[i], 0};
    if (!(known & names[i])) {
      CODE(clCreateSubDevices(s.device, list, 64, parts, NULL), CL_INVALID_VALUE);
      continue;
    }
    CHECK(clCreateSubDevices(s.device, list, 64, parts, &count));
    EXPECT(count > 1);
    for (cl_uint k = 0; k < count; k++) {
      sum += units_of(parts[k]);
      list[1] = CL_DEVICE_AFFINITY_DOMAIN_NUMA;
      expect_type(parts[k], 3, list);
      CHECK(clReleaseDevice(parts[k]));
    }
    EXPECT(sum == units);
    sum = 0;
  }
  cl_device_partition_property cache[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE, 0};
  CODE(clCreateSubDevices(s.device, cache, 64, parts, NULL), CL_INVALID_VALUE);
}

static void errors(struct setting s, cl_uint units) {
  cl_device_id parts[64];
  cl_uint count = 99;
  cl_device_partition_property ones[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  CODE(clCreateSubDevices((cl_device_id)s.context, ones, 64, parts, &count), CL_INVALID_DEVICE);
  CODE(clCreateSubDevices(s.device, NULL, 64, parts, &count), CL_INVALID_VALUE);
  CODE(clCreateSubDevices(s.device, ones, units - 1, parts, &count), CL_INVALID_VALUE);
  CODE(clCreateSubDevices(s.device, ones, 0, parts, &count), CL_INVALID_VALUE);
  CHECK(clCreateSubDevices(s.device, ones, 0, NULL, NULL));
  cl_device_partition_property wrong[][3] = {
      {0, 0, 0}, {CL_DEVICE_PARTITION_EQUALLY, 0, 0}, {CL_DEVICE_PARTITION_EQUALLY, -1, 0}, {CL_DEVICE_PARTITION_EQUALLY, 1, 1},
      {CL_DEVICE_PARTITION_EQUALLY_EXT, 1, 0}, {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 0, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CODE(clCreateSubDevices(s.device, wrong[i], 64, parts, &count), CL_INVALID_VALUE);
  cl_device_partition_property large[] = {CL_DEVICE_PARTITION_EQUALLY, units + 1, 0};
  CODE(clCreateSubDevices(s.device, large, 64, parts, &count), CL_INVALID_DEVICE_PARTITION_COUNT);
  cl_device_partition_property whole[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
  CODE(clCreateSubDevices(s.device, whole, 64, parts, &count), CL_DEVICE_PARTITION_FAILED);
  cl_device_partition_property counts[][4] = {{CL_DEVICE_PARTITION_BY_COUNTS, 1, units, 0}, {CL_DEVICE_PARTITION_BY_COUNTS, 1, -1, 0},
                                              {CL_DEVICE_PARTITION_BY_COUNTS, units + 1, 0, 0}, {CL_DEVICE_PARTITION_BY_COUNTS, 0, 0, 0}};
  for (int i = 0; i < 4; i++) CODE(clCreateSubDevices(s.device, counts[i], 64, parts, &count), CL_INVALID_DEVICE_PARTITION_COUNT);
  // More parts than compute units; the list has no end.
  cl_device_partition_property many[66];
  for (int i = 0; i < 66; i++) many[i] = 1;
  many[0] = CL_DEVICE_PARTITION_BY_COUNTS;
  CODE(clCreateSubDevices(s.device, many, 64, parts, &count), CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT(count == 99);
}


static const char *source =
    "kernel void add(global int *to, int what) { size_t i = get_global_id(0); for (int k = 0; k < 50; k++) to[i] += what; }\n";

// Counts the workers of all pools by the names of threads.
static int workers(void) {
  DIR *tasks = opendir("/proc/self/task");
  EXPECT(tasks);
  int found = 0;
  for (struct dirent *entry; (entry = readdir(tasks));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    int number;
    if (fgets(name, sizeof name, file)) found += sscanf(name, "heddle-%d", &number) == 1;
    fclose(file);
  }
  closedir(tasks);
  return found;
}

// A launch has one thread for each compute unit of its queue's device, the executing one among them: no more are even started.
static void threads(struct setting s, cl_uint units) {
  cl_device_id devices[3];
  cl_int error;
  cl_device_partition_property list[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 3, 0, 0};
  CHECK(clCreateSubDevices(s.device, list, 2, devices, NULL));
  devices[2] = s.device;
  cl_context context = clCreateContext(NULL, 3, devices, say, NULL, &error);
  CHECK(error);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  CHECK(error);
  CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
  cl_kernel kernel = clCreateKernel(program, "add", &error);
  CHECK(error);
  size_t items = 1 << 20;
  cl_mem buffer = clCreateBuffer(context, 0, items * sizeof(int), NULL, &error);
  CHECK(error);
  CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  CHECK(clSetKernelArg(kernel, 1, sizeof(int), &(int){1}));
  // Queues of the root device have started its threads.
  int first = (int)units - 1, expected[] = {first, first + 2, first + 2};
  for (int i = 0; i < 3; i++) {
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, devices[i], NULL, &error);
    CHECK(error);
    for (int round = 0; round < 3; round++) {
      CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
      CHECK(clFinish(queue));
      // A thread that starts gives itself its name.
      for (int wait = 0; wait < 10000 && workers() < expected[i]; wait++) usleep(1000);
      if (workers() != expected[i]) fprintf(stderr, "device %d: %d workers\n", i, workers());
      EXPECT(workers() == expected[i]);
    }
    CHECK(clReleaseCommandQueue(queue));
  }
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  CHECK(clReleaseContext(context));
  for (int i = 0; i < 2; i++) CHECK(clReleaseDevice(devices[i]));
}

// The queue of a part runs kernels; contexts and programs have the devices that they were made for.
static void work(struct setting s) {
  cl_device_id parts[2], found[4], others[2];
  cl_int error;
  cl_uint count;
  size_t size;
  cl_device_partition_property list[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 3, 0, 0};
  CHECK(clCreateSubDevices(s.device, list, 2, parts, NULL));
  CHECK(clCreateSubDevices(s.device, list, 2, others, NULL));
  cl_device_id all[] = {s.device, parts[0], parts[1], parts[0]};
  cl_context context = clCreateContext(NULL, 4, all, say, NULL, &error);
  CHECK(error);
  CHECK(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
  CHECK(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof found, found, &size));
  EXPECT(count == 3 && size == 3 * sizeof *found && !memcmp(found, all, size));
  EXPECT(!clCreateCommandQueueWithProperties(context, others[0], NULL, &error) && error == CL_INVALID_DEVICE);
  EXPECT(!clCreateCommandQueueWithProperties(s.context, parts[0], NULL, &error) && error == CL_INVALID_DEVICE);

  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  CHECK(error);
  CODE(clBuildProgram(program, 1, others, "", NULL, NULL), CL_INVALID_DEVICE);
  CHECK(clBuildProgram(program, 2, parts, "", NULL, NULL));
  CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
  CHECK(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL));
  CHECK(clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof found, found, &size));
  EXPECT(count == 3 && size == 3 * sizeof *found && !memcmp(found, all, size));
  for (int i = 0; i < 3; i++) {
    cl_build_status status;
    CHECK(clGetProgramBuildInfo(program, all[i], CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
    EXPECT(status == CL_BUILD_SUCCESS);
  }
  CODE(clGetProgramBuildInfo(program, others[0], CL_PROGRAM_BUILD_STATUS, 0, NULL, NULL), CL_INVALID_DEVICE);

  // A binary for each device; a program of two of them.
  size_t sizes[3];
  unsigned char *binaries[3];
  CODE(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 2 * sizeof *sizes, sizes, NULL), CL_INVALID_VALUE);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &size));
  EXPECT(size == sizeof sizes && sizes[0] && sizes[1] == sizes[0] && sizes[2] == sizes[0]);
  for (int i = 0; i < 3; i++) binaries[i] = calloc(1, sizes[i]);
  unsigned char *middle = binaries[1];
  binaries[1] = NULL;
  CODE(clGetProgramInfo(program, CL_PROGRAM_BINARIES, 2 * sizeof *binaries, binaries, NULL), CL_INVALID_VALUE);
  CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries, &size));
  EXPECT(size == sizeof binaries && !memcmp(binaries[0], binaries[2], sizes[0]));
  EXPECT(!middle[0] && binaries[0][0]);
  cl_int statuses[2] = {9, 9};
  const unsigned char *given[] = {binaries[2], binaries[0]};
  cl_device_id two[] = {parts[1], s.device};
  EXPECT(!clCreateProgramWithBinary(context, 1, others, sizes, given, statuses, &error) && error == CL_INVALID_DEVICE);
  cl_program again = clCreateProgramWithBinary(context, 2, two, sizes, given, statuses, &error);
  CHECK(error);
  CHECK(statuses[0]);
  CHECK(statuses[1]);
  CHECK(clGetProgramInfo(again, CL_PROGRAM_DEVICES, sizeof found, found, &size));
  EXPECT(size == sizeof two && !memcmp(found, two, size));
  CHECK(clBuildProgram(again, 1, two, "", NULL, NULL));

  cl_kernel kernel = clCreateKernel(program, "add", &error), of_two = clCreateKernel(again, "add", &error);
  CHECK(error);
  size_t group;
  for (int i = 0; i < 3; i++) CHECK(clGetKernelWorkGroupInfo(kernel, all[i], CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL));
  CODE(clGetKernelWorkGroupInfo(kernel, NULL, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL), CL_INVALID_DEVICE);
  CODE(clGetKernelWorkGroupInfo(of_two, parts[0], CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL), CL_INVALID_DEVICE);
  CODE(clGetKernelSubGroupInfo(kernel, others[1], CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, NULL, sizeof group, &group, NULL), CL_INVALID_DEVICE);

  // One buffer of all devices, changed on one after the other.
  enum { ITEMS = 100000 };
  static int numbers[ITEMS];
  cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &error);
  CHECK(error);
  cl_command_queue queues[3];
  size_t items = ITEMS, few = 3;
  for (int i = 0; i < 3; i++) {
    cl_device_id device;
    queues[i] = clCreateCommandQueueWithProperties(context, all[i], NULL, &error);
    CHECK(error);
    CHECK(clGetCommandQueueInfo(queues[i], CL_QUEUE_DEVICE, sizeof device, &device, NULL));
    EXPECT(device == all[i]);
    for (int round = 1; round < 4; round++) {
      CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
      CHECK(clSetKernelArg(kernel, 1, sizeof round, &round));
      CHECK(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
      CHECK(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &few, NULL, 0, NULL, NULL));
    }
    CHECK(clFinish(queues[i]));
  }
  CHECK(clEnqueueReadBuffer(queues[1], buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL));
  for (int i = 0; i < ITEMS; i++) EXPECT(numbers[i] == (i < 3 ? 2 : 1) * 3 * 50 * 6);
  CHECK(clSetKernelArg(of_two, 0, sizeof buffer, &buffer));
  CHECK(clSetKernelArg(of_two, 1, sizeof(int), &(int){1}));
  CHECK(clEnqueueNDRangeKernel(queues[2], of_two, 1, NULL, &few, NULL, 0, NULL, NULL));
  CODE(clEnqueueNDRangeKernel(queues[1], of_two, 1, NULL, &few, NULL, 0, NULL, NULL), CL_INVALID_PROGRAM_EXECUTABLE);
  CHECK(clFinish(queues[2]));

  // A command buffer belongs to the device of its queue.
  clCreateCommandBufferKHR_fn create = clGetExtensionFunctionAddressForPlatform(s.platform, "clCreateCommandBufferKHR");
  clFinalizeCommandBufferKHR_fn finalize = clGetExtensionFunctionAddressForPlatform(s.platform, "clFinalizeCommandBufferKHR");
  clReleaseCommandBufferKHR_fn drop = clGetExtensionFunctionAddressForPlatform(s.platform, "clReleaseCommandBufferKHR");
  clEnqueueCommandBufferKHR_fn execute = clGetExtensionFunctionAddressForPlatform(s.platform, "clEnqueueCommandBufferKHR");
  clCommandNDRangeKernelKHR_fn record = clGetExtensionFunctionAddressForPlatform(s.platform, "clCommandNDRangeKernelKHR");
  cl_command_buffer_khr commands = create(1, &queues[1], NULL, &error);
  CHECK(error);
  CHECK(record(commands, NULL, NULL, kernel, 1, NULL, &items, NULL, 0, NULL, NULL, NULL));
  CHECK(finalize(commands));
  CHECK(execute(0, NULL, commands, 0, NULL, NULL));
  CHECK(execute(1, &queues[1], commands, 0, NULL, NULL));
  CODE(execute(1, &queues[2], commands, 0, NULL, NULL), CL_INCOMPATIBLE_COMMAND_QUEUE_KHR);
  CHECK(clEnqueueReadBuffer(queues[1], buffer, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL));
  EXPECT(numbers[ITEMS - 1] == 3 * 50 * 6 + 2 * 50 * 3);
  CHECK(drop(commands));

  // Shared memory is that of a device of the context.
  clDeviceMemAllocINTEL_fn allocate = clGetExtensionFunctionAddressForPlatform(s.platform, "clDeviceMemAllocINTEL");
  clSharedMemAllocINTEL_fn share = clGetExtensionFunctionAddressForPlatform(s.platform, "clSharedMemAllocINTEL");
  clGetMemAllocInfoINTEL_fn ask = clGetExtensionFunctionAddressForPlatform(s.platform, "clGetMemAllocInfoINTEL");
  clMemFreeINTEL_fn release = clGetExtensionFunctionAddressForPlatform(s.platform, "clMemFreeINTEL");
  EXPECT(!allocate(context, others[0], NULL, 64, 0, &error) && error == CL_INVALID_DEVICE);
  EXPECT(!share(context, others[0], NULL, 64, 0, &error) && error == CL_INVALID_DEVICE);
  void *memory[] = {allocate(context, parts[1], NULL, 64, 0, &error), share(context, parts[0], NULL, 64, 0, &error),
                    share(context, NULL, NULL, 64, 0, &error)};
  cl_device_id owners[] = {parts[1], parts[0], NULL};
  for (int i = 0; i < 3; i++) {
    cl_device_id owner = s.device;
    CHECK(ask(context, memory[i], CL_MEM_ALLOC_DEVICE_INTEL, sizeof owner, &owner, NULL));
    EXPECT(owner == owners[i]);
    CHECK(release(context, memory[i]));
  }
  void *(*allocate_svm)(cl_context, const cl_ulong *, cl_uint, size_t, cl_int *);
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, "clSVMAllocWithPropertiesKHR");
  memcpy(&allocate_svm, &address, sizeof address);
  cl_ulong known[] = {0x2078, (cl_ulong)parts[1], 0}, unknown[] = {0x2078, (cl_ulong)others[1], 0};
  EXPECT(!allocate_svm(context, unknown, 2, 64, &error) && error == CL_INVALID_PROPERTY);
  void *svm = allocate_svm(context, known, 2, 64, &error);
  CHECK(error);
  clSVMFree(context, svm);

  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseKernel(of_two));
  CHECK(clReleaseProgram(program));
  CHECK(clReleaseProgram(again));
  // The context keeps its devices.
  CHECK(clReleaseDevice(parts[0]));
  EXPECT(units_of(parts[0]) == 1);
  for (int i = 0; i < 3; i++) CHECK(clReleaseCommandQueue(queues[i]));
  CHECK(clReleaseContext(context));
  // The thread of the last command may hold it for another moment.
  for (int wait = 0; wait < 10000 && !clGetDeviceInfo(parts[0], CL_DEVICE_TYPE, 0, NULL, NULL); wait++) usleep(1000);
  CODE(clGetDeviceInfo(parts[0], CL_DEVICE_TYPE, 0, NULL, NULL), CL_INVALID_DEVICE);
  EXPECT(units_of(parts[1]) == 3);
  CHECK(clReleaseDevice(parts[1]));
  for (int i = 0; i < 2; i++) CHECK(clReleaseDevice(others[i]));
  free(middle);
  free(binaries[0]);
  free(binaries[2]);
}

int main(int count, char **arguments) {
  struct setting s = start(0);
  EXPECT(count == 2);
  cl_uint units = (cl_uint)atoi(arguments[1]);
  threads(s, units);
  roots(s, units);
  partitions(s, units);
  domains(s, units);
  errors(s, units);
  work(s);
  end(s);
  return passed();
}
