"""A suite of tests for OpenCL, as users have one."""

import numpy as np
import pyopencl as cl


def test_a_kernel_doubles():
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    x = np.arange(1000, dtype=np.int32)
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    program = cl.Program(context, "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }").build()
    program.twice(queue, x.shape, None, memory)
    found = np.empty_like(x)
    cl.enqueue_copy(queue, found, memory)
    assert (found == 2 * x).all()
