"""Numba's CUDA kernel on the driver of the package."""

import numpy as np
from numba import cuda


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


x = np.arange(1000, dtype=np.float32)
y = np.ones_like(x)
saxpy[8, 128](np.float32(2), x, y)
assert np.array_equal(y, 2 * x + 1)
print("numba passed")
