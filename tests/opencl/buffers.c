// Buffers: all ways to make, read, write, copy, fill and map them; sub-buffers; shared virtual memory.
#include "check.h"

enum { N = 4096 };

static int calls[4];
static void CL_CALLBACK first(cl_mem memory, void *data) { (void)memory, (void)data, calls[calls[0]++ + 1] = 1; }
static void CL_CALLBACK second(cl_mem memory, void *data) { (void)memory, (void)data, calls[calls[0]++ + 1] = 2; }

// Patterns of all sizes, over less than a block of patterns, over several, and a part of one; what is next to them stays.
static void fills(struct setting s) {
  enum { BYTES = 3 * N + 512 };
  static unsigned char back[BYTES];
  const size_t sizes[] = {128, N, 3 * N + 256};
  cl_int error;
  cl_mem memory = clCreateBuffer(s.context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
  CHECK(error);
  for (size_t width = 1; width <= 128; width *= 2)
    for (int of = 0; of < 3; of++)
      for (int equal = 0; equal < 2; equal++) {
        unsigned char pattern[128], other = 0xee;
        for (size_t i = 0; i < width; i++) pattern[i] = (unsigned char)(equal ? 5 : 3 * i + 1);
        CHECK(clEnqueueFillBuffer(s.queue, memory, &other, 1, 0, BYTES, 0, NULL, NULL));
        CHECK(clEnqueueFillBuffer(s.queue, memory, pattern, width, 128, sizes[of], 0, NULL, NULL));
        CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
        int wrong = 0;
        for (size_t i = 0; i < BYTES; i++)
          wrong += back[i] != (i < 128 || i >= 128 + sizes[of] ? other : pattern[(i - 128) % width]);
        EXPECT(wrong == 0);
      }
  CHECK(clReleaseMemObject(memory));
}

static void host_pointers(struct setting s) {
  static unsigned char host[N], back[N];
  cl_int error;
  for (int i = 0; i < N; i++) host[i] = (unsigned char)(i * 7);
  cl_mem used = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, N, host, &error);
  CHECK(error);
  cl_mem copied = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, N, host, &error);
  CHECK(error);
  void *pointer;
  CHECK(clGetMemObjectInfo(used, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
  EXPECT(pointer == host);
  CHECK(clGetMemObjectInfo(copied, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
  EXPECT(pointer == NULL);
  host[0] = 99;
  CHECK(clEnqueueReadBuffer(s.queue, copied, CL_TRUE, 0, N, back, 0, NULL, NULL));
  EXPECT(back[0] == 0 && back[1] == 7);
  cl_uchar pattern[4] = {1, 2, 3, 4};
  CHECK(clEnqueueFillBuffer(s.queue, used, pattern, 4, 8, 16, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  unsigned char *map = clEnqueueMapBuffer(s.queue, used, CL_TRUE, CL_MAP_READ, 8, 16, 0, NULL, NULL, &error);
  CHECK(error);
  EXPECT(map == host + 8);
  cl_uint maps;
  CHECK(clGetMemObjectInfo(used, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
  EXPECT(maps == 1);
  for (int i = 0; i < 16; i++) EXPECT(map[i] == i % 4 + 1);
  EXPECT(host[7] == 49 && host[24] == (unsigned char)(24 * 7));
  CODE(clEnqueueUnmapMemObject(s.queue, used, map + 1, 0, NULL, NULL), CL_INVALID_VALUE);
  CHECK(clEnqueueUnmapMemObject(s.queue, used, map, 0, NULL, NULL));
  CHECK(clEnqueueCopyBuffer(s.queue, used, copied, 8, 100, 16, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, copied, CL_TRUE, 100, 4, back, 0, NULL, NULL));
  EXPECT(!memcmp(back, pattern, 4));
  CODE(clEnqueueCopyBuffer(s.queue, used, used, 0, 8, 16, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CODE(clEnqueueCopyBuffer(s.queue, used, used, 0, N - 8, 16, 0, NULL, NULL), CL_INVALID_VALUE);
  CHECK(clSetMemObjectDestructorCallback(copied, first, NULL));
  CHECK(clSetMemObjectDestructorCallback(copied, second, NULL));
  CHECK(clFinish(s.queue));
  CHECK(clReleaseMemObject(used));
  CHECK(clReleaseMemObject(copied));
  EXPECT(calls[0] == 2 && calls[1] == 2 && calls[2] == 1);
  CODE(clReleaseMemObject(copied), CL_INVALID_MEM_OBJECT);

  clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, N, NULL, &error);
  EXPECT(error == CL_INVALID_HOST_PTR);
  clCreateBuffer(s.context, 0, N, host, &error);
  EXPECT(error == CL_INVALID_HOST_PTR);
  clCreateBuffer(s.context, 0, 0, NULL, &error);
  EXPECT(error == CL_INVALID_BUFFER_SIZE);
  clCreateBuffer(s.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, N, NULL, &error);
  EXPECT(error == CL_INVALID_VALUE);
  clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, N, host, &error);
  EXPECT(error == CL_INVALID_VALUE);
}

static void parts(struct setting s) {
  cl_int error;
  unsigned char bytes[N], back[128];
  for (int i = 0; i < N; i++) bytes[i] = (unsigned char)(i >> 3);
  cl_mem whole = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, N, bytes, &error);
  CHECK(error);
  cl_buffer_region region = {1024, 128};
  cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  CHECK(error);
  CHECK(clEnqueueReadBuffer(s.queue, part, CL_TRUE, 0, 128, back, 0, NULL, NULL));
  EXPECT(!memcmp(back, bytes + 1024, 128));
  cl_mem parent;
  size_t offset;
  CHECK(clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
  CHECK(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof offset, &offset, NULL));
  EXPECT(parent == whole && offset == 1024);
  CODE(clEnqueueReadBuffer(s.queue, part, CL_TRUE, 1, 128, back, 0, NULL, NULL), CL_INVALID_VALUE);
  CODE(clEnqueueCopyBuffer(s.queue, whole, part, 1000, 0, 64, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CHECK(clEnqueueCopyBuffer(s.queue, whole, part, 960, 0, 64, 0, NULL, NULL));
  clCreateSubBuffer(part, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  EXPECT(error == CL_INVALID_MEM_OBJECT);
  cl_buffer_region odd = {1, 8}, far = {N - 64, 128}, empty = {0, 0};
  clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &odd, &error);
  EXPECT(error == CL_MISALIGNED_SUB_BUFFER_OFFSET);
  clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &far, &error);
  EXPECT(error == CL_INVALID_VALUE);
  clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &empty, &error);
  EXPECT(error == CL_INVALID_BUFFER_SIZE);
  // The part keeps the whole.
  CHECK(clReleaseMemObject(whole));
  CHECK(clEnqueueReadBuffer(s.queue, part, CL_TRUE, 64, 64, back, 0, NULL, NULL));
  EXPECT(!memcmp(back, bytes + 1088, 64));
  CHECK(clReleaseMemObject(part));
  CODE(clRetainMemObject(whole), CL_INVALID_MEM_OBJECT);
}

static void boxes(struct setting s) {
  cl_int error;
  enum { X = 8, Y = 6, Z = 4 };
  unsigned char bytes[Z][Y][X], box[3][2][5], back[Z][Y][X];
  for (int i = 0; i < X * Y * Z; i++) (&bytes[0][0][0])[i] = (unsigned char)i;
  cl_mem buffer = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes, &error);
  CHECK(error);
  size_t from[] = {2, 3, 1}, zero[] = {0, 0, 0}, region[] = {5, 2, 3};
  CHECK(clEnqueueReadBufferRect(s.queue, buffer, CL_TRUE, from, zero, region, X, X * Y, 0, 0, box, 0, NULL, NULL));
  for (int z = 0; z < 3; z++)
    for (int y = 0; y < 2; y++)
      for (int x = 0; x < 5; x++) EXPECT(box[z][y][x] == bytes[z + 1][y + 3][x + 2]);
  memset(box, 200, sizeof box);
  CHECK(clEnqueueWriteBufferRect(s.queue, buffer, CL_TRUE, from, zero, region, X, X * Y, 0, 0, box, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, buffer, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  for (int z = 0; z < Z; z++)
    for (int y = 0; y < Y; y++)
      for (int x = 0; x < X; x++) {
        int inside = z >= 1 && y >= 3 && y < 5 && x >= 2 && x < 7;
        EXPECT(back[z][y][x] == (inside ? 200 : bytes[z][y][x]));
      }
  size_t to[] = {0, 0, 0}, small[] = {3, 2, 1}, near[] = {1, 1, 0}, apart[] = {3, 0, 0};
  CODE(clEnqueueCopyBufferRect(s.queue, buffer, buffer, to, near, small, X, X * Y, X, X * Y, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CHECK(clEnqueueCopyBufferRect(s.queue, buffer, buffer, to, apart, small, X, X * Y, X, X * Y, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, buffer, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL));
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 3; x++) EXPECT(back[0][y][x + 3] == bytes[0][y][x]);
  size_t large[] = {9, 1, 1};
  CODE(clEnqueueReadBufferRect(s.queue, buffer, CL_TRUE, zero, zero, large, X, X * Y, 0, 0, box, 0, NULL, NULL), CL_INVALID_VALUE);
  size_t tall[] = {1, 6, 5};
  CODE(clEnqueueReadBufferRect(s.queue, buffer, CL_TRUE, zero, zero, tall, X, X * Y, 0, 0, back, 0, NULL, NULL), CL_INVALID_VALUE);
  CHECK(clEnqueueMigrateMemObjects(s.queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
  CHECK(clReleaseMemObject(buffer));
}

static const char *source =
    "kernel void twice(global int *data) { data[get_global_id(0)] *= 2; }\n";

static void shared(struct setting s) {
  cl_int error;
  cl_device_svm_capabilities can;
  CHECK(clGetDeviceInfo(s.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL));
  EXPECT(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER && can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
  int *data = clSVMAlloc(s.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 64 * sizeof(int), 0);
  int *other = clSVMAlloc(s.context, CL_MEM_READ_WRITE, 64 * sizeof(int), 64);
  EXPECT(data && other);
  EXPECT(!clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, 65 * sizeof(int), data, &error) && error == CL_INVALID_BUFFER_SIZE);
  EXPECT(!clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, 64 * sizeof(int), data + 1, &error) && error == CL_INVALID_BUFFER_SIZE);
  EXPECT(!clSVMAlloc(s.context, CL_MEM_SVM_ATOMICS, 64, 0));
  EXPECT(!clSVMAlloc(s.context, 0, 0, 0));
  EXPECT(!clSVMAlloc(s.context, 0, 64, 3));
  int seven = 7;
  CHECK(clEnqueueSVMMemFill(s.queue, data, &seven, sizeof seven, 64 * sizeof(int), 0, NULL, NULL));
  cl_program program = build(s, source, "-cl-std=CL2.0");
  cl_kernel twice = clCreateKernel(program, "twice", &error);
  CHECK(error);
  CHECK(clSetKernelArgSVMPointer(twice, 0, data));
  CHECK(clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof other, &other));
  size_t global = 64;
  CHECK(clEnqueueNDRangeKernel(s.queue, twice, 1, NULL, &global, NULL, 0, NULL, NULL));
  CHECK(clEnqueueSVMMemcpy(s.queue, CL_TRUE, other, data, 64 * sizeof(int), 0, NULL, NULL));
  for (int i = 0; i < 64; i++) EXPECT(other[i] == 14 && data[i] == 14);
  CODE(clEnqueueSVMMemcpy(s.queue, CL_TRUE, other, other + 1, 8, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
  CHECK(clEnqueueSVMMap(s.queue, CL_TRUE, CL_MAP_WRITE, other, 16, 0, NULL, NULL));
  CHECK(clEnqueueSVMUnmap(s.queue, other, 0, NULL, NULL));
  const void *moved = data;
  CHECK(clEnqueueSVMMigrateMem(s.queue, 1, &moved, NULL, 0, 0, NULL, NULL));
  cl_mem around = clCreateBuffer(s.context, CL_MEM_USE_HOST_PTR, 64 * sizeof(int), data, &error);
  CHECK(error);
  cl_bool uses;
  CHECK(clGetMemObjectInfo(around, CL_MEM_USES_SVM_POINTER, sizeof uses, &uses, NULL));
  EXPECT(uses == CL_TRUE);
  CHECK(clReleaseMemObject(around));
  void *freed = other;
  CHECK(clEnqueueSVMFree(s.queue, 1, &freed, NULL, NULL, 0, NULL, NULL));
  CHECK(clFinish(s.queue));
  clSVMFree(s.context, data);
  CHECK(clReleaseKernel(twice));
  CHECK(clReleaseProgram(program));
}

int main(void) {
  struct setting s = start(0);
  fills(s);
  host_pointers(s);
  parts(s);
  boxes(s);
  shared(s);
  end(s);
  return passed();
}
