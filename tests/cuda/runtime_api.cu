// A program in CUDA C++: kernels by `<<<…>>>`, variables of the device, memory, streams, graphs, cooperative groups, errors.

#include "require.h"
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
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

/// An entry of older programs, which headers of CUDA 13 do not have.
template <class... Arguments> static auto entry(const char *name) {
  auto found = reinterpret_cast<cudaError_t (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
  REQUIRE(found);
  return found;
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

__global__ void store(int *to, int value) { *to = value; }

static void add_to(void *place) { *static_cast<int *>(place) += 1; }
static void add_ten_to(void *place) { *static_cast<int *>(place) += 10; }

/// Parameters of a kernel of one thread.
static cudaKernelNodeParams one_thread(void *kernel, void **arguments) {
  cudaKernelNodeParams params = {};
  params.func = kernel;
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  return params;
}

/// Changes edges, and parameters of nodes before and after graphs are instantiated.
static void change_graphs(cudaStream_t stream) {
  int *values, calls = 0;
  CHECK(cudaMallocManaged(&values, 256));
  cudaGraph_t graph, child;
  cudaGraphExec_t executable;
  cudaGraphNode_t first, second, third, copied, filled, called, inner, nested, recorded;
  CHECK(cudaGraphCreate(&graph, 0));
  int one = 1, two = 2, three = 3;
  void *first_arguments[] = {&values, &one}, *second_arguments[] = {&values, &two}, *third_arguments[] = {&values, &three};
  void *kernel = reinterpret_cast<void *>(store);
  cudaKernelNodeParams first_store = one_thread(kernel, first_arguments), second_store = one_thread(kernel, second_arguments),
                       third_store = one_thread(kernel, third_arguments);
  CHECK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &second_store));
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &first_store));
  CHECK(cudaGraphAddEmptyNode(&third, graph, nullptr, 0));

  // Edges: the second store comes after the first one, then before it.
  cudaGraphNode_t from[] = {first, first}, to[] = {second, third}, found[4], others[4];
  cudaGraphEdgeData data[4];
  size_t count = 0;
  CHECK(cudaGraphAddDependencies(graph, from, to, nullptr, 2));
  FAILS(cudaGraphAddDependencies(graph, from, to, nullptr, 1), cudaErrorInvalidValue);
  FAILS(cudaGraphAddDependencies(nullptr, from, to, nullptr, 1), cudaErrorInvalidValue);
  FAILS(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  REQUIRE(count == 2);
  std::memset(data, 9, sizeof data);
  count = 4;
  CHECK(cudaGraphGetEdges(graph, found, others, data, &count));
  REQUIRE(count == 2 && found[0] == first && found[1] == first && others[0] == second && others[1] == third);
  REQUIRE(data[1].from_port == 0 && data[1].type == 0);
  count = 4;
  CHECK(cudaGraphNodeGetDependencies(second, found, data, &count));
  REQUIRE(count == 1 && found[0] == first && found[1] == nullptr);
  count = 4;
  CHECK(cudaGraphNodeGetDependentNodes(first, found, nullptr, &count));
  REQUIRE(count == 2 && found[0] == second && found[1] == third);
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(values[0] == 2);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphRemoveDependencies(graph, from, to, nullptr, 1));
  CHECK(cudaGraphAddDependencies(graph, to, from, nullptr, 1));

  // Parameters of nodes in the graph.
  float *there;
  std::vector<float> here(16, 3);
  CHECK(cudaMalloc(&there, 64));
  cudaHostNodeParams call = {add_to, &calls}, call_more = {add_ten_to, &calls};
  cudaMemsetParams fill = {};
  fill.dst = values + 8, fill.value = 5, fill.elementSize = 4, fill.width = 4, fill.height = 1;
  CHECK(cudaGraphAddHostNode(&called, graph, nullptr, 0, &call));
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, nullptr, 0, there, here.data(), 32, cudaMemcpyHostToDevice));
  CHECK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  CHECK(cudaGraphCreate(&child, 0));
  CHECK(cudaGraphAddHostNode(&inner, child, nullptr, 0, &call));
  CHECK(cudaGraphAddChildGraphNode(&nested, graph, nullptr, 0, child));
  cudaEvent_t event, other_event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&other_event));
  CHECK(cudaGraphAddEventRecordNode(&recorded, graph, nullptr, 0, event));
  CHECK(cudaGraphKernelNodeSetParams(first, &third_store));
  FAILS(cudaGraphKernelNodeSetParams(copied, &third_store), cudaErrorInvalidValue);
  CHECK(cudaGraphHostNodeSetParams(called, &call_more));
  CHECK(cudaGraphMemcpyNodeSetParams1D(copied, there, here.data(), 64, cudaMemcpyHostToDevice));
  FAILS(cudaGraphMemcpyNodeSetParams1D(copied, there, here.data(), 64, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection);
  FAILS(cudaGraphMemcpyNodeSetParams(copied, nullptr), cudaErrorInvalidValue);
  cudaGraphInstantiateParams how = {};
  how.flags = cudaGraphInstantiateFlagAutoFreeOnLaunch, how.uploadStream = stream, how.result_out = cudaGraphInstantiateError;
  CHECK(cudaGraphInstantiateWithParams(&executable, graph, &how));
  unsigned long long flags = 0;
  CHECK(cudaGraphExecGetFlags(executable, &flags));
  REQUIRE(how.result_out == cudaGraphInstantiateSuccess && flags == cudaGraphInstantiateFlagAutoFreeOnLaunch);
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  float last = 0;
  CHECK(cudaMemcpy(&last, there + 15, 4, cudaMemcpyDeviceToHost));
  REQUIRE(values[0] == 3 && values[8] == 5 && calls == 11 && last == 3);

  // Parameters of nodes of an executable graph.
  fill.value = 6;
  cudaMemcpy3DParms lines = {};
  lines.srcPtr = make_cudaPitchedPtr(here.data(), 16, 16, 4);
  lines.dstPtr = make_cudaPitchedPtr(there, 16, 16, 4);
  lines.extent = make_cudaExtent(16, 4, 1);
  lines.kind = cudaMemcpyHostToDevice;
  for (float &value : here) value = 4;
  cudaHostNodeParams nothing = {nullptr, nullptr};
  cudaGraph_t other_child;
  CHECK(cudaGraphCreate(&other_child, 0));
  CHECK(cudaGraphAddHostNode(&inner, other_child, nullptr, 0, &call_more));
  CHECK(cudaGraphExecKernelNodeSetParams(executable, first, &first_store));
  CHECK(cudaGraphExecHostNodeSetParams(executable, called, &call));
  FAILS(cudaGraphExecHostNodeSetParams(executable, called, &nothing), cudaErrorInvalidValue);
  CHECK(cudaGraphExecMemsetNodeSetParams(executable, filled, &fill));
  CHECK(cudaGraphExecMemcpyNodeSetParams(executable, copied, &lines));
  CHECK(cudaGraphExecChildGraphNodeSetParams(executable, nested, other_child));
  FAILS(cudaEventElapsedTime(&last, other_event, other_event), cudaErrorInvalidResourceHandle);
  CHECK(cudaGraphExecEventRecordNodeSetEvent(executable, recorded, other_event));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaEventElapsedTime(&last, other_event, other_event));
  CHECK(cudaMemcpy(&last, there + 15, 4, cudaMemcpyDeviceToHost));
  REQUIRE(values[0] == 1 && values[8] == 6 && calls == 22 && last == 4);
  const float own[] = {5, 6};
  CHECK(cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, copied, factors, own, 8, 0, cudaMemcpyHostToDevice));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaMemcpyFromSymbol(&last, factors, 4, 4));
  REQUIRE(last == 6);
  CHECK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable, copied, &last, factors, 4, 0, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(last == 5);
  FAILS(cudaGraphExecMemcpyNodeSetParamsFromSymbol(executable, copied, &last, factors, 4, 8, cudaMemcpyDeviceToHost),
        cudaErrorInvalidValue);
  FAILS(cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, copied, own, own, 8, 0, cudaMemcpyHostToDevice),
        cudaErrorInvalidSymbol);
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(executable, copied, there, here.data(), 4, cudaMemcpyHostToDevice));
  CHECK(cudaGraphExecDestroy(executable));

  // Nodes that copy to and from a variable.
  cudaGraph_t variables;
  cudaGraphNode_t store_node, load_node;
  const float others_own[] = {7, 8};
  CHECK(cudaGraphCreate(&variables, 0));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&store_node, variables, nullptr, 0, factors, own, 8, 0, cudaMemcpyHostToDevice));
  CHECK(cudaGraphAddMemcpyNodeFromSymbol(&load_node, variables, &store_node, 1, &last, factors, 4, 0, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphMemcpyNodeSetParamsToSymbol(store_node, factors, others_own, 8, 0, cudaMemcpyHostToDevice));
  CHECK(cudaGraphMemcpyNodeSetParamsFromSymbol(load_node, &last, factors, 4, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphInstantiate(&executable, variables, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(last == 8);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(variables));
  for (cudaGraph_t each : {child, other_child, graph}) CHECK(cudaGraphDestroy(each));

  // A capture into a graph that has a node, and its dependencies.
  cudaGraphNode_t *none = nullptr;
  const cudaGraphNode_t *before;
  const cudaGraphEdgeData *edges;
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &first_store));
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, cudaStreamCaptureModeRelaxed));
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, &child, &before, &edges, &count));
  REQUIRE(status == cudaStreamCaptureStatusActive && child == graph && count == 1 && before[0] == first && edges == nullptr);
  store<<<1, 1, 0, stream>>>(values + 1, 7);
  CHECK(cudaStreamUpdateCaptureDependencies(stream, none, nullptr, 0, cudaStreamSetCaptureDependencies));
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, &count));
  REQUIRE(count == 0);
  store<<<1, 1, 0, stream>>>(values + 2, 8);
  CHECK(cudaStreamUpdateCaptureDependencies(stream, &first, nullptr, 1, cudaStreamAddCaptureDependencies));
  CHECK(cudaStreamEndCapture(stream, &child));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &count));
  REQUIRE(child == graph && count == 2);
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(values[0] == 1 && values[1] == 7 && values[2] == 8);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(other_event));
  CHECK(cudaFree(there));
  CHECK(cudaFree(values));
}

