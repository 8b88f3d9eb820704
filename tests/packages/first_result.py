"""First result of a plain PyOpenCL program: the driver is found, compiles and computes."""

import numpy as np
import pyopencl as cl

platform = next(it for it in cl.get_platforms() if it.name == "Heddle")
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)
x = np.arange(1 << 16, dtype=np.float32)
flags = cl.mem_flags
given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
result = cl.Buffer(context, flags.WRITE_ONLY, x.nbytes)
source = "kernel void roots(global const float *x, global float *y) { size_t i = get_global_id(0); y[i] = sqrt(x[i]) + 1; }"
cl.Program(context, source).build().roots(queue, x.shape, None, given, result)
y = np.empty_like(x)
cl.enqueue_copy(queue, y, result)
assert np.allclose(y, np.sqrt(x) + 1)
print("pyopencl passed")
