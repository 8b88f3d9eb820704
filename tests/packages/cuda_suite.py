"""A suite of tests for CUDA, as users have one."""

import numpy as np
from numba import cuda


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]


def test_a_kernel_adds():
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    add[8, 128](x, y)
    assert (y == x + 1).all()


def test_memory_is_copied():
    x = np.arange(1000, dtype=np.float32)
    y = cuda.to_device(np.zeros_like(x))
    add[8, 128](cuda.to_device(x), y)
    assert (y.copy_to_host() == x).all()