/// Copies arrays, slices and batches, and asks for what texture and surface objects were made of.
static void copy_arrays(cudaStream_t stream) {
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<float2>();
  cudaArray_t array, other;
  CHECK(cudaMallocArray(&array, &channels, 8, 4, cudaArraySurfaceLoadStore));
  CHECK(cudaMallocArray(&other, &channels, 8, 4));
  std::vector<float> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = i;
  CHECK(cudaMemcpyToArrayAsync(array, 0, 0, in.data(), 256, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, 256, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpyFromArrayAsync(out.data(), other, 0, 0, 256, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(in == out);
  CHECK(cudaMemcpyArrayToArray(other, 0, 1, array, 8, 3, 16, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpyFromArray(out.data(), other, 0, 1, 16, cudaMemcpyDeviceToHost));
  REQUIRE(out[0] == 50 && out[3] == 53);
  FAILS(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, 100, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  FAILS(cudaMemcpyToArrayAsync(nullptr, 0, 0, in.data(), 256, cudaMemcpyHostToDevice, stream), cudaErrorInvalidResourceHandle);

  cudaPitchedPtr box;
  CHECK(cudaMalloc3D(&box, make_cudaExtent(16, 4, 2)));
  CHECK(cudaMemset3DAsync(box, 7, make_cudaExtent(16, 4, 2), stream));
  cudaMemcpy3DPeerParms peer = {};
  char bytes[128] = {};
  peer.srcPtr = box;
  peer.dstPtr = make_cudaPitchedPtr(bytes, 16, 16, 4);
  peer.extent = make_cudaExtent(16, 4, 2);
  CHECK(cudaMemcpy3DPeerAsync(&peer, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (char byte : bytes) REQUIRE(byte == 7);
  peer.srcDevice = 1;
  FAILS(cudaMemcpy3DPeer(&peer), cudaErrorInvalidDevice);
  FAILS(cudaMemcpy3DPeer(nullptr), cudaErrorInvalidValue);

  float *there;
  CHECK(cudaMalloc(&there, 64));
  void *to[] = {there, there + 8};
  const void *from[] = {in.data() + 1, in.data() + 20};
  size_t sizes[] = {16, 32}, start = 0;
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &start, 1, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(out.data(), there, 64, cudaMemcpyDeviceToHost));
  REQUIRE(out[0] == 1 && out[3] == 4 && out[8] == 20 && out[15] == 27);
  CHECK(cudaMemcpyWithAttributesAsync(there, in.data() + 40, 8, &attributes, stream));
  CHECK(cudaMemcpyAsync(out.data(), there, 8, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(out[0] == 40 && out[1] == 41);
  sizes[1] = 64;
  FAILS(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &start, 1, stream), cudaErrorInvalidValue);

  // Descriptions of objects.
  cudaResourceDesc resource = {}, found;
  cudaTextureDesc modes = {}, read;
  cudaTextureObject_t texture, linear;
  cudaSurfaceObject_t surface;
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  modes.addressMode[0] = cudaAddressModeMirror, modes.addressMode[1] = cudaAddressModeBorder;
  modes.filterMode = cudaFilterModeLinear, modes.normalizedCoords = 1, modes.borderColor[2] = 0.5f;
  modes.disableTrilinearOptimization = 1;
  CHECK(cudaCreateTextureObject(&texture, &resource, &modes, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  std::memset(&found, 9, sizeof found);
  CHECK(cudaGetTextureObjectResourceDesc(&found, texture));
  REQUIRE(found.resType == cudaResourceTypeArray && found.res.array.array == array && found.flags == 0);
  CHECK(cudaGetTextureObjectTextureDesc(&read, texture));
  REQUIRE(!std::memcmp(&modes, &read, sizeof modes));
  std::memset(&found, 9, sizeof found);
  CHECK(cudaGetSurfaceObjectResourceDesc(&found, surface));
  REQUIRE(found.resType == cudaResourceTypeArray && found.res.array.array == array);
  FAILS(cudaGetSurfaceObjectResourceDesc(&found, texture), cudaErrorInvalidValue);
  FAILS(cudaGetTextureObjectTextureDesc(nullptr, texture), cudaErrorInvalidValue);
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = there;
  resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.linear.sizeInBytes = 64;
  modes = {};
  modes.readMode = cudaReadModeNormalizedFloat, modes.sRGB = 1;
  CHECK(cudaCreateTextureObject(&linear, &resource, &modes, nullptr));
  CHECK(cudaGetTextureObjectResourceDesc(&found, linear));
  REQUIRE(found.resType == cudaResourceTypeLinear && found.res.linear.devPtr == there && found.res.linear.sizeInBytes == 64);
  REQUIRE(!std::memcmp(&found.res.linear.desc, &resource.res.linear.desc, sizeof(cudaChannelFormatDesc)));
  CHECK(cudaGetTextureObjectTextureDesc(&read, linear));
  REQUIRE(!std::memcmp(&modes, &read, sizeof modes));
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroyTextureObject(linear));
  CHECK(cudaDestroySurfaceObject(surface));
  FAILS(cudaGetTextureObjectResourceDesc(&found, texture), cudaErrorInvalidValue);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(other));
  CHECK(cudaFree(box.ptr));
  CHECK(cudaFree(there));
  (void)cudaGetLastError();
}

/// Reads the parameters of nodes, follows them into clones and child graphs, and keeps an object alive.
static void read_graphs(cudaStream_t stream) {
  int *values, calls = 0, number = 4, destroyed = 0;
  CHECK(cudaMallocManaged(&values, 256));
  cudaGraph_t graph, child, clone, embedded;
  cudaGraphExec_t executable;
  cudaGraphNode_t stored, filled, copied, sliced, called, nested, inner, recorded, waited, found;
  cudaEvent_t event, other_event, seen;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&other_event));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  void *arguments[] = {&values, &number};
  cudaKernelNodeParams launch = one_thread(reinterpret_cast<void *>(store), arguments), launch_seen = {};
  launch.gridDim = dim3(3, 2, 1), launch.sharedMemBytes = 64;
  CHECK(cudaGraphAddKernelNode(&stored, graph, nullptr, 0, &launch));
  CHECK(cudaGraphKernelNodeGetParams(stored, &launch_seen));
  REQUIRE(launch_seen.func == launch.func && launch_seen.gridDim.y == 2 && launch_seen.sharedMemBytes == 64);
  REQUIRE(*static_cast<int **>(launch_seen.kernelParams[0]) == values && *static_cast<int *>(launch_seen.kernelParams[1]) == 4);
  number = 5;
  REQUIRE(*static_cast<int *>(launch_seen.kernelParams[1]) == 4 && launch_seen.extra == nullptr);
  CHECK(cudaGraphKernelNodeSetParams(stored, &launch_seen));
  cudaMemsetParams fill = {}, fill_seen = {};
  fill.dst = values + 8, fill.pitch = 32, fill.value = 5, fill.elementSize = 2, fill.width = 4, fill.height = 2;
  CHECK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  CHECK(cudaGraphMemsetNodeGetParams(filled, &fill_seen));
  REQUIRE(!std::memcmp(&fill, &fill_seen, sizeof fill));
  FAILS(cudaGraphMemsetNodeGetParams(stored, &fill_seen), cudaErrorInvalidValue);
  cudaHostNodeParams call = {add_to, &calls}, call_seen = {};
  CHECK(cudaGraphAddHostNode(&called, graph, &stored, 1, &call));
  CHECK(cudaGraphHostNodeGetParams(called, &call_seen));
  REQUIRE(call_seen.fn == add_to && call_seen.userData == &calls);

  cudaArray_t array;
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<int2>();
  CHECK(cudaMallocArray(&array, &channels, 4, 4));
  int here[16] = {};
  cudaMemcpy3DParms copy = {}, copy_seen;
  copy.srcPtr = make_cudaPitchedPtr(here, 16, 16, 4);
  copy.dstArray = array, copy.dstPos = make_cudaPos(1, 2, 0);
  copy.extent = make_cudaExtent(2, 2, 1), copy.kind = cudaMemcpyDefault;
  CHECK(cudaGraphAddMemcpyNode(&sliced, graph, nullptr, 0, &copy));
  std::memset(&copy_seen, 9, sizeof copy_seen);
  CHECK(cudaGraphMemcpyNodeGetParams(sliced, &copy_seen));
  REQUIRE(copy_seen.dstArray == array && copy_seen.dstPos.x == 1 && copy_seen.dstPos.y == 2 && copy_seen.srcPtr.ptr == here);
  REQUIRE(copy_seen.extent.width == 2 && copy_seen.extent.depth == 1 && copy_seen.srcPtr.pitch == 16 && copy_seen.srcArray == nullptr);
  CHECK(cudaGraphMemcpyNodeSetParams(sliced, &copy_seen));
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(values + 20, here, 8, cudaMemcpyHostToDevice, stream));
  size_t count = 0;
  const cudaGraphNode_t *last;
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count));
  copied = last[0];
  CHECK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count));
  recorded = last[0];
  CHECK(cudaStreamWaitEvent(stream, other_event, cudaEventWaitExternal));
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count));
  waited = last[0];
  CHECK(cudaStreamEndCapture(stream, &embedded));
  CHECK(cudaGraphMemcpyNodeGetParams(copied, &copy_seen));
  REQUIRE(copy_seen.srcPtr.ptr == here && copy_seen.dstPtr.ptr == values + 20 && copy_seen.extent.width == 8);

  // Events of nodes.
  cudaGraphNodeType kind;
  CHECK(cudaGraphNodeGetType(waited, &kind));
  REQUIRE(kind == cudaGraphNodeTypeWaitEvent);
  CHECK(cudaGraphNodeGetType(recorded, &kind));
  REQUIRE(kind == cudaGraphNodeTypeEventRecord);
  CHECK(cudaGraphEventRecordNodeGetEvent(recorded, &seen));
  REQUIRE(seen == event);
  CHECK(cudaGraphEventRecordNodeSetEvent(recorded, other_event));
  CHECK(cudaGraphEventRecordNodeGetEvent(recorded, &seen));
  REQUIRE(seen == other_event);
  CHECK(cudaGraphEventWaitNodeGetEvent(waited, &seen));
  REQUIRE(seen == other_event);
  CHECK(cudaGraphEventWaitNodeSetEvent(waited, event));
  CHECK(cudaGraphEventWaitNodeGetEvent(waited, &seen));
  REQUIRE(seen == event);
  FAILS(cudaGraphEventWaitNodeGetEvent(recorded, &seen), cudaErrorInvalidValue);

  // A child graph is changed through its node.
  CHECK(cudaGraphAddHostNode(&inner, child, nullptr, 0, &call));
  CHECK(cudaGraphAddChildGraphNode(&nested, graph, nullptr, 0, child));
  CHECK(cudaGraphChildGraphNodeGetGraph(nested, &embedded));
  REQUIRE(embedded != child);
  CHECK(cudaGraphNodeFindInClone(&found, inner, embedded));
  REQUIRE(found != inner);
  cudaHostNodeParams call_more = {add_ten_to, &calls};
  CHECK(cudaGraphHostNodeSetParams(found, &call_more));
  CHECK(cudaGraphAddHostNode(&found, embedded, &found, 1, &call_more));
  FAILS(cudaGraphDestroy(embedded), cudaErrorInvalidValue);
  FAILS(cudaGraphChildGraphNodeGetGraph(stored, &embedded), cudaErrorInvalidValue);

  // Attributes of kernel nodes.
  cudaKernelNodeAttrValue value = {}, value_seen = {};
  value.priority = -3;
  CHECK(cudaGraphKernelNodeSetAttribute(stored, cudaKernelNodeAttributePriority, &value));
  CHECK(cudaGraphKernelNodeGetAttribute(stored, cudaKernelNodeAttributePriority, &value_seen));
  REQUIRE(value_seen.priority == -3);
  CHECK(cudaGraphKernelNodeGetAttribute(stored, cudaKernelNodeAttributeCooperative, &value_seen));
  REQUIRE(value_seen.cooperative == 0);
  FAILS(cudaGraphKernelNodeGetAttribute(called, cudaKernelNodeAttributePriority, &value_seen), cudaErrorInvalidValue);
  FAILS(cudaGraphKernelNodeSetAttribute(stored, cudaLaunchAttributeID(99), &value), cudaErrorInvalidValue);

  // An object that graphs own goes with the last of them.
  cudaUserObject_t object;
  FAILS(cudaUserObjectCreate(&object, &destroyed, add_to, 1, 0), cudaErrorInvalidValue);
  CHECK(cudaUserObjectCreate(&object, &destroyed, add_to, 2, cudaUserObjectNoDestructorSync));
  CHECK(cudaUserObjectRetain(object, 1));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaGraphRetainUserObject(graph, object, 2, 0));
  CHECK(cudaGraphReleaseUserObject(graph, object, 2));
  FAILS(cudaGraphReleaseUserObject(graph, object, 2), cudaErrorInvalidValue);
  FAILS(cudaUserObjectRelease(object, 0), cudaErrorInvalidValue);
  CHECK(cudaUserObjectRelease(object, 2));
  REQUIRE(destroyed == 0);

  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&found, stored, clone));
  CHECK(cudaGraphKernelNodeGetParams(found, &launch_seen));
  REQUIRE(found != stored && launch_seen.gridDim.x == 3);
  CHECK(cudaGraphKernelNodeGetAttribute(found, cudaKernelNodeAttributePriority, &value_seen));
  REQUIRE(value_seen.priority == -3);
  FAILS(cudaGraphNodeFindInClone(&found, stored, child), cudaErrorInvalidValue);
  value.priority = 0;
  CHECK(cudaGraphKernelNodeSetAttribute(found, cudaKernelNodeAttributePriority, &value));
  CHECK(cudaGraphKernelNodeCopyAttributes(found, stored));
  CHECK(cudaGraphKernelNodeGetAttribute(found, cudaKernelNodeAttributePriority, &value_seen));
  REQUIRE(value_seen.priority == -3);

  char path[] = "/tmp/heddle-graph-XXXXXX";
  close(mkstemp(path));
  CHECK(cudaGraphDebugDotPrint(graph, path, cudaGraphDebugDotFlagsVerbose));
  FAILS(cudaGraphDebugDotPrint(graph, "/nowhere/at/all.dot", 0), cudaErrorOperatingSystem);
  FAILS(cudaGraphDebugDotPrint(graph, nullptr, 0), cudaErrorInvalidValue);
  std::vector<char> dot(1 << 14);
  std::FILE *file = std::fopen(path, "r");
  REQUIRE(file && std::fread(dot.data(), 1, dot.size() - 1, file) > 0);
  std::fclose(file);
  std::remove(path);
  REQUIRE(!std::strncmp(dot.data(), "digraph", 7) && std::strstr(dot.data(), "store") && std::strstr(dot.data(), "(3, 2, 1)"));
  REQUIRE(std::strstr(dot.data(), "cluster_1") && std::strstr(dot.data(), "-> ") && std::strstr(dot.data(), "WAIT_EVENT"));

  CHECK(cudaGraphInstantiate(&executable, clone, 0));
  CHECK(cudaGraphNodeFindInClone(&found, waited, clone));
  CHECK(cudaGraphExecEventWaitNodeSetEvent(executable, found, other_event));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(clone));
  FAILS(cudaGraphNodeFindInClone(&found, stored, child), cudaErrorInvalidValue);
  FAILS(cudaGraphDestroy(embedded), cudaErrorInvalidValue);
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(values[0] == 4 && calls == 21 && destroyed == 0);
  REQUIRE(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaGraphExecDestroy(executable));
  REQUIRE(destroyed == 1);
  FAILS(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(other_event));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(values));
  (void)cudaGetLastError();
}

