"""cuda-python: NVRTC's PTX and fat binaries through the driver, linking, libraries, graphs, entries by name."""

import numpy as np
from cuda.bindings import driver, nvrtc


def check(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if len(values) == 1 else tuple(values) or None


SOURCE = b"""
#include <cuda_fp16.h>
extern "C" __device__ float doubled(float x);
extern "C" __global__ void twice(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = doubled(in[i]);
}
"""
OTHER = b'extern "C" __device__ float doubled(float x) { return 2 * x; }'
KERNELS = b"""
extern "C" __global__ void warp_sums(int *out, const int *in) {
  int value = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncwarp();
  out[threadIdx.x] = value;
  if (threadIdx.x == 40) printf("thread %d has %d, %.2f\\n", threadIdx.x, value, 0.5);
}
template <class T> __device__ T clamped(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
extern "C" __global__ void clamp(float *values, float low, float high) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = clamped(values[i], low, high);
}
extern "C" __global__ void nothing_of_it(float *out, unsigned long long texture) { out[0] = texCubemap<float>(texture, 0, 0, 1); }
"""


def ptx_of(source, *options):
    program = check(nvrtc.nvrtcCreateProgram(source, b"test.cu", 0, [], []))
    options = [b"--gpu-architecture=compute_75", *options]
    code = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    if int(code):
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    text = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, text))
    return text


check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuCtxCreate(0, device))

# Two texts of PTX, linked.
parts = [ptx_of(SOURCE.replace(b"#include <cuda_fp16.h>\n", b""), b"-rdc=true"), ptx_of(OTHER, b"-rdc=true")]
state = check(driver.cuLinkCreate(0, [], []))
for number, part in enumerate(parts):
    name = b"part%d.ptx" % number
    check(driver.cuLinkAddData(state, driver.CUjitInputType.CU_JIT_INPUT_PTX, part, len(part), name, 0, [], []))
image, size = check(driver.cuLinkComplete(state))
module = check(driver.cuModuleLoadData(image))
check(driver.cuLinkDestroy(state))
twice = check(driver.cuModuleGetFunction(module, b"twice"))
values = np.arange(1000, dtype=np.float32)
there, out = check(driver.cuMemAlloc(4000)), check(driver.cuMemAlloc(4000))
check(driver.cuMemcpyHtoD(there, values, 4000))
stream = check(driver.cuStreamCreate(0))
arguments = [np.array([int(out)], np.uint64), np.array([int(there)], np.uint64), np.array([1000], np.int32)]
pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
check(driver.cuLaunchKernel(twice, 8, 1, 1, 128, 1, 1, 0, stream, pointers.ctypes.data, 0))
found = np.zeros(1000, np.float32)
check(driver.cuMemcpyDtoHAsync(found, out, 4000, stream))
check(driver.cuStreamSynchronize(stream))
assert (found == 2 * values).all()

# A library, its kernels, a launch by its configuration.
library = check(driver.cuLibraryLoadData(ptx_of(KERNELS), [], [], 0, [], [], 0))
kernel = check(driver.cuLibraryGetKernel(library, b"warp_sums"))
function = check(driver.cuKernelGetFunction(kernel))
check(driver.cuMemcpyHtoD(there, np.arange(64, dtype=np.int32), 256))
config = driver.CUlaunchConfig()
config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
config.blockDimX, config.hStream = 64, stream
check(driver.cuLaunchKernelEx(config, function, pointers.ctypes.data, 0))
sums = np.zeros(64, np.int32)
check(driver.cuMemcpyDtoH(sums, out, 256))
assert (sums == np.repeat([496, 1520], 32)).all()
code = driver.cuLibraryGetKernel(library, b"nothing_of_it")[0]
assert code == driver.CUresult.CUDA_ERROR_NOT_SUPPORTED, code

# A graph by capture, launched twice.
clamp = check(driver.cuKernelGetFunction(check(driver.cuLibraryGetKernel(library, b"clamp"))))
check(driver.cuMemcpyHtoD(there, values, 4000))
check(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
arguments = [np.array([int(there)], np.uint64), np.array([5], np.float32), np.array([9], np.float32)]
pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
check(driver.cuLaunchKernel(clamp, 10, 1, 1, 100, 1, 1, 0, stream, pointers.ctypes.data, 0))
check(driver.cuMemcpyDtoDAsync(out, there, 4000, stream))
graph = check(driver.cuStreamEndCapture(stream))
executable = check(driver.cuGraphInstantiate(graph, 0))
for _ in range(2):
    check(driver.cuGraphLaunch(executable, stream))
check(driver.cuMemcpyDtoH(found, out, 4000))
assert (found == values.clip(5, 9)).all()

# Events, attributes, occupancy.
events = [check(driver.cuEventCreate(0)) for _ in range(2)]
for event in events:
    check(driver.cuEventRecord(event, stream))
assert check(driver.cuEventElapsedTime(*events)) >= 0
assert check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(clamp, 128, 0)) > 0
assert check(driver.cuFuncGetAttribute(driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, clamp)) == 1024
_, found_at = driver.cuGetProcAddress(b"cuMemAlloc", 12000, 0)[:2]
assert found_at
check(driver.cuLibraryUnload(library))
check(driver.cuCtxDestroy(context))
print("passed")
