"""Warps of a block wait in loops for each other: the kernels of tests/ptx/written/spins.ptx, which never ended once."""

import pathlib

import numpy as np
from cuda.bindings import driver


def check(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if len(values) == 1 else tuple(values) or None


check(driver.cuInit(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
text = (pathlib.Path(__file__).parent.parent / "ptx/written/spins.ptx").read_bytes()
module = check(driver.cuModuleLoadData(text + b"\0"))
out = check(driver.cuMemAlloc(64))


def run(name, threads, blocks, *numbers):
    check(driver.cuMemsetD32(out, 0, 16))
    arguments = [np.array([int(out)], np.uint64)] + [np.array([number], np.uint32) for number in numbers]
    pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
    function = check(driver.cuModuleGetFunction(module, name))
    check(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, 0, pointers.ctypes.data, 0))
    found = np.zeros(16, np.uint32)
    check(driver.cuMemcpyDtoH(found, out, found.nbytes))
    return found.tolist()


for _ in range(3):
    assert run(b"flag", 64, 1)[:2] == [42, 7]
    assert run(b"rounds", 96, 1)[:3] == [4, 5, 6]
    assert run(b"together", 128, 1)[:4] == [1984] * 4
    assert run(b"there_and_back", 64, 9, 5)[:10] == [10] * 9 + [0]
print("passed")
