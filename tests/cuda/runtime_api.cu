// A program in CUDA C++: kernels by `<<<…>>>`, variables of the device, memory, streams, graphs, cooperative groups, errors.

#include "require.h"
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call) wanted(call, cudaSuccess, #call, __LINE__)
#define FAILS(call, code) wanted(call, code, #call, __LINE__)

static void wanted(cudaError_t found, cudaError_t code, const char *call, int line) {
  if (found != code) {
    std::printf("%d: %s gives %s (%s)\n", line, call, cudaGetErrorName(found), cudaGetErrorString(found));
    std::exit(1);
  }
}

__constant__ float factors[2];
__device__ int counter;
__managed__ int both = 5;

template <class T> __global__ void axpy(T a, const T *x, T *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] += a * x[i] * factors[0];
    atomicAdd(&counter, 1);
  }
}

__global__ void add_to_both(int k) { both += k; }

__global__ void dynamic_sum(unsigned *out) {
  extern __shared__ unsigned values[];
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned total = 0;
    for (unsigned i = 0; i < bytes / sizeof(unsigned); ++i) total += values[i];
    out[blockIdx.x] = total;
  }
}

__global__ void grid_sum(int *values, int *out) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  for (int turn = 0; turn < 3; ++turn) {
    values[i] = i + turn;
    grid.sync();
    if (i == 0) {
      int total = 0;
      for (unsigned k = 0; k < grid.size(); ++k) total += values[k];
      out[turn] = total;
    }
    grid.sync();
  }
}

__global__ void warp_sums(const int *in, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int value = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) value += warp.shfl_down(value, step);
  if (warp.thread_rank() == 0) atomicAdd(out, value);
}

struct Large {
  double values[40];
  int count;
};

__global__ void takes(Large large, double *out) {
  double total = large.count;
#pragma unroll
  for (int i = 0; i < 40; ++i) total += large.values[i];
  *out = total;
}

