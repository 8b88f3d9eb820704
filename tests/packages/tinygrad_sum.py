"""A matrix product and a reduction in tinygrad, on the device of the variable DEV."""

import os

import numpy as np
from tinygrad import Tensor

a = np.random.default_rng(1).random((64, 64), np.float32)
found = (Tensor(a) @ Tensor(a)).relu().sum().item()
assert abs(found - np.maximum(a @ a, 0).sum()) < 1
print(f"tinygrad {os.environ.get('DEV')} passed")