/// Attributes of streams, advice on managed memory, peers.
static void read_attributes(cudaStream_t stream) {
  cudaStreamAttrValue value = {}, seen = {};
  cudaStream_t other;
  CHECK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -2));
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributePriority, &seen));
  REQUIRE(seen.priority == -2);
  CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &seen));
  REQUIRE(seen.syncPolicy == cudaSyncPolicyAuto);
  value.accessPolicyWindow.hitRatio = 0.5f;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  value = {};
  value.syncPolicy = cudaSyncPolicyYield;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  CHECK(cudaStreamCopyAttributes(other, stream));
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &seen));
  REQUIRE(seen.accessPolicyWindow.hitRatio == 0.5f);
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &seen));
  REQUIRE(seen.syncPolicy == cudaSyncPolicyYield);
  FAILS(cudaStreamGetAttribute(stream, cudaLaunchAttributeCooperative, &seen), cudaErrorInvalidValue);
  FAILS(cudaStreamSetAttribute(stream, cudaStreamAttributePriority, nullptr), cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(other));
  FAILS(cudaStreamCopyAttributes(other, stream), cudaErrorInvalidResourceHandle);

  char *managed, *plain;
  int answer = 9, list[3] = {9, 9, 9};
  CHECK(cudaMallocManaged(&managed, 1 << 16));
  CHECK(cudaMalloc(&plain, 64));
  const cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
  auto attribute = [&](cudaMemRangeAttribute number, size_t start, size_t bytes) {
    CHECK(cudaMemRangeGetAttribute(&answer, 4, number, managed + start, bytes));
    return answer;
  };
  REQUIRE(attribute(cudaMemRangeAttributeReadMostly, 0, 1 << 16) == 0);
  REQUIRE(attribute(cudaMemRangeAttributePreferredLocation, 0, 1 << 16) == cudaInvalidDeviceId);
  CHECK(cudaMemAdvise(managed, 1 << 15, cudaMemAdviseSetReadMostly, device));
  CHECK(cudaMemAdvise(managed + 4096, 4096, cudaMemAdviseSetPreferredLocation, host));
  CHECK(cudaMemAdvise(managed, 1 << 16, cudaMemAdviseSetAccessedBy, device));
  CHECK(cudaMemPrefetchAsync(managed, 8192, device, 0, stream));
  REQUIRE(attribute(cudaMemRangeAttributeReadMostly, 0, 1 << 15) == 1);
  REQUIRE(attribute(cudaMemRangeAttributeReadMostly, 0, 1 << 16) == 0);
  REQUIRE(attribute(cudaMemRangeAttributePreferredLocation, 4096, 4096) == cudaCpuDeviceId);
  REQUIRE(attribute(cudaMemRangeAttributePreferredLocation, 4095, 2) == cudaInvalidDeviceId);
  REQUIRE(attribute(cudaMemRangeAttributePreferredLocationType, 4096, 1) == cudaMemLocationTypeHost);
  REQUIRE(attribute(cudaMemRangeAttributeLastPrefetchLocation, 100, 8000) == 0);
  REQUIRE(attribute(cudaMemRangeAttributeLastPrefetchLocation, 100, 8192) == cudaInvalidDeviceId);
  void *places[] = {list, &answer};
  size_t sizes[] = {12, 4};
  cudaMemRangeAttribute numbers[] = {cudaMemRangeAttributeAccessedBy, cudaMemRangeAttributeLastPrefetchLocationType};
  CHECK(cudaMemRangeGetAttributes(places, sizes, numbers, 2, managed, 4096));
  REQUIRE(list[0] == 0 && list[1] == cudaInvalidDeviceId && list[2] == cudaInvalidDeviceId);
  REQUIRE(answer == cudaMemLocationTypeDevice);
  CHECK(cudaMemAdvise(managed, 1 << 16, cudaMemAdviseUnsetReadMostly, device));
  REQUIRE(attribute(cudaMemRangeAttributeReadMostly, 0, 4) == 0);
  FAILS(cudaMemRangeGetAttribute(&answer, 4, cudaMemRangeAttributeReadMostly, plain, 64), cudaErrorInvalidValue);
  FAILS(cudaMemRangeGetAttribute(&answer, 8, cudaMemRangeAttributeReadMostly, managed, 64), cudaErrorInvalidValue);
  FAILS(cudaMemRangeGetAttribute(&answer, 4, cudaMemRangeAttribute(77), managed, 64), cudaErrorInvalidValue);
  FAILS(cudaMemAdvise(managed, 64, cudaMemAdviseSetPreferredLocation, {cudaMemLocationTypeDevice, 1}), cudaErrorInvalidDevice);
  CHECK(cudaFree(managed));
  CHECK(cudaFree(plain));

  CHECK(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner));
  size_t limit = 0;
  CHECK((entry<cudaLimit, size_t>("cudaThreadSetLimit")(cudaLimitStackSize, 4096)));
  CHECK((entry<size_t *, cudaLimit>("cudaThreadGetLimit")(&limit, cudaLimitStackSize)));
  CHECK(entry<cudaFuncCache>("cudaThreadSetCacheConfig")(cudaFuncCachePreferL1));
  REQUIRE(limit == 4096);
  FAILS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
  FAILS(cudaDeviceEnablePeerAccess(0, 1), cudaErrorInvalidValue);
  FAILS(cudaDeviceDisablePeerAccess(0), cudaErrorInvalidDevice);
  FAILS(cudaDeviceGetP2PAttribute(&answer, cudaDevP2PAttrAccessSupported, 0, 0), cudaErrorInvalidDevice);
  (void)cudaGetLastError();
}

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
  change_graphs(stream);
  copy_arrays(stream);
  read_graphs(stream);
  read_attributes(stream);
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
  CHECK(entry<>("cudaThreadExit")());
  FAILS(cudaFree(rows), cudaErrorInvalidValue);
  std::printf("passed\n");
}
