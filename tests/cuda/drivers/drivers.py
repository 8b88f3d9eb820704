"""The same kernels through both drivers, CUDA and OpenCL C: drivers.py cuda|opencl, run by `tests/cuda/bench.py`.

The kernels are those of `./x bench opencl`. For the CUDA driver clang makes PTX of them, with `words.cuh` in front. What is requested
stands on the standard input, a line each: `prepare NAME FILE` puts the kernel's results into a file, and launches it until the driver
has found its code; `time` answers how many seconds of the processor's a launch takes. Kernels run on one thread.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
KERNELS = HERE / "../../../crates/testing/src/bench/opencl"
# The driver tries other numbers of lanes after a tenth of a second.
WARM_SECONDS = 1.5
BATCH_SECONDS = 0.02


def kernels():
    """By name: the file, the kernel, its arguments, sizes of the launch and of a group, and the arguments that it writes."""
    random = np.random.default_rng(7)

    def floats(*shape):
        return random.random(shape, np.float32)

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    n, f = np.int32, np.float32
    rows = np.concatenate([[0], np.cumsum(random.integers(4, 29, 1 << 16))]).astype(np.int32)
    return {
        "saxpy": (HERE / "saxpy.cl", "saxpy", [floats(1 << 20), floats(1 << 20), f(0.5)], [1 << 20], [256], [0]),
        "matmul": ("matmul.cl", "multiply", [floats(512, 512), floats(512, 512), zeros(512, 512), n(512)], [512, 512], [16, 16], [2]),
        # Larger than the caches, it takes 0.85 to 1.6 ms through either driver, from run to run.
        "reduction": ("reduce.cl", "sum", [floats(1 << 18), zeros(64), n(1 << 18)], [64 * 256], [256], [1]),
        "scan": (
            "scan.cl", "blocks",
            [random.integers(0, 9, 1 << 20, np.int32), np.zeros(1 << 20, np.int32), np.zeros(1 << 12, np.int32)],
            [1 << 20], [256], [1, 2],
        ),
        "histogram": (
            "histogram_atomic.cl", "count",
            [random.integers(0, 256, 1 << 21, np.uint8), np.zeros(256, np.uint32), np.uint32(1 << 21)],
            [64 * 256], [256], [1],
        ),
        "Mandelbrot": (
            "mandelbrot.cl", "mandelbrot",
            [np.zeros((512, 1024), np.uint32), f(-2.5), f(-1), f(0.0035), np.uint32(200)], [1024, 512], [16, 16], [0],
        ),
        "n-body": (
            "nbody.cl", "advance",
            [floats(4096, 4), zeros(4096, 4), zeros(4096, 4), n(4096), f(0.001), f(0.01)], [4096], [256], [1, 2],
        ),
        "transpose": (
            # So does this one: 0.66 to 1.36 ms for 4 MiB.
            "transpose.cl", "transpose", [zeros(512, 512), floats(512, 512), np.uint32(512), np.uint32(512)],
            [512, 512], [16, 16], [0],
        ),
        "stencil": ("stencil.cl", "smooth", [floats(1024, 1024), zeros(1024, 1024), n(1024), n(1024)], [1024, 1024], [16, 16], [1]),
        "k-means": (
            "kmeans.cl", "assign", [floats(8, 1 << 16), floats(16, 8), np.zeros(1 << 16, np.int32), n(1 << 16), n(16), n(8)],
            [1 << 16], [256], [2],
        ),
        "Floyd-Warshall": (
            "floyd_warshall.cl", "relax",
            [random.integers(0, 1000, (1024, 1024), np.uint32), np.zeros((1024, 1024), np.uint32), np.uint32(1024), np.uint32(77)],
            [1024, 1024], [16, 16], [0, 1],
        ),
        "bitonic": (
            "bitonic.cl", "exchange", [random.integers(0, 1 << 32, 1 << 20, np.uint32), np.uint32(64), np.uint32(1024)],
            [1 << 20], [256], [0],
        ),
        "sparse product": (
            "spmv.cl", "multiply",
            [rows, random.integers(0, 1 << 16, int(rows[-1]), np.int32), floats(int(rows[-1])), floats(1 << 16), zeros(1 << 16)],
            [1 << 16], [256], [4],
        ),
        "cascade": ("cascade.cl", "cascade", [floats(1 << 18), zeros(1 << 18)], [1 << 18], [256], [1]),
    }


class Cuda:
    def __init__(self):
        from cuda.bindings import driver

        self.driver = driver
        self.check(driver.cuInit(0))
        self.check(driver.cuCtxSetCurrent(self.check(driver.cuDevicePrimaryCtxRetain(0))))

    def check(self, result):
        code, *values = result
        assert int(code) == 0, code
        return values[0] if len(values) == 1 else tuple(values) or None

    def prepare(self, file, name, arguments, size, group):
        text = (HERE / "words.cuh").read_text() + (KERNELS / file).read_text().replace("(float4)(", "make_float4(")
        clang = "clang-22 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx78 -std=c++17 -O3 -S -o - -"
        ptx = subprocess.run(clang.split(), input=text, capture_output=True, text=True)
        assert ptx.returncode == 0, ptx.stderr
        module = self.check(self.driver.cuModuleLoadData(ptx.stdout.encode() + b"\0"))
        self.kernel = self.check(self.driver.cuModuleGetFunction(module, name.encode()))
        self.places, self.words = [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                place = self.check(self.driver.cuMemAlloc(argument.nbytes))
                self.check(self.driver.cuMemcpyHtoD(place, argument.ctypes.data, argument.nbytes))
                self.places.append(place)
                self.words.append(np.array([int(place)], np.uint64))
            else:
                self.places.append(None)
                self.words.append(np.array([argument]))
        self.pointers = np.array([word.ctypes.data for word in self.words], np.uint64)
        grid = [whole // part for whole, part in zip(size, group)]
        self.size = [*(grid + [1, 1])[:3], *(group + [1, 1])[:3]]

    def launch(self):
        code = self.driver.cuLaunchKernel(self.kernel, *self.size, 0, 0, self.pointers.ctypes.data, 0)[0]
        assert int(code) == 0, code

    def finish(self):
        self.check(self.driver.cuCtxSynchronize())

    def read(self, index, like):
        found = np.empty_like(like)
        self.check(self.driver.cuMemcpyDtoH(found.ctypes.data, self.places[index], found.nbytes))
        return found


class OpenCl:
    def __init__(self):
        self.cl = ctypes.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
            getattr(self.cl, name).restype = ctypes.c_void_p
        platform, device = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("clGetPlatformIDs", 1, ctypes.byref(platform), None)
        self.call("clGetDeviceIDs", platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None)
        self.context = self.make("clCreateContext", None, 1, ctypes.byref(device), None, None)
        self.queue = self.make("clCreateCommandQueue", self.context, device, ctypes.c_uint64(0))

    def call(self, name, *arguments):
        code = getattr(self.cl, name)(*arguments)
        assert code == 0, (name, code)

    def make(self, name, *arguments):
        code = ctypes.c_int()
        made = ctypes.c_void_p(getattr(self.cl, name)(*arguments, ctypes.byref(code)))
        assert code.value == 0, (name, code.value)
        return made

    def prepare(self, file, name, arguments, size, group):
        text = ctypes.c_char_p((KERNELS / file).read_bytes())
        program = self.make("clCreateProgramWithSource", self.context, 1, ctypes.byref(text), None)
        # CUDA's default.
        self.call("clBuildProgram", program, 0, None, b"-cl-fp32-correctly-rounded-divide-sqrt", None, None)
        self.kernel = self.make("clCreateKernel", program, name.encode())
        self.places = []
        for index, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                # CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR
                flags, bytes = ctypes.c_uint64(1 | 32), ctypes.c_size_t(argument.nbytes)
                place = self.make("clCreateBuffer", self.context, flags, bytes, ctypes.c_void_p(argument.ctypes.data))
                self.call("clSetKernelArg", self.kernel, index, ctypes.c_size_t(8), ctypes.byref(place))
            else:
                place, word = None, np.array([argument])
                self.call("clSetKernelArg", self.kernel, index, ctypes.c_size_t(word.nbytes), ctypes.c_void_p(word.ctypes.data))
            self.places.append(place)
        self.ways = len(size)
        self.size, self.group = ((ctypes.c_size_t * 3)(*numbers) for numbers in (size, group))

    def launch(self):
        self.call("clEnqueueNDRangeKernel", self.queue, self.kernel, self.ways, None, self.size, self.group, 0, None, None)

    def finish(self):
        self.call("clFinish", self.queue)

    def read(self, index, like):
        found = np.empty_like(like)
        bytes = ctypes.c_size_t(found.nbytes)
        pointer = ctypes.c_void_p(found.ctypes.data)
        self.call("clEnqueueReadBuffer", self.queue, self.places[index], 1, ctypes.c_size_t(0), bytes, pointer, 0, None, None)
        return found


def main():
    os.environ["HEDDLE_THREADS"] = "1"
    driver = {"cuda": Cuda, "opencl": OpenCl}[sys.argv[1]]()
    launches = 1

    def batch():
        start = time.process_time()
        for _ in range(launches):
            driver.launch()
            driver.finish()
        return (time.process_time() - start) / launches

    for line in sys.stdin:
        word, *rest = line.split()
        if word == "prepare":
            # The arguments of both drivers are the same.
            file, name, arguments, size, group, written = kernels()[" ".join(rest[:-1])]
            driver.prepare(file, name, arguments, size, group)
            driver.launch()
            driver.finish()
            np.savez(rest[-1], *[driver.read(index, arguments[index]) for index in written])
            launches, start = 1, time.perf_counter()
            while time.perf_counter() - start < WARM_SECONDS:
                one = batch()
            launches = max(1, int(BATCH_SECONDS / max(one, 1e-6)))
            print("ready", flush=True)
        else:
            print(batch(), flush=True)


if __name__ == "__main__":
    main()
