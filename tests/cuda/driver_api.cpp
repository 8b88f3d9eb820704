// A program on CUDA's driver interface: memory of all kinds, modules, launches, streams, events, graphs, errors.

#include "require.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call) wanted(call, CUDA_SUCCESS, #call, __LINE__)
#define FAILS(call, code) wanted(call, code, #call, __LINE__)

static void wanted(CUresult found, CUresult code, const char *call, int line) {
  if (found != code) {
    const char *name = nullptr;
    cuGetErrorName(found, &name);
    std::printf("%d: %s gives %s\n", line, call, name ? name : "?");
    std::exit(1);
  }
}

static const char PARTLY[] = R"(
.version 7.0
.target sm_70
.address_size 64
.shared .align 4 .b8 part[512];
.func helper()
{
	frob.u32 {1, 2};
	ret;
}
.visible .entry unknown()
{
	frob.u32 {1, 2};
	ret;
}
.visible .entry calls()
{
	call helper, ();
	ret;
}
.visible .entry early(.param .u64 a, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %r<8>;
	.reg .b64 %d<3>;
	ld.param.u64 %d0, [a];
	ld.param.u32 %r1, [n];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %d1, %r0, 4;
	add.u64 %d2, %d0, %d1;
	shl.b32 %r2, %r0, 2;
	mov.u32 %r3, part;
	add.u32 %r4, %r3, %r2;
	st.shared.u32 [%r4], %r0;
	st.global.u32 [%d2], -1;
	setp.ge.u32 %p, %r0, %r1;
	@%p ret;
	bar.sync 0;
	sub.u32 %r5, %r1, %r0;
	sub.u32 %r5, %r5, 1;
	shl.b32 %r5, %r5, 2;
	add.u32 %r6, %r3, %r5;
	ld.shared.u32 %r7, [%r6];
	st.global.u32 [%d2], %r7;
	ret;
}
.visible .entry apart(.param .u64 a)
{
	.reg .pred %p;
	.reg .b32 %r<2>;
	.reg .b64 %d;
	ld.param.u64 %d, [a];
	mov.u32 %r0, %tid.x;
	setp.lt.u32 %p, %r0, 64;
	@%p bra Low;
	st.global.u32 [%d], 1;
	bar.sync 0;
	st.global.u32 [%d+4], 2;
	bra End;
Low:
	st.global.u32 [%d+8], 3;
	bar.sync 0;
	st.global.u32 [%d+12], 4;
End:
	bar.sync 0;
	st.global.u32 [%d+16], 5;
	ret;
}
)";

static const char FAULTS[] = R"(
.version 7.0
.target sm_70
.address_size 64
.func (.param .b32 r) ten(.param .b32 x)
{
	.reg .b32 %r;
	ld.param.b32 %r, [x];
	add.u32 %r, %r, 10;
	st.param.b32 [r], %r;
	ret;
}
.visible .global .u64 table[2] = {ten, 0};
// A function's barriers do not meet those of others: the first thread waits at one, the others at another.
.func waits()
{
	bar.sync 0;
	ret;
}
.visible .entry waits_apart(.param .u64 a, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %r<2>;
	mov.u32 %r0, %tid.x;
	setp.eq.u32 %p, %r0, 0;
	@%p bra First;
	call waits, ();
	ret;
First:
	call waits, ();
	ret;
}
// Waits for more threads than there are.
.visible .entry waits_for_more(.param .u64 a, .param .u32 n)
{
	.reg .b32 %r;
	ld.param.u32 %r, [n];
	bar.sync 1, %r;
	ret;
}
// Calls the function of a number in the table, or stops where the number is too large.
.visible .entry calls(.param .u64 a, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %r<3>;
	.reg .b64 %d<4>;
	ld.param.u64 %d0, [a];
	ld.param.u32 %r0, [n];
	setp.gt.u32 %p, %r0, 1;
	@%p trap;
	mov.u64 %d1, table;
	mad.wide.u32 %d2, %r0, 8, %d1;
	ld.global.u64 %d3, [%d2];
	mov.u32 %r1, %tid.x;
	P: .callprototype (.param .b32 _) _ (.param .b32 _);
	{
	.param .b32 p0;
	.param .b32 r0;
	st.param.b32 [p0], %r1;
	call (r0), %d3, (p0), P;
	ld.param.b32 %r2, [r0];
	}
	mad.wide.u32 %d2, %r1, 4, %d0;
	st.global.u32 [%d2], %r2;
	ret;
}
)";

