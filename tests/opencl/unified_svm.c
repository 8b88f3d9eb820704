// Types of shared virtual memory: queries, allocations of each type, facts of pointers, suggestions, kernels that reach memory by pointers.
// covers: cl_khr_unified_svm
#include "check.h"

// The interface of version 0.9.0, which older headers lack.
enum {
  PLATFORM_TYPES = 0x0909, DEVICE_TYPES = 0x1077, INDIRECT_ACCESS = 0x11bb,
  ASSOCIATED_DEVICE = 0x2078, ACCESS_FLAGS = 0x2079, ALIGNMENT = 0x207a,
  TYPE_INDEX = 0x2088, CAPABILITIES = 0x2089, PROPERTIES = 0x208a, ACCESS = 0x208b, BASE = 0x419b, SIZE = 0x419c, DEVICE = 0x419d,
  SINGLE_ADDRESS_SPACE = 1 << 0, SYSTEM_ALLOCATED = 1 << 1, DEVICE_OWNED = 1 << 2, UNASSOCIATED = 1 << 3, CONTEXT_ACCESS = 1 << 4,
  HOST_OWNED = 1 << 5, HOST_READ = 1 << 6, HOST_WRITE = 1 << 7, HOST_MAP = 1 << 8, DEVICE_READ = 1 << 9, DEVICE_WRITE = 1 << 10,
  DEVICE_ATOMIC = 1 << 11, CONCURRENT = 1 << 12, CONCURRENT_ATOMIC = 1 << 13, INDIRECT = 1 << 14,
  HOST_NOREAD = 1 << 0, DEVICE_NOWRITE = 1 << 9,
  TYPES = 6, COUNT = 1000, BYTES = COUNT * sizeof(cl_int)
};
static void *(*allocate)(cl_context, const cl_ulong *, cl_uint, size_t, cl_int *);
static cl_int (*release)(cl_context, const cl_ulong *, cl_ulong, void *);
static cl_int (*info)(cl_context, cl_device_id, const void *, cl_uint, size_t, void *, size_t *);
static cl_int (*suggest)(cl_context, cl_ulong, cl_ulong, const cl_ulong *, size_t, cl_uint *);

static void find(struct setting s, const char *name, void *function) {
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, name);
  if (!address) fprintf(stderr, "no %s\n", name);
  EXPECT(address);
  memcpy(function, &address, sizeof address);
}

// Capabilities that a type must have: coarse-grained and fine-grained buffers, memory of the device, of the host, of both, of the system.
enum { DEVICE_ACCESS = SINGLE_ADDRESS_SPACE | DEVICE_READ | DEVICE_WRITE, HOST_ACCESS = HOST_READ | HOST_WRITE, ALL = UNASSOCIATED | CONTEXT_ACCESS };
static const cl_ulong least[TYPES] = {
  DEVICE_ACCESS | ALL | HOST_MAP | DEVICE_ATOMIC, DEVICE_ACCESS | ALL | HOST_ACCESS | HOST_MAP | DEVICE_ATOMIC | CONCURRENT,
  DEVICE_ACCESS | DEVICE_OWNED | DEVICE_ATOMIC | INDIRECT, DEVICE_ACCESS | ALL | HOST_OWNED | HOST_ACCESS | INDIRECT,
  DEVICE_ACCESS | HOST_ACCESS | INDIRECT,
  DEVICE_ACCESS | SYSTEM_ALLOCATED | ALL | HOST_ACCESS | HOST_MAP | DEVICE_ATOMIC | CONCURRENT | CONCURRENT_ATOMIC | INDIRECT};

static cl_ulong types[TYPES];

static void queries(struct setting s) {
  cl_ulong of_device[TYPES];
  size_t size;
  CHECK(clGetPlatformInfo(s.platform, PLATFORM_TYPES, sizeof types, types, &size));
  EXPECT(size == sizeof types);
  CHECK(clGetDeviceInfo(s.device, DEVICE_TYPES, sizeof of_device, of_device, &size));
  EXPECT(size == sizeof types && !memcmp(types, of_device, size));
  for (int t = 0; t < TYPES; t++) {
    EXPECT((types[t] & least[t]) == least[t]);
    EXPECT(!(types[t] & DEVICE_OWNED) == (t != 2) && !(types[t] & HOST_OWNED) == (t != 3) && !(types[t] & SYSTEM_ALLOCATED) == (t != 5));
    EXPECT(!(types[t] & UNASSOCIATED) == (t == 2 || t == 4));
  }
}