__global__ void greets() { std::printf("hello from block %d\n", blockIdx.x); }

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  REQUIRE(count == 1);
  FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
  REQUIRE(cudaPeekAtLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(!std::strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice"));
  cudaDeviceProp about;
  CHECK(cudaGetDeviceProperties(&about, 0));
  REQUIRE(!std::strcmp(about.name, "Heddle (CPU)") && about.major == 8 && about.minor == 9 && about.warpSize == 32);
  REQUIRE(about.maxThreadsPerBlock == 1024 && about.maxThreadsDim[2] == 64 && about.totalGlobalMem > 1 << 20);
  REQUIRE(about.cooperativeLaunch == 1 && about.maxBlocksPerMultiProcessor == 24 && about.memoryPoolsSupported == 1);
  REQUIRE(about.sharedMemPerBlockOptin == 99 << 10 && about.unifiedAddressing == 1 && about.concurrentKernels == 1);

  // A managed variable, which the host reads and writes.
  REQUIRE(both == 5);
  both = 6;
  add_to_both<<<1, 1>>>(3);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(both == 9);

  // Constants, variables, copies.
  const int n = 1000;
  std::vector<float> x(n, 1), y(n, 2);
  float *there_x, *there_y;
  CHECK(cudaMalloc(&there_x, n * sizeof(float)));
  CHECK(cudaMalloc(&there_y, n * sizeof(float)));
  CHECK(cudaMemcpy(there_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(there_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  const float own[] = {2, 3};
  CHECK(cudaMemcpyToSymbol(factors, own, sizeof own));
  FAILS(cudaMemcpyToSymbol(factors, own, 8, 4), cudaErrorInvalidValue);
  FAILS(cudaMemcpyToSymbol(own, own, 8), cudaErrorInvalidSymbol);
  (void)cudaGetLastError();
  axpy<<<(n + 127) / 128, 128>>>(3.f, there_x, there_y, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), there_y, n * sizeof(float), cudaMemcpyDeviceToHost));
  int counted;
  CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  REQUIRE(y[0] == 8 && y[n - 1] == 8 && counted == n);
  FAILS(cudaMemcpy(there_x, x.data(), 8 * n, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(there_x, x.data(), 4, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection);
  FAILS(cudaFree(&x), cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr));
  (void)cudaGetLastError();

  // Shared memory that launches ask for, more than a block has at first too.
  unsigned *sums;
  CHECK(cudaMallocManaged(&sums, 64));
  dynamic_sum<<<2, 64, 256>>>(sums);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(sums[0] == 2016 && sums[1] == 2016);
  dynamic_sum<<<1, 64, 64>>>(sums);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(sums[0] == 120);
  dynamic_sum<<<1, 64, 60 << 10>>>(sums);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(dynamic_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  dynamic_sum<<<1, 64, 60 << 10>>>(sums);
  CHECK(cudaGetLastError());
  dynamic_sum<<<1, 2048>>>(sums);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);
  dynamic_sum<<<0, 64>>>(sums);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);

  // Blocks that wait for each other, warps, large parameters, output.
  int *values, *results;
  CHECK(cudaMalloc(&values, 4096));
  CHECK(cudaMallocManaged(&results, 64));
  void *arguments[] = {&values, &results};
  CHECK(cudaLaunchCooperativeKernel(grid_sum, dim3(2), dim3(64), arguments));
  CHECK(cudaDeviceSynchronize());
  REQUIRE(results[0] == 127 * 64 && results[1] == 128 * 64 + 64 && results[2] == 129 * 64 + 128);
  results[0] = 0;
  warp_sums<<<1, 128>>>(values, results);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(results[0] == 129 * 64 + 128);
  Large large = {};
  large.count = 40;
  for (int i = 0; i < 40; ++i) large.values[i] = i;
  double *total;
  CHECK(cudaMallocHost(&total, sizeof *total));
  takes<<<1, 1>>>(large, total);
  CHECK(cudaStreamSynchronize(0));
  REQUIRE(*total == 820);
  greets<<<2, 1>>>();
  CHECK(cudaDeviceSynchronize());

  // Streams, events, graphs.
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaEvent_t first, last;
  float milliseconds = -1;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreateWithFlags(&last, cudaEventDefault));
  CHECK(cudaEventRecord(first, stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add_to_both<<<1, 1, 0, stream>>>(10);
  CHECK(cudaMemsetAsync(values, 1, 64, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaEventRecord(last, stream));
  CHECK(cudaEventSynchronize(last));
  CHECK(cudaEventElapsedTime(&milliseconds, first, last));
  int set;
  CHECK(cudaMemcpy(&set, values, sizeof set, cudaMemcpyDefault));
  REQUIRE(both == 39 && set == 0x01010101 && milliseconds >= 0);
  cudaGraphNode_t node;
  cudaKernelNodeParams params = {};
  int k = 100;
  void *pointers[] = {&k};
  params.func = reinterpret_cast<void *>(add_to_both);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = pointers;
  cudaGraph_t by_hand;
  CHECK(cudaGraphCreate(&by_hand, 0));
  CHECK(cudaGraphAddKernelNode(&node, by_hand, nullptr, 0, &params));
  CHECK(cudaGraphInstantiate(&executable, by_hand, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(both == 139);
  void *pooled;
  CHECK(cudaMallocAsync(&pooled, 100, stream));
  CHECK(cudaFreeAsync(pooled, stream));
  CHECK(cudaStreamDestroy(stream));
  FAILS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();

  // Rows, slices, pointers.
  char *rows, last_byte;
  size_t pitch;
  CHECK(cudaMallocPitch(&rows, &pitch, 100, 10));
  std::vector<char> bytes(1000, 7);
  CHECK(cudaMemcpy2D(rows, pitch, bytes.data(), 100, 100, 10, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(&last_byte, rows + 9 * pitch + 99, 1, cudaMemcpyDefault));
  REQUIRE(last_byte == 7);
  cudaPitchedPtr box;
  CHECK(cudaMalloc3D(&box, make_cudaExtent(10, 10, 10)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(bytes.data(), 10, 10, 10);
  copy.dstPtr = box;
  copy.extent = make_cudaExtent(10, 10, 10);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  CHECK(cudaMemcpy(&last_byte, static_cast<char *>(box.ptr) + 99 * box.pitch + 9, 1, cudaMemcpyDefault));
  REQUIRE(last_byte == 7);
  cudaPointerAttributes pointer;
  CHECK(cudaPointerGetAttributes(&pointer, rows));
  REQUIRE(pointer.type == cudaMemoryTypeDevice);
  CHECK(cudaPointerGetAttributes(&pointer, &last_byte));
  REQUIRE(pointer.type == cudaMemoryTypeUnregistered);
  CHECK(cudaPointerGetAttributes(&pointer, results));
  REQUIRE(pointer.type == cudaMemoryTypeManaged);
  CHECK(cudaPointerGetAttributes(&pointer, total));
  REQUIRE(pointer.type == cudaMemoryTypeHost);

  // Attributes of kernels, and launches of another thread.
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_sum, 128, 0));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, dynamic_sum));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, dynamic_sum));
  REQUIRE(blocks > 0 && grid > 0 && block > 0 && attributes.maxThreadsPerBlock == 1024);
  REQUIRE(attributes.maxDynamicSharedSizeBytes == 64 << 10);
  std::thread([] {
    add_to_both<<<1, 1>>>(1);
    CHECK(cudaDeviceSynchronize());
  }).join();
  REQUIRE(both == 140);
  cudaMipmappedArray_t mipmapped;
  FAILS(cudaMallocMipmappedArray(&mipmapped, nullptr, {}, 1), cudaErrorNotSupported);
  std::printf("passed\n");
}