/// Runs kernels that fault. All later calls of the context return the error, until it is reset.
static void fault(CUdevice device) {
  struct {
    const char *name;
    CUdeviceptr to;
    unsigned number;
    CUresult code;
  } cases[] = {{"calls", 0, 0, CUDA_SUCCESS},
               {"calls", 16, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
               {"calls", 0, 1, CUDA_ERROR_INVALID_PC},
               {"calls", 0, 2, CUDA_ERROR_LAUNCH_FAILED},
               {"waits_for_more", 0, 64, CUDA_SUCCESS},
               {"waits_for_more", 0, 96, CUDA_ERROR_LAUNCH_FAILED},
               {"waits_apart", 0, 0, CUDA_ERROR_LAUNCH_FAILED}};
  for (auto [name, to, number, code] : cases) {
    CUmodule module;
    CUfunction calls;
    CUdeviceptr memory, more;
    CHECK(cuModuleLoadData(&module, FAULTS));
    CHECK(cuModuleGetFunction(&calls, module, name));
    CHECK(cuMemAlloc(&memory, 4096));
    if (to == 0)
      to = memory;
    void *parameters[] = {&to, &number};
    wanted(cuLaunchKernel(calls, 2, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), code, "a fault", __LINE__);
    wanted(cuCtxSynchronize(), code, "behind a fault", __LINE__);
    wanted(cuMemAlloc(&more, 16), code, "behind a fault", __LINE__);
    std::vector<int> numbers(64);
    if (code == CUDA_SUCCESS && std::strcmp(name, "calls") == 0) {
      CHECK(cuMemcpyDtoH(numbers.data(), memory, 256));
      for (int i = 0; i < 64; ++i)
        REQUIRE(numbers[i] == i + 10);
    }
    CHECK(cuDevicePrimaryCtxReset(device));
    CHECK(cuModuleUnload(module));
  }
}

static void add_one(void *place) { ++*static_cast<int *>(place); }

/// Stores a number in memory of the host after a while.
static std::thread store_later(volatile unsigned *place, unsigned value) {
  return std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    *place = value;
  });
}

