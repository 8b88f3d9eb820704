// Addresses that host and device share: of buffers that ask for a fixed one, and memory that the host has from anywhere.
// covers: cl_ext_buffer_device_address
#include "check.h"

enum { PRIVATE_ADDRESS = 0x5000, DEVICE_ADDRESS = 0x5001, DEVICE_PTRS = 0x5002 };

static cl_int (*set_pointer)(cl_kernel, cl_uint, cl_ulong);

static const char *source =
    "struct node { global struct node *next; int value; };\n"
    "kernel void sum(global struct node *at, global int *to) {\n"
    "  int s = 0;\n"
    "  for (; at; at = at->next) s += at->value;\n"
    "  *to = s;\n"
    "}\n"
    "kernel void count(global atomic_int *at, local int *here, int n) { atomic_fetch_add(at, n); }\n";

struct node {
  cl_ulong next;
  cl_int value;
};

static void of_buffers(struct setting s, cl_program program) {
  cl_int error, found;
  cl_mem_properties yes[] = {PRIVATE_ADDRESS, CL_TRUE, 0}, no[] = {PRIVATE_ADDRESS, CL_FALSE, 0}, wrong[] = {PRIVATE_ADDRESS, 7, 0};
  cl_mem nodes = clCreateBufferWithProperties(s.context, yes, 0, 4096, NULL, &error);
  CHECK(error);
  cl_mem without = clCreateBufferWithProperties(s.context, no, 0, 4096, NULL, &error);
  CHECK(error);
  EXPECT(!clCreateBufferWithProperties(s.context, wrong, 0, 4096, NULL, &error) && error == CL_INVALID_PROPERTY);
  cl_mem plain = clCreateBuffer(s.context, 0, 4096, NULL, &error);
  CHECK(error);
  cl_ulong address, again;
  size_t size;
  CHECK(clGetMemObjectInfo(nodes, DEVICE_ADDRESS, sizeof address, &address, &size));
  EXPECT(size == sizeof address && address);
  CHECK(clGetMemObjectInfo(nodes, DEVICE_ADDRESS, sizeof again, &again, NULL));
  EXPECT(again == address);
  CODE(clGetMemObjectInfo(nodes, DEVICE_ADDRESS, sizeof address - 1, &address, NULL), CL_INVALID_VALUE);
  CODE(clGetMemObjectInfo(without, DEVICE_ADDRESS, sizeof address, &address, NULL), CL_INVALID_OPERATION);
  CODE(clGetMemObjectInfo(plain, DEVICE_ADDRESS, sizeof address, &address, NULL), CL_INVALID_OPERATION);
  cl_mem_properties list[3];
  CHECK(clGetMemObjectInfo(nodes, CL_MEM_PROPERTIES, sizeof list, list, &size));
  EXPECT(size == sizeof list && !memcmp(list, yes, size));
  // A list of nodes, in one buffer, from its second node on; the last one is the first in memory.
  struct node written[3] = {{0, 1}, {address + 2 * sizeof(struct node), 20}, {address, 300}};
  CHECK(clEnqueueWriteBuffer(s.queue, nodes, CL_TRUE, 0, sizeof written, written, 0, NULL, NULL));
  cl_kernel sum = clCreateKernel(program, "sum", &error), count = clCreateKernel(program, "count", &error);
  CHECK(error);
  CHECK(set_pointer(sum, 0, address + sizeof(struct node)));
  CHECK(clSetKernelArg(sum, 1, sizeof plain, &plain));
  CHECK(clSetKernelExecInfo(sum, DEVICE_PTRS, sizeof address, &address));
  CODE(clSetKernelExecInfo(sum, DEVICE_PTRS, 3, &address), CL_INVALID_VALUE);
  CODE(set_pointer(sum, 2, address), CL_INVALID_ARG_INDEX);
  CODE(set_pointer(count, 1, address), CL_INVALID_ARG_INDEX);
  CODE(set_pointer(count, 2, address), CL_INVALID_ARG_INDEX);
  CODE(set_pointer((cl_kernel)s.queue, 0, address), CL_INVALID_KERNEL);
  size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(s.queue, sum, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, plain, CL_TRUE, 0, sizeof found, &found, 0, NULL, NULL));
  EXPECT(found == 321);
  // No address at all.
  CHECK(set_pointer(sum, 0, 0));
  CHECK(clEnqueueNDRangeKernel(s.queue, sum, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, plain, CL_TRUE, 0, sizeof found, &found, 0, NULL, NULL));
  EXPECT(found == 0);
  // Memory of the application keeps its address.
  void *host = clSVMAlloc(s.context, 0, 4096, 0);
  cl_mem shared = clCreateBufferWithProperties(s.context, yes, CL_MEM_USE_HOST_PTR, 4096, host, &error);
  CHECK(error);
  CHECK(clGetMemObjectInfo(shared, DEVICE_ADDRESS, sizeof address, &address, NULL));
  EXPECT(address == (cl_ulong)host);
  cl_mem all[] = {nodes, without, plain, shared};
  for (int i = 0; i < 4; i++) CHECK(clReleaseMemObject(all[i]));
  clSVMFree(s.context, host);
  CHECK(clReleaseKernel(sum));
  CHECK(clReleaseKernel(count));
}

// Fine-grain system memory: the stack, variables and malloc's memory, used by a kernel and the host at once.
static int of_file = 5;

static void of_host(struct setting s, cl_program program) {
  cl_device_svm_capabilities can;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL));
  EXPECT(can & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM && can & CL_DEVICE_SVM_ATOMICS);
  cl_int error, on_stack = 0, n = 1;
  cl_kernel sum = clCreateKernel(program, "sum", &error), count = clCreateKernel(program, "count", &error);
  CHECK(error);
  cl_bool yes = CL_TRUE;
  CHECK(clSetKernelExecInfo(sum, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof yes, &yes));
  CODE(clSetKernelExecInfo(sum, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1, &yes), CL_INVALID_VALUE);
  struct node last = {0, 7}, *first = malloc(sizeof *first);
  *first = (struct node){(cl_ulong)&last, 40};
  CHECK(clSetKernelArgSVMPointer(sum, 0, first));
  CHECK(clSetKernelArgSVMPointer(sum, 1, &on_stack));
  size_t one = 1, items = 4096;
  CHECK(clEnqueueNDRangeKernel(s.queue, sum, 1, NULL, &one, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  EXPECT(on_stack == 47);
  CHECK(clSetKernelArgSVMPointer(count, 0, &of_file));
  CHECK(clSetKernelArg(count, 1, 4, NULL));
  CHECK(clSetKernelArg(count, 2, sizeof n, &n));
  CHECK(clEnqueueNDRangeKernel(s.queue, count, 1, NULL, &items, NULL, 0, NULL, NULL));
  for (int i = 0; i < 1000; i++) __atomic_fetch_add(&of_file, 1, __ATOMIC_RELAXED);
  CHECK(clFinish(s.queue));
  EXPECT(of_file == 5 + 4096 + 1000);
  CHECK(clEnqueueSVMMemcpy(s.queue, CL_TRUE, &on_stack, &of_file, sizeof of_file, 0, NULL, NULL));
  EXPECT(on_stack == of_file);
  free(first);
  CHECK(clReleaseKernel(sum));
  CHECK(clReleaseKernel(count));
}

int main(void) {
  struct setting s = start(0);
  void *address = clGetExtensionFunctionAddressForPlatform(s.platform, "clSetKernelArgDevicePointerEXT");
  EXPECT(address);
  memcpy(&set_pointer, &address, sizeof address);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  of_buffers(s, program);
  of_host(s, program);
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
