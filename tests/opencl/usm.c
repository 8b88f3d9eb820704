// Unified shared memory: allocations, what is known of them, copies, fills, kernels with pointers in memory.
// covers: cl_intel_unified_shared_memory
#include "check.h"
#include <CL/cl_ext.h>

#define FIND(name) name##_fn name = (name##_fn)clGetExtensionFunctionAddressForPlatform(s.platform, #name)

static const char *source =
    "kernel void add(global int *to, global int *global *lists, int by) {\n"
    "  size_t i = get_global_id(0);\n"
    "  to[i] += lists[0][i] + lists[1][i] + by;\n"
    "}\n";

int main(void) {
  struct setting s = start(0);
  char extensions[2048];
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
  EXPECT(strstr(extensions, "cl_intel_unified_shared_memory"));
  cl_bitfield capabilities;
  for (cl_device_info name = CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL;
       name <= CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL; name++) {
    CHECK(clGetDeviceInfo(s.device, name, sizeof capabilities, &capabilities, NULL));
    EXPECT(capabilities & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL);
  }
  FIND(clHostMemAllocINTEL);
  FIND(clDeviceMemAllocINTEL);
  FIND(clSharedMemAllocINTEL);
  FIND(clMemFreeINTEL);
  FIND(clMemBlockingFreeINTEL);
  FIND(clGetMemAllocInfoINTEL);
  FIND(clSetKernelArgMemPointerINTEL);
  FIND(clEnqueueMemFillINTEL);
  FIND(clEnqueueMemcpyINTEL);
  FIND(clEnqueueMigrateMemINTEL);
  FIND(clEnqueueMemAdviseINTEL);
  EXPECT(clHostMemAllocINTEL && clDeviceMemAllocINTEL && clSharedMemAllocINTEL && clMemFreeINTEL);
  EXPECT(clMemBlockingFreeINTEL && clGetMemAllocInfoINTEL && clSetKernelArgMemPointerINTEL && clEnqueueMemFillINTEL);
  EXPECT(clEnqueueMemcpyINTEL && clEnqueueMigrateMemINTEL && clEnqueueMemAdviseINTEL);
  enum { COUNT = 1000, BYTES = COUNT * sizeof(cl_int) };
  cl_int error;
  cl_mem_properties_intel placed[] = {CL_MEM_ALLOC_FLAGS_INTEL, CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL, 0};
  cl_mem_properties_intel unknown[] = {1, 2, 0};
  cl_int *host = clHostMemAllocINTEL(s.context, NULL, BYTES, 0, &error);
  CHECK(error);
  cl_int *device = clDeviceMemAllocINTEL(s.context, s.device, NULL, BYTES, 256, &error);
  CHECK(error);
  cl_int **shared = clSharedMemAllocINTEL(s.context, s.device, placed, 2 * sizeof *shared, 0, &error);
  CHECK(error);
  EXPECT((size_t)device % 256 == 0);
  EXPECT(!clHostMemAllocINTEL(s.context, NULL, 0, 0, &error) && error == CL_INVALID_BUFFER_SIZE);
  EXPECT(!clHostMemAllocINTEL(s.context, NULL, 64, 3, &error) && error == CL_INVALID_VALUE);
  EXPECT(!clHostMemAllocINTEL(s.context, unknown, 64, 0, &error) && error == CL_INVALID_PROPERTY);
  EXPECT(!clDeviceMemAllocINTEL(s.context, NULL, NULL, 64, 0, &error) && error == CL_INVALID_DEVICE);
  // Facts of allocations.
  void *pointers[] = {host, device, shared, &error};
  cl_unified_shared_memory_type_intel kind, kinds[] = {CL_MEM_TYPE_HOST_INTEL, CL_MEM_TYPE_DEVICE_INTEL,
                                                       CL_MEM_TYPE_SHARED_INTEL, CL_MEM_TYPE_UNKNOWN_INTEL};
  for (int i = 0; i < 4; i++) {
    void *base;
    size_t size;
    CHECK(clGetMemAllocInfoINTEL(s.context, (char *)pointers[i] + 3, CL_MEM_ALLOC_TYPE_INTEL, sizeof kind, &kind, NULL));
    EXPECT(kind == kinds[i]);
    CHECK(clGetMemAllocInfoINTEL(s.context, (char *)pointers[i] + 3, CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof base, &base, NULL));
    EXPECT(base == (i < 3 ? pointers[i] : NULL));
    CHECK(clGetMemAllocInfoINTEL(s.context, pointers[i], CL_MEM_ALLOC_SIZE_INTEL, sizeof size, &size, NULL));
    EXPECT(size == (i < 2 ? BYTES : i < 3 ? 2 * sizeof *shared : 0));
  }
  CODE(clGetMemAllocInfoINTEL(s.context, host, 1, 0, NULL, NULL), CL_INVALID_VALUE);
  // Fills, copies and a kernel.
  cl_int seven = 7, by = 100, out[COUNT];
  for (int i = 0; i < COUNT; i++) host[i] = i;
  CHECK(clEnqueueMemFillINTEL(s.queue, device, &seven, sizeof seven, BYTES, 0, NULL, NULL));
  CODE(clEnqueueMemFillINTEL(s.queue, device, &seven, 3, BYTES, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueMemcpyINTEL(s.queue, CL_TRUE, device, device + 1, BYTES / 2, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CHECK(clEnqueueMigrateMemINTEL(s.queue, host, BYTES, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
  CHECK(clEnqueueMemAdviseINTEL(s.queue, host, BYTES, 0, 0, NULL, NULL));
  shared[0] = host;
  shared[1] = device;
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel kernel = clCreateKernel(program, "add", &error);
  CHECK(error);
  cl_int *to = clSharedMemAllocINTEL(s.context, NULL, NULL, BYTES, 0, &error);
  CHECK(error);
  CHECK(clSetKernelArgMemPointerINTEL(kernel, 0, to));
  CHECK(clSetKernelArgMemPointerINTEL(kernel, 1, shared));
  CHECK(clSetKernelArg(kernel, 2, sizeof by, &by));
  cl_bool yes = CL_TRUE;
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, sizeof yes, &yes));
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof yes, &yes));
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL, sizeof yes, &yes));
  CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, 2 * sizeof(void *), pointers));
  size_t count = COUNT;
  for (int i = 0; i < 10; i++) CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
  CHECK(clEnqueueMemcpyINTEL(s.queue, CL_TRUE, out, to, BYTES, 0, NULL, NULL));
  for (int i = 0; i < COUNT; i++) EXPECT(out[i] == 10 * (i + 107));
  // Memory goes when the commands before are complete.
  for (int i = 0; i < 100; i++) CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
  CHECK(clMemBlockingFreeINTEL(s.context, device));
  CODE(clMemFreeINTEL(s.context, device), CL_INVALID_VALUE);
  CHECK(clMemFreeINTEL(s.context, NULL));
  CHECK(clMemFreeINTEL(s.context, host));
  CHECK(clMemFreeINTEL(s.context, shared));
  CHECK(clMemFreeINTEL(s.context, to));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