static void suggestions(struct setting s) {
  cl_uint found;
  cl_ulong device[] = {ASSOCIATED_DEVICE, (cl_ulong)s.device, 0}, aligned[] = {ALIGNMENT, 64, 0}, unknown[] = {1, 1, 0};
  for (int t = 0; t < TYPES; t++) {
    CHECK(suggest(s.context, types[t], 0, NULL, BYTES, &found));
    EXPECT(found < TYPES && (types[found] & types[t]) == types[t]);
    CHECK(suggest(s.context, types[t], 0, device, BYTES, &found));
    EXPECT(found < TYPES && (types[found] & types[t]) == types[t]);
  }
  CHECK(suggest(s.context, HOST_MAP, HOST_OWNED, NULL, 0, &found));
  EXPECT(types[found] & HOST_MAP);
  CHECK(suggest(s.context, DEVICE_READ, HOST_OWNED, NULL, 0, &found));
  EXPECT(types[found] & HOST_OWNED);
  // Memory without a device cannot be the device's.
  CHECK(suggest(s.context, DEVICE_OWNED, 0, aligned, 0, &found));
  EXPECT(found == CL_UINT_MAX);
  CHECK(suggest(s.context, DEVICE_OWNED | HOST_OWNED, 0, NULL, 0, &found));
  EXPECT(found == CL_UINT_MAX);
  CHECK(suggest(s.context, 1ull << 40, 0, NULL, 0, &found));
  EXPECT(found == CL_UINT_MAX);
  CODE(suggest(s.context, 0, 0, NULL, 0, NULL), CL_INVALID_VALUE);
  CODE(suggest(s.context, 0, 0, unknown, 0, &found), CL_INVALID_PROPERTY);
  CODE(suggest((cl_context)s.queue, 0, 0, NULL, 0, &found), CL_INVALID_CONTEXT);
}

