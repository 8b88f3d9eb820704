// A program on CUDA's driver interface: memory of all kinds, modules, launches, streams, events, graphs, errors.

#include "require.h"
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
  CUDA_MEM_ALLOC_NODE_PARAMS request = {}, told = {};
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
  CHECK(cuGraphMemAllocNodeGetParams(kept, &told));
  CHECK(cuGraphMemFreeNodeGetParams(ending, &inner));
  REQUIRE(told.dptr == outlives && told.bytesize == 1000 && inner == request.dptr && inner != outlives);
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