/// Streams wait for values while their callers go on; commands after a wait keep their order.
static void wait_for_values(CUcontext context) {
  volatile unsigned *flags;
  CUdeviceptr memory, flag;
  CHECK(cuMemHostAlloc(const_cast<void **>(reinterpret_cast<volatile void **>(&flags)), 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(const_cast<unsigned *>(flags), 0, 4096);
  CHECK(cuMemHostGetDevicePointer(&flag, const_cast<unsigned *>(flags), 0));
  CHECK(cuMemAlloc(&memory, 4096));
  CUstream stream, other, blocking;
  CUevent before, after;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CHECK(cuEventCreate(&before, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&after, CU_EVENT_DEFAULT));

  // A condition that is met lets commands run in their calls.
  CHECK(cuStreamWaitValue32(stream, flag, 0, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(cuMemsetD32Async(memory, 1, 1, stream));
  CHECK(cuStreamQuery(stream));

  // One that is not met holds the stream, another stream that waits for its event, and copies that read ordinary memory in the call.
  int calls = 0, ordinary = 5, found = 0;
  CHECK(cuEventRecord(before, stream));
  CHECK(cuStreamWaitValue32(stream, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK(cuMemsetD32Async(memory, 2, 1, stream));
  CHECK(cuMemcpyHtoDAsync(memory + 8, &ordinary, 4, stream));
  ordinary = 6;
  CHECK(cuLaunchHostFunc(stream, add_one, &calls));
  CHECK(cuEventRecord(after, stream));
  CHECK(cuStreamWaitEvent(other, after, 0));
  CHECK(cuMemsetD32Async(memory + 4, 3, 1, other));
  CHECK(cuEventQuery(before));
  FAILS(cuEventQuery(after), CUDA_ERROR_NOT_READY);
  FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  FAILS(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(blocking));
  float milliseconds = -1;
  FAILS(cuEventElapsedTime(&milliseconds, before, after), CUDA_ERROR_NOT_READY);
  REQUIRE(calls == 0 && *reinterpret_cast<int *>(memory) == 1);
  std::thread writer = store_later(flags, 1);
  CHECK(cuEventSynchronize(after));
  REQUIRE(calls == 1);
  writer.join();
  CHECK(cuStreamSynchronize(other));
  CHECK(cuMemcpyDtoH(&found, memory, 4));
  REQUIRE(found == 2);
  CHECK(cuMemcpyDtoH(&found, memory + 4, 4));
  REQUIRE(found == 3);
  CHECK(cuMemcpyDtoH(&found, memory + 8, 4));
  REQUIRE(found == 5);
  CHECK(cuEventElapsedTime(&milliseconds, before, after));
  REQUIRE(milliseconds > 10);

  // A stream's write ends another stream's wait. A copy to ordinary memory and a destroyed stream wait, too.
  CHECK(cuStreamWaitValue64(stream, flag + 64, 1ull << 40, CU_STREAM_WAIT_VALUE_AND));
  CHECK(cuMemsetD32Async(memory, 7, 1, stream));
  FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  CHECK(cuStreamWriteValue64(other, flag + 64, 3ull << 40, 0));
  CHECK(cuMemcpyDtoHAsync(&found, memory, 4, stream));
  REQUIRE(found == 7);
  CHECK(cuStreamWaitValue32(stream, flag + 128, ~1u, CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH));
  CHECK(cuStreamWriteValue32(stream, flag + 132, 5, 0));
  CHECK(cuStreamSynchronize(stream));
  REQUIRE(flags[33] == 5);

  // The default stream waits for streams that it blocks, and they for it.
  CHECK(cuStreamWaitValue32(blocking, flag, 2, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(cuMemsetD32Async(memory, 8, 1, blocking));
  CHECK(cuMemcpyDtoDAsync(memory + 4, memory, 4, nullptr));
  CUstream late;
  CHECK(cuStreamCreate(&late, CU_STREAM_DEFAULT));
  CHECK(cuMemcpyDtoDAsync(memory + 8, memory + 4, 4, late));
  CHECK(cuStreamDestroy(late));
  FAILS(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  writer = store_later(flags, 2);
  CHECK(cuMemcpyDtoH(&found, memory + 4, 4));
  REQUIRE(found == 8);
  writer.join();
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(&found, memory + 8, 4));
  REQUIRE(found == 8);

  // Batches, at once and in a graph, whose launch waits.
  CUstreamBatchMemOpParams batch[3];
  std::memset(batch, 0, sizeof batch);
  batch[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  batch[0].waitValue.address = flag + 8, batch[0].waitValue.value = 1, batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  batch[1].writeValue.address = flag + 16, batch[1].writeValue.value64 = 1ull << 33;
  batch[2].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
  CHECK(cuStreamBatchMemOp(stream, 3, batch, 0));
  REQUIRE(flags[5] == 0);
  flags[2] = 1;
  CHECK(cuStreamSynchronize(stream));
  REQUIRE(flags[5] == 2);
  flags[2] = flags[5] = 0;
  CUgraph graph;
  CUgraphExec executable;
  CUgraphNode node, added;
  size_t count = 1;
  CUgraphNodeType kind;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuStreamBatchMemOp(stream, 3, batch, 0));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphGetNodes(graph, &node, &count));
  CHECK(cuGraphNodeGetType(node, &kind));
  REQUIRE(count == 1 && kind == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  CUDA_BATCH_MEM_OP_NODE_PARAMS operations = {};
  CHECK(cuGraphBatchMemOpNodeGetParams(node, &operations));
  REQUIRE(operations.count == 3 && operations.paramArray[1].writeValue.value64 == 1ull << 33 &&
          operations.paramArray[0].waitValue.flags == CU_STREAM_WAIT_VALUE_EQ);
  operations.paramArray = batch, operations.count = 1;
  batch[0].waitValue.value = 3;
  CHECK(cuGraphAddBatchMemOpNode(&added, graph, &node, 1, &operations));
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  batch[0].waitValue.value = 4;
  CHECK(cuGraphExecBatchMemOpNodeSetParams(executable, added, &operations));
  CHECK(cuGraphLaunch(executable, stream));
  CHECK(cuMemsetD32Async(memory, 9, 1, stream));
  FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  flags[2] = 1;
  while (flags[5] != 2)
    std::this_thread::yield();
  FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  flags[2] = 4;
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(&found, memory, 4));
  REQUIRE(found == 9);
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));

  // Wrong arguments.
  FAILS(cuStreamWaitValue32(stream, flag + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamWaitValue64(stream, flag + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamWaitValue32(stream, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamWaitValue32(stream, flag, 0, 4), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamWriteValue64(stream, flag + 4096, 0, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamBatchMemOp(stream, 300, batch, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuStreamBatchMemOp(stream, 2, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  batch[1].operation = CUstreamBatchMemOpType(77);
  FAILS(cuStreamBatchMemOp(stream, 2, batch, 0), CUDA_ERROR_INVALID_VALUE);

  // A context that ends drops what waits in it.
  CUcontext doomed;
  CUstream stuck;
  CUevent never;
  CHECK(cuCtxCreate(&doomed, 0, 0));
  CHECK(cuStreamCreate(&stuck, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&never, CU_EVENT_DEFAULT));
  CHECK(cuStreamWaitValue32(stuck, flag, 1000, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(cuMemsetD32Async(memory, 10, 1, stuck));
  CHECK(cuEventRecord(never, stuck));
  CHECK(cuCtxDestroy(doomed));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuEventSynchronize(never));
  CHECK(cuMemcpyDtoH(&found, memory, 4));
  REQUIRE(found == 9);
  for (CUstream each : {stream, other, blocking})
    CHECK(cuStreamDestroy(each));
  CHECK(cuEventDestroy(before));
  CHECK(cuEventDestroy(after));
  CHECK(cuMemFree(memory));
  CHECK(cuMemFreeHost(const_cast<unsigned *>(flags)));
}

/// Maps memory of handles into reserved addresses: two mappings side by side, and one handle at two addresses.
static void map_memory(CUdevice device, CUfunction kernel) {
  int is_supported = 0;
  CHECK(cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  REQUIRE(is_supported == 1);
  CUmemAllocationProp about = {}, seen;
  about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  about.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t unit = 0;
  CHECK(cuMemGetAllocationGranularity(&unit, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  REQUIRE(unit > 0 && unit % 4096 == 0);
  CUdeviceptr range, other;
  CUmemGenericAllocationHandle first, second, found;
  CHECK(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
  CHECK(cuMemAddressReserve(&other, unit, 4 * unit, 0, 0));
  REQUIRE(range % unit == 0 && other % (4 * unit) == 0);
  CHECK(cuMemCreate(&first, unit, &about, 0));
  CHECK(cuMemCreate(&second, 2 * unit, &about, 0));
  std::memset(&seen, 9, sizeof seen);
  CHECK(cuMemGetAllocationPropertiesFromHandle(&seen, second));
  REQUIRE(seen.type == about.type && seen.location.type == about.location.type && seen.location.id == 0);
  FAILS(cuMemsetD8(range, 1, 16), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range, unit, 0, first, 0));
  CHECK(cuMemMap(range + unit, unit, unit, second, 0));
  CHECK(cuMemMap(other, unit, unit, second, 0));
  FAILS(cuMemsetD8(range, 1, 16), CUDA_ERROR_INVALID_VALUE);

  // Accesses are those that were set last.
  CUmemAccessDesc access = {};
  access.location = about.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  unsigned long long flags = 9;
  CHECK(cuMemGetAccess(&flags, &about.location, range));
  REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CHECK(cuMemSetAccess(range, 2 * unit, &access, 1));
  CHECK(cuMemSetAccess(other, unit, &access, 1));
  CHECK(cuMemGetAccess(&flags, &about.location, range + unit + 5));
  REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  // Fills, copies and kernels go over the border of two mappings, and the other address shows the same memory.
  std::vector<int> numbers(512), back(512);
  for (int i = 0; i < 512; ++i)
    numbers[i] = i;
  const CUdeviceptr middle = range + unit - 1024;
  CHECK(cuMemsetD32(range, 11, unit / 2));
  CHECK(cuMemcpyHtoD(middle, numbers.data(), 2048));
  CHECK(cuMemcpyDtoH(back.data(), middle, 2048));
  REQUIRE(numbers == back);
  CHECK(cuMemcpyDtoH(back.data(), other, 1024));
  REQUIRE(back[0] == 256 && back[255] == 511);
  CUdeviceptr start = middle + 512;
  void *parameters[] = {&start};
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 1024, nullptr, parameters, nullptr));
  CHECK(cuMemcpyDtoH(back.data(), other, 512));
  REQUIRE(back[0] == 255 && back[127] == 128);
  FAILS(cuMemsetD32(range, 1, unit / 2 + 1), CUDA_ERROR_INVALID_VALUE);
  CUmemorytype type;
  size_t bytes = 0;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, middle));
  CHECK(cuMemGetAddressRange(&start, &bytes, range + unit + 8));
  REQUIRE(type == CU_MEMORYTYPE_DEVICE && start == range + unit && bytes == unit);

  // Memory that can be read only.
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  CHECK(cuMemSetAccess(other, unit, &access, 1));
  CHECK(cuMemcpyDtoH(back.data(), other, 512));
  FAILS(cuMemsetD8(other, 1, 16), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemcpyHtoD(other, back.data(), 16), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD(range, other, 16));

  // Handles: one that mappings keep comes back with its number.
  CHECK(cuMemRetainAllocationHandle(&found, reinterpret_cast<void *>(other + 100)));
  REQUIRE(found == second);
  CHECK(cuMemRelease(second));
  CHECK(cuMemRelease(second));
  FAILS(cuMemRelease(second), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemMap(range + 2 * unit, unit, 0, second, 0), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRetainAllocationHandle(&found, reinterpret_cast<void *>(range + unit)));
  REQUIRE(found == second);
  CHECK(cuMemMap(range + 2 * unit, 2 * unit, 0, second, 0));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(range, 4 * unit, &access, 1));
  CHECK(cuMemcpyDtoH(back.data(), range + 3 * unit, 512));
  REQUIRE(back[0] == 255 && back[127] == 128);

  // Wrong arguments.
  FAILS(cuMemMap(range, unit, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemMap(other, unit, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemMap(range + 4 * unit, unit, 0, first, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemUnmap(range + 2 * unit, unit), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemAddressFree(range, 4 * unit), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemAddressFree(range, unit), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemFree(range), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemSetAccess(range, 4 * unit, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemSetAccess(range + 4096, unit, &access, 1), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemCreate(&found, unit + 1, &about, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemCreate(&found, size_t(1) << 50, &about, 0), CUDA_ERROR_OUT_OF_MEMORY);
  FAILS(cuMemAddressReserve(&start, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemAddressReserve(&start, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  about.location.id = 1;
  FAILS(cuMemCreate(&found, unit, &about, 0), CUDA_ERROR_INVALID_DEVICE);
  FAILS(cuMemGetAccess(&flags, &about.location, range), CUDA_ERROR_INVALID_DEVICE);
  about.location.id = 0;
  FAILS(cuMemGetAccess(&flags, &about.location, range + 4 * unit), CUDA_ERROR_INVALID_VALUE);

  CHECK(cuMemUnmap(range, 4 * unit));
  CHECK(cuMemUnmap(other, unit));
  FAILS(cuMemcpyDtoH(back.data(), range, 16), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemRetainAllocationHandle(&found, reinterpret_cast<void *>(range)), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRelease(first));
  CHECK(cuMemRelease(second));
  CHECK(cuMemAddressFree(range, 4 * unit));
  CHECK(cuMemAddressFree(other, unit));
  FAILS(cuMemAddressFree(other, unit), CUDA_ERROR_INVALID_VALUE);
}

/// Reads nodes that the runtime reads in another form.
static void read_nodes(CUfunction kernel, CUdeviceptr memory) {
  CUgraph graph;
  CUgraphNode launched, copied;
  CHECK(cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS launch = {}, seen;
  void *parameters[] = {&memory};
  launch.func = kernel, launch.gridDimX = 2, launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = 64, launch.blockDimY = launch.blockDimZ = 1, launch.sharedMemBytes = 1024;
  launch.kernelParams = parameters;
  CHECK(cuGraphAddKernelNode(&launched, graph, nullptr, 0, &launch));
  std::memset(&seen, 9, sizeof seen);
  CHECK(cuGraphKernelNodeGetParams(launched, &seen));
  REQUIRE(seen.func == kernel && seen.gridDimX == 2 && seen.blockDimX == 64 && seen.sharedMemBytes == 1024 && !seen.extra);
  REQUIRE(*static_cast<CUdeviceptr *>(seen.kernelParams[0]) == memory);
  CUDA_MEMCPY3D copy = {}, copy_seen;
  int here[8];
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = memory, copy.srcXInBytes = 4, copy.srcY = 1, copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = here, copy.dstPitch = 8;
  copy.WidthInBytes = 8, copy.Height = 2, copy.Depth = 1;
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuGraphAddMemcpyNode(&copied, graph, &launched, 1, &copy, context));
  std::memset(&copy_seen, 9, sizeof copy_seen);
  CHECK(cuGraphMemcpyNodeGetParams(copied, &copy_seen));
  REQUIRE(copy_seen.srcDevice == memory && copy_seen.srcXInBytes == 4 && copy_seen.srcY == 1 && copy_seen.srcPitch == 16);
  REQUIRE(copy_seen.dstHost == here && copy_seen.dstPitch == 8 && copy_seen.WidthInBytes == 8 && copy_seen.Height == 2);
  FAILS(cuGraphMemcpyNodeGetParams(launched, &copy_seen), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuGraphKernelNodeGetParams(launched, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUlaunchAttributeValue value = {};
  value.cooperative = 1;
  CHECK(cuGraphKernelNodeSetAttribute(launched, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  value.cooperative = 0;
  CHECK(cuGraphKernelNodeGetAttribute(launched, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  REQUIRE(value.cooperative == 1);
  value.clusterDim = {2, 1, 1};
  FAILS(cuGraphKernelNodeSetAttribute(launched, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK(cuGraphDestroy(graph));
  FAILS(cuGraphKernelNodeGetParams(launched, &seen), CUDA_ERROR_INVALID_VALUE);
}

int main(int, char **arguments) {
  CUdevice device;
  FAILS(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuInit(0));
  int count = 0, major = 0, processors = 0;
  CHECK(cuDeviceGetCount(&count));
  REQUIRE(count == 1);
  CHECK(cuDeviceGet(&device, 0));
  FAILS(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
#if CUDA_VERSION >= 12050
  // Zeroed parameters ask for an ordinary context.
  CUctxCreateParams plain;
  std::memset(&plain, 0, sizeof plain);
  CUcontext created;
  CHECK(cuCtxCreate_v4(&created, &plain, 0, device));
  CHECK(cuCtxDestroy(created));
#endif
  char name[64];
  CHECK(cuDeviceGetName(name, sizeof name, device));
  REQUIRE(std::string(name) == "Heddle (CPU)");
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  REQUIRE(major == 8 && processors >= 1);

  CUdeviceptr memory;
  FAILS(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext context, now;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuCtxGetCurrent(&now));
  REQUIRE(now == context);

  // Modules.
  std::ifstream file(arguments[1]);
  std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CUmodule module;
  CHECK(cuModuleLoadData(&module, ptx.c_str()));
  char log[500] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule none;
  FAILS(cuModuleLoadDataEx(&none, ".version 8.0\n.target sm_80\nfunny", 2, options, values), CUDA_ERROR_INVALID_PTX);
  REQUIRE(std::strstr(log, "3:1"));
  FAILS(cuModuleLoadData(&none, "\x7f" "ELF and so on"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  CUfunction polynomial, reverse, by_value, sums;
  CHECK(cuModuleGetFunction(&polynomial, module, "polynomial"));
  CHECK(cuModuleGetFunction(&reverse, module, "reverse"));
  CHECK(cuModuleGetFunction(&by_value, module, "by_value"));
  CHECK(cuModuleGetFunction(&sums, module, "sums"));
  FAILS(cuModuleGetFunction(&by_value, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  size_t offset = 0, bytes = 0;
  CHECK(cuFuncGetParamInfo(by_value, 1, &offset, &bytes));
  REQUIRE(offset == 8 && bytes == 16);
  FAILS(cuFuncGetParamInfo(by_value, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);

  // Constants and variables of a module.
  const int n = 1000;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; i++)
    in[i] = i * 0.25f;
  CUdeviceptr from, to, constant, calls;
  CHECK(cuMemAlloc(&from, n * 4));
  CHECK(cuMemAlloc(&to, n * 4));
  CHECK(cuMemcpyHtoD(from, in.data(), n * 4));
  CHECK(cuModuleGetGlobal(&constant, &bytes, module, "coefficients"));
  REQUIRE(bytes == 16);
  for (int round = 0; round < 2; round++) {
    float coefficients[4] = {float(round), 2, 3, 4};
    CHECK(cuMemcpyHtoD(constant, coefficients, sizeof coefficients));
    void *parameters[] = {&to, &from, const_cast<int *>(&n)};
    CHECK(cuLaunchKernel(polynomial, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(out.data(), to, n * 4));
    for (int i = 0; i < n; i++) {
      double x = in[i], y = ((4 * x + 3) * x + 2) * x + round;
      REQUIRE(out[i] >= y * 0.9999 && out[i] <= y * 1.0001);
    }
  }
  int called = 0;
  CHECK(cuModuleGetGlobal(&calls, nullptr, module, "calls"));
  CHECK(cuMemcpyDtoH(&called, calls, 4));
  REQUIRE(called == 9);

  // Sums into memory of their own, and into a summand of a later step.
  for (CUdeviceptr sum : {to, from + 12, to}) {
    int count = 10;
    std::vector<float> summands(in.begin(), in.begin() + count);
    CHECK(cuMemcpyHtoD(from, in.data(), n * 4));
    CHECK(cuMemcpyHtoD(to, in.data(), n * 4));
    float result = in[sum == to ? 0 : 3];
    for (int k = count - 1; k >= 0; k--)
      result += sum != to && k == 3 ? result : summands[k];
    void *parameters[] = {&sum, &from, &count};
    CHECK(cuLaunchKernel(sums, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(out.data(), sum, 4));
    REQUIRE(out[0] == result);
  }

  // A buffer of parameters, and structures by value.
  struct {
    CUdeviceptr out;
    char small;
    alignas(8) double large;
    short scale;
  } buffer = {to, 5, 1.5, -2};
  size_t size = sizeof buffer;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(by_value, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  double result = 0;
  CHECK(cuMemcpyDtoH(&result, to, 8));
  REQUIRE(result == 2);
  size = 20;
  FAILS(cuLaunchKernel(by_value, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);

  // Dynamic shared memory; launches that cannot be.
  std::vector<int> numbers(256);
  for (int i = 0; i < 256; i++)
    numbers[i] = i;
  CHECK(cuMemcpyHtoD(to, numbers.data(), 1024));
  void *one[] = {&to};
  CHECK(cuLaunchKernel(reverse, 1, 1, 1, 256, 1, 1, 1024, nullptr, one, nullptr));
  CHECK(cuMemcpyDtoH(numbers.data(), to, 1024));
  for (int i = 0; i < 256; i++)
    REQUIRE(numbers[i] == 255 - i);
  FAILS(cuLaunchKernel(reverse, 1, 1, 1, 2048, 1, 1, 0, nullptr, one, nullptr), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuLaunchKernel(reverse, 0, 1, 1, 1, 1, 1, 0, nullptr, one, nullptr), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuLaunchKernel(reverse, 1, 1, 1, 1, 1, 1, 60000, nullptr, one, nullptr), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  CHECK(cuLaunchKernel(reverse, 1, 1, 1, 1, 1, 1, 60000, nullptr, one, nullptr));

  // Memory.
  FAILS(cuMemcpyDtoH(numbers.data(), to, n * 4 + 1), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMemFree(to + 4), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr pitched;
  size_t pitch = 0;
  CHECK(cuMemAllocPitch(&pitched, &pitch, 100, 7, 4));
  REQUIRE(pitch >= 100 && pitch % 512 == 0);
  CHECK(cuMemsetD2D8(pitched, pitch, 9, 100, 7));
  CHECK(cuMemsetD2D32(pitched + pitch, pitch, 0x01020304, 3, 2));
  std::vector<unsigned char> picture(60 * 5);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = pitched, copy.srcPitch = pitch;
  copy.srcXInBytes = 8, copy.srcY = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = picture.data(), copy.dstPitch = 60;
  copy.WidthInBytes = 60, copy.Height = 5;
  CHECK(cuMemcpy2D(&copy));
  REQUIRE(picture[0] == 4 && picture[3] == 1 && picture[4] == 9 && picture[60] == 9);
  copy.Height = 6;
  FAILS(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(pitched));
  void *pinned, *mapped = nullptr;
  CHECK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr *>(&mapped), pinned, 0));
  REQUIRE(mapped == pinned);
  CHECK(cuMemHostRegister(in.data(), n * 4, 0));
  FAILS(cuMemHostRegister(in.data(), n * 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(cuMemHostUnregister(in.data()));
  FAILS(cuMemHostUnregister(in.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CUdeviceptr managed, start;
  CHECK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  unsigned is_managed = 0;
  CHECK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed + 5));
  REQUIRE(is_managed & 1);
  CHECK(cuMemGetAddressRange(&start, &bytes, managed + 100));
  REQUIRE(start == managed && bytes == 4096);

  // Streams, events, functions of the host, pools.
  CUstream stream, other;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, -1));
  CUevent first, last;
  CHECK(cuEventCreate(&first, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&last, CU_EVENT_DEFAULT));
  CHECK(cuEventRecord(first, stream));
  CUdeviceptr pooled;
  CHECK(cuMemAllocAsync(&pooled, 1024, stream));
  CHECK(cuMemsetD32Async(pooled, 77, 256, stream));
  CHECK(cuMemcpyDtoHAsync(numbers.data(), pooled, 1024, stream));
  int host_calls = 0;
  CHECK(cuLaunchHostFunc(stream, add_one, &host_calls));
  CHECK(cuMemFreeAsync(pooled, stream));
  CHECK(cuEventRecord(last, stream));
  CHECK(cuStreamWaitEvent(other, last, 0));
  CHECK(cuStreamSynchronize(other));
  CHECK(cuEventSynchronize(last));
  float milliseconds = -1;
  CHECK(cuEventElapsedTime(&milliseconds, first, last));
  REQUIRE(milliseconds >= 0 && host_calls == 1 && numbers[255] == 77);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++)
    threads.emplace_back([=] {
      CHECK(cuCtxSetCurrent(context));
      CUdeviceptr own;
      CHECK(cuMemAlloc(&own, 4096));
      for (int round = 0; round < 50; round++) {
        CHECK(cuMemsetD32Async(own, t * 1000 + round, 1024, t % 2 ? stream : CU_STREAM_PER_THREAD));
        int found = 0;
        CHECK(cuMemcpyDtoH(&found, own + 4092, 4));
        REQUIRE(found == t * 1000 + round);
      }
      CHECK(cuMemFree(own));
    });
  for (auto &thread : threads)
    thread.join();

  // A graph by capture over two streams, and its update.
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemsetD32Async(to, 1, 256, stream));
  CHECK(cuEventRecord(first, stream));
  CHECK(cuStreamWaitEvent(other, first, 0));
  CHECK(cuMemsetD32Async(to + 512, 5, 64, other));
  CHECK(cuEventRecord(last, other));
  CHECK(cuStreamWaitEvent(stream, last, 0));
  CHECK(cuLaunchKernel(reverse, 1, 1, 1, 256, 1, 1, 1024, stream, one, nullptr));
  FAILS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 3);
  CHECK(cuMemcpyDtoH(&called, to, 4));
  REQUIRE(called != 1);
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  CHECK(cuGraphLaunch(executable, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(numbers.data(), to, 1024));
  REQUIRE(numbers[0] == 1 && numbers[64] == 5 && numbers[127] == 5 && numbers[128] == 1);
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));

  // Small memory is cleared, as fresh memory of a GPU is.
  for (int round = 0; round < 64; ++round) {
    CUdeviceptr small;
    const bool is_managed = round % 2;
    const size_t bytes = round < 32 ? 512 : 1 << 17;
    CHECK(is_managed ? cuMemAllocManaged(&small, bytes, CU_MEM_ATTACH_GLOBAL) : cuMemAlloc(&small, bytes));
    CHECK(cuMemcpyDtoH(numbers.data(), small, 512));
    for (int i = 0; i < 128; ++i) REQUIRE(numbers[i] == 0);
    CHECK(cuMemsetD8(small, 255, bytes));
    CHECK(cuMemFree(small));
  }

  // A captured allocation has one address in all launches, and is given back with the graph.
  cuuint64_t reserved = 0, used = 0;
  CUdeviceptr inner;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemAllocAsync(&inner, 4096, stream));
  CHECK(cuMemsetD32Async(inner, 6, 64, stream));
  CHECK(cuMemcpyDtoDAsync(to, inner, 256, stream));
  CHECK(cuMemFreeAsync(inner, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  CHECK(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
  REQUIRE(reserved == 4096);
  FAILS(cuMemFree(inner), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroy(graph));
  for (int round = 0; round < 3; ++round) {
    CHECK(cuMemsetD32(to, round, 64));
    CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuMemcpyDtoH(numbers.data(), to, 256));
    REQUIRE(numbers[0] == 6 && numbers[63] == 6);
  }
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
  CHECK(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &used));
  REQUIRE(reserved == 0 && used == 4096);

  // Nodes that allocate and free; memory that is not freed by a node stays until the application frees it.
  CUDA_MEM_ALLOC_NODE_PARAMS request = {}, answered = {};
  CUgraphNode allocation, kept, ending;
  request.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  request.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuGraphCreate(&graph, 0));
  FAILS(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &request), CUDA_ERROR_INVALID_VALUE);
  request.bytesize = 1000;
  CHECK(cuGraphAddMemAllocNode(&kept, graph, nullptr, 0, &request));
  const CUdeviceptr outlives = request.dptr;
  CHECK(cuGraphAddMemAllocNode(&allocation, graph, &kept, 1, &request));
  CHECK(cuGraphAddMemFreeNode(&ending, graph, &allocation, 1, request.dptr));
  CHECK(cuGraphMemAllocNodeGetParams(kept, &answered));
  CHECK(cuGraphMemFreeNodeGetParams(ending, &inner));
  REQUIRE(answered.dptr == outlives && answered.bytesize == 1000 && inner == request.dptr && inner != outlives);
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  CHECK(cuGraphLaunch(executable, stream));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuMemsetD8(outlives, 1, 1000));
  FAILS(cuMemsetD8(inner, 1, 1000), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(outlives));

  // An unknown instruction refuses only its function, and kernels that call it.
  CUmodule partly;
  CUfunction early, apart, found;
  CHECK(cuModuleLoadData(&partly, PARTLY));
  FAILS(cuModuleGetFunction(&found, partly, "unknown"), CUDA_ERROR_NOT_SUPPORTED);
  FAILS(cuModuleGetFunction(&found, partly, "calls"), CUDA_ERROR_NOT_SUPPORTED);
  FAILS(cuModuleGetFunction(&found, partly, "absent"), CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&early, partly, "early"));
  CHECK(cuModuleGetFunction(&apart, partly, "apart"));
  int version = 0;
  CHECK(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, early));
  REQUIRE(version == 70);

  // Threads that exit before a barrier are not waited for; threads that wait at different instructions of a barrier meet.
  for (unsigned stay : {0u, 1u, 32u, 40u, 100u, 128u}) {
    void *parameters[] = {&to, &stay};
    CHECK(cuLaunchKernel(early, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(numbers.data(), to, 512));
    for (unsigned i = 0; i < 128; ++i)
      REQUIRE(static_cast<unsigned>(numbers[i]) == (i < stay ? stay - 1 - i : ~0u));
  }
  for (unsigned threads : {64u, 65u, 128u}) {
    CHECK(cuMemsetD32(to, 0, 5));
    CHECK(cuLaunchKernel(apart, 2, 1, 1, threads, 1, 1, 0, nullptr, one, nullptr));
    CHECK(cuMemcpyDtoH(numbers.data(), to, 20));
    const int high = threads > 64;
    REQUIRE(numbers[0] == high && numbers[1] == 2 * high && numbers[2] == 3 && numbers[3] == 4 && numbers[4] == 5);
  }
  CHECK(cuModuleUnload(partly));

  // Allocations beyond the machine's memory fail, and allocated memory is not free.
  size_t free_bytes, less, total;
  CHECK(cuMemGetInfo(&free_bytes, &total));
  REQUIRE(free_bytes > 0 && free_bytes < total);
  FAILS(cuMemAlloc(&memory, free_bytes + (size_t(1) << 30)), CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr large;
  CHECK(cuMemAlloc(&large, free_bytes / 2));
  CHECK(cuMemGetInfo(&less, &total));
  REQUIRE(less < free_bytes - free_bytes / 4);
  CHECK(cuMemFree(large));

  read_nodes(reverse, to);
  wait_for_values(context);
  map_memory(device, reverse);

  // Handles that are none.
  CHECK(cuEventDestroy(first));
  FAILS(cuEventRecord(first, stream), CUDA_ERROR_INVALID_HANDLE);
  FAILS(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  FAILS(cuStreamSynchronize(reinterpret_cast<CUstream>(&name)), CUDA_ERROR_INVALID_HANDLE);
  FAILS(cuModuleUnload(reinterpret_cast<CUmodule>(polynomial)), CUDA_ERROR_INVALID_HANDLE);
  FAILS(cuTexObjectDestroy(0), CUDA_ERROR_INVALID_VALUE);
  FAILS(cuMipmappedArrayDestroy(nullptr), CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuModuleUnload(module));
  FAILS(cuLaunchKernel(reverse, 1, 1, 1, 1, 1, 1, 0, nullptr, one, nullptr), CUDA_ERROR_INVALID_HANDLE);
  // Faults end launches, not the process.
  fault(device);
  CHECK(cuDevicePrimaryCtxRelease(device));
  FAILS(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
  std::printf("passed\n");
}
