"""Other copies of LLVM in one process with Heddle: llvmlite's by Numba, and all OpenCL drivers that are there."""

import llvmlite.binding
import numba
import numpy as np

import heddle

cube = numba.njit(lambda x: x * x * x)
assert cube(3.0) == 27
f = heddle.vectorize("float f(float x) { return exp(x) * x; }")
x = np.linspace(0, 1, 1000, dtype=np.float32)
assert np.allclose(f(x), np.exp(x) * x, rtol=1e-6)
import pyopencl as cl

for platform in cl.get_platforms():
    context = cl.Context(platform.get_devices())
    queue = cl.CommandQueue(context)
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    program = cl.Program(context, "kernel void k(global int *x) { x[get_global_id(0)] = 7; }").build()
    program.k(queue, (1024,), None, memory)
    found = np.zeros(1024, np.int32)
    cl.enqueue_copy(queue, found, memory)
    assert (found == 7).all(), platform.name
    print(f"{platform.name} passed")
assert numba.njit(lambda x: x + 1)(1) == 2
print(f"neighbours passed: llvmlite with LLVM {llvmlite.binding.llvm_version_info}")