static void refusals(struct setting s) {
  cl_int error;
  cl_ulong device = (cl_ulong)s.device;
  cl_ulong wrong[][5] = {
    {1, 1, 0}, {ALIGNMENT, 3, 0}, {ALIGNMENT, 1 << 20, 0}, {ACCESS_FLAGS, 1 << 5, 0}, {ASSOCIATED_DEVICE, (cl_ulong)s.queue, 0},
    {ALIGNMENT, 64, ALIGNMENT, 64, 0}};
  for (int i = 0; i < 6; i++) EXPECT(!allocate(s.context, wrong[i], 0, BYTES, &error) && error == CL_INVALID_PROPERTY);
  EXPECT(!allocate(s.context, NULL, 2, BYTES, &error) && error == CL_INVALID_PROPERTY);
  EXPECT(!allocate(s.context, NULL, TYPES, BYTES, &error) && error == CL_INVALID_VALUE);
  EXPECT(!allocate((cl_context)s.queue, NULL, 0, BYTES, &error) && error == CL_INVALID_CONTEXT);
  EXPECT(!allocate(s.context, NULL, 0, 0, &error) && error == CL_SUCCESS);
  EXPECT(!allocate(s.context, NULL, 0, 0, NULL));
  // Facts of what is no such memory.
  cl_uint index;
  cl_ulong bits;
  size_t size;
  void *pointer;
  const void *none[] = {NULL, &error};
  for (int i = 0; i < 2; i++) {
    CHECK(info(s.context, NULL, none[i], TYPE_INDEX, sizeof index, &index, NULL));
    EXPECT(index == CL_UINT_MAX);
    CHECK(info(s.context, s.device, none[i], CAPABILITIES, sizeof bits, &bits, NULL));
    EXPECT(!bits);
    CHECK(info(s.context, NULL, none[i], PROPERTIES, 0, NULL, &size));
    EXPECT(!size);
    CHECK(info(s.context, NULL, none[i], ACCESS, sizeof bits, &bits, NULL));
    EXPECT(!bits);
    CHECK(info(s.context, NULL, none[i], BASE, sizeof pointer, &pointer, NULL));
    EXPECT(!pointer);
    CHECK(info(s.context, NULL, none[i], SIZE, sizeof size, &size, NULL));
    EXPECT(!size);
    CHECK(info(s.context, NULL, none[i], DEVICE, sizeof pointer, &pointer, NULL));
    EXPECT(!pointer);
  }
  CODE(info(s.context, NULL, NULL, 1, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(info(s.context, (cl_device_id)s.queue, NULL, SIZE, 0, NULL, NULL), CL_INVALID_DEVICE);
  CODE(info((cl_context)s.queue, NULL, NULL, SIZE, 0, NULL, NULL), CL_INVALID_CONTEXT);
  // Frees.
  cl_ulong some[] = {device, device, 0}, empty[] = {0};
  char *memory = allocate(s.context, empty, 1, BYTES, &error);
  CHECK(error);
  CODE(info(s.context, NULL, memory, CAPABILITIES, sizeof bits - 1, &bits, NULL), CL_INVALID_VALUE);
  CODE(release(s.context, some, 0, memory), CL_INVALID_PROPERTY);
  CODE(release(s.context, NULL, 1, memory), CL_INVALID_VALUE);
  CODE(release(s.context, NULL, 0, memory + 4), CL_INVALID_VALUE);
  CODE(release(s.context, NULL, 0, &error), CL_INVALID_VALUE);
  CODE(release((cl_context)s.queue, NULL, 0, memory), CL_INVALID_CONTEXT);
  CHECK(release(s.context, NULL, 0, NULL));
  CHECK(release(s.context, empty, 0, memory));
  CODE(release(s.context, NULL, 0, memory), CL_INVALID_VALUE);
}

static const char *source =
    "kernel void add(global int *to, global int *global *lists, int count) {\n"
    "  size_t i = get_global_id(0);\n"
    "  for (int l = 0; l < count; l++) to[i] += lists[l][i];\n"
    "}\n";

// Each type holds a number for each item; a kernel sums them by pointers that it finds in memory.
static void use(struct setting s) {
  cl_int error, *lists[TYPES], count = TYPES;
  cl_ulong of_device[] = {ACCESS_FLAGS, HOST_NOREAD | DEVICE_NOWRITE, ASSOCIATED_DEVICE, (cl_ulong)s.device, ALIGNMENT, 128, 0};
  for (int t = 0; t < TYPES; t++) {
    int has_list = t % 2 == 0;
    lists[t] = allocate(s.context, has_list ? of_device : NULL, t, BYTES, &error);
    CHECK(error);
    EXPECT((size_t)lists[t] % 128 == 0);
    cl_uint index;
    cl_ulong bits, list[7];
    size_t size;
    void *pointer;
    const char *within = (const char *)lists[t] + 5;
    CHECK(info(s.context, NULL, within, TYPE_INDEX, sizeof index, &index, &size));
    EXPECT(index == (cl_uint)t && size == sizeof index);
    CHECK(info(s.context, s.device, within, CAPABILITIES, sizeof bits, &bits, NULL));
    EXPECT(bits == types[t]);
    CHECK(info(s.context, NULL, within, PROPERTIES, sizeof list, list, &size));
    EXPECT(has_list ? size == sizeof list && !memcmp(list, of_device, size) : size == 0);
    CHECK(info(s.context, NULL, within, ACCESS, sizeof bits, &bits, NULL));
    EXPECT(bits == (has_list ? HOST_NOREAD | DEVICE_NOWRITE : 0));
    CHECK(info(s.context, NULL, within, BASE, sizeof pointer, &pointer, NULL));
    EXPECT(pointer == lists[t]);
    CHECK(info(s.context, NULL, within, SIZE, sizeof size, &size, NULL));
    EXPECT(size == BYTES);
    CHECK(info(s.context, NULL, within, DEVICE, sizeof pointer, &pointer, NULL));
    EXPECT(pointer == (has_list ? s.device : NULL));
    cl_int number = 1 << t;
    CHECK(clEnqueueSVMMemFill(s.queue, lists[t], &number, sizeof number, BYTES, 0, NULL, NULL));
    // Mapping is for the types that have it.
    cl_int mapped = types[t] & HOST_MAP ? CL_SUCCESS : CL_INVALID_VALUE;
    CODE(clEnqueueSVMMap(s.queue, CL_TRUE, CL_MAP_WRITE, lists[t], BYTES, 0, NULL, NULL), mapped);
    CODE(clEnqueueSVMUnmap(s.queue, lists[t], 0, NULL, NULL), mapped);
  }
  // Old allocations are of the first two types.
  void *old[] = {clSVMAlloc(s.context, 0, 64, 0), clSVMAlloc(s.context, CL_MEM_SVM_FINE_GRAIN_BUFFER, 64, 0)};
  for (cl_uint t = 0, index; t < 2; t++) {
    CHECK(info(s.context, NULL, old[t], TYPE_INDEX, sizeof index, &index, NULL));
    EXPECT(index == t);
  }
  CHECK(release(s.context, NULL, 0, old[0]));
  clSVMFree(s.context, old[1]);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel kernel = clCreateKernel(program, "add", &error);
  CHECK(error);
  // Memory of the system needs no allocation by the driver.
  cl_int *to = calloc(COUNT, sizeof *to), zero = 0;
  cl_bool yes = CL_TRUE;
  CHECK(clSetKernelArgSVMPointer(kernel, 0, to));
  CHECK(clSetKernelArgSVMPointer(kernel, 1, lists));
  CHECK(clSetKernelArg(kernel, 2, sizeof count, &count));
  CHECK(clSetKernelExecInfo(kernel, INDIRECT_ACCESS, sizeof yes, &yes));
  CODE(clSetKernelExecInfo(kernel, INDIRECT_ACCESS, 1, &yes), CL_INVALID_VALUE);
  CODE(clSetKernelExecInfo(kernel, INDIRECT_ACCESS, sizeof yes, NULL), CL_INVALID_VALUE);
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof lists, lists));
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
  size_t items = COUNT;
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  for (int i = 0; i < COUNT; i++) EXPECT(to[i] == (1 << TYPES) - 1);
  // Nothing is copied, filled, moved or freed.
  CHECK(clEnqueueSVMMemcpy(s.queue, CL_TRUE, NULL, NULL, 0, 0, NULL, NULL));
  CHECK(clEnqueueSVMMemFill(s.queue, NULL, &zero, sizeof zero, 0, 0, NULL, NULL));
  CODE(clEnqueueSVMMemcpy(s.queue, CL_TRUE, NULL, to, 4, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueSVMMemFill(s.queue, NULL, &zero, sizeof zero, 4, 0, NULL, NULL), CL_INVALID_VALUE);
  const void *moved[] = {NULL, lists[4]};
  CHECK(clEnqueueSVMMigrateMem(s.queue, 2, moved, NULL, 0, 0, NULL, NULL));
  void *freed[] = {NULL, lists[0], lists[1]};
  CHECK(clEnqueueSVMFree(s.queue, 3, freed, NULL, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  CODE(release(s.context, NULL, 0, lists[1]), CL_INVALID_VALUE);
  for (int t = 2; t < TYPES; t++) CHECK(release(s.context, NULL, 0, lists[t]));
  free(to);
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
}

int main(void) {
  struct setting s = start(0);
  find(s, "clSVMAllocWithPropertiesKHR", &allocate);
  find(s, "clSVMFreeWithPropertiesKHR", &release);
  find(s, "clGetSVMPointerInfoKHR", &info);
  find(s, "clGetSVMSuggestedTypeIndexKHR", &suggest);
  queries(s);
  suggestions(s);
  refusals(s);
  use(s);
  end(s);
  return passed();
}
