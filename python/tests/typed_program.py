"""A program of a user for a checker of types, which knows all of them from the package (`py.typed`)."""

import heddle
import numpy as np
import numpy.typing as npt

program = heddle.Program("kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }", "-cl-std=CL3.0")
kernel: heddle.Kernel = program.kernel("twice")
x: npt.NDArray[np.float32] = np.ones(100, np.float32)
kernel(x.size, x, local_size=(4,))
names: list[str] = program.kernel_names
kinds: list[str] = [parameter.type for parameter in kernel.parameters]
log: str = program.log
report: heddle.KernelReport = kernel.report()
text: str = report.text
cube: heddle.Ufunc = heddle.vectorize("float cube(float x) { return x * x * x; }")
sine: heddle.Ufunc = heddle.vectorize("float sine(float x) { return sin(x); }", accuracy="exact")
assert cube.nin == 1 and len(names) == len(kinds)
memory: heddle.Local = heddle.local(16, np.float32)
aligned: np.ndarray = heddle.empty((4, 8), np.float64)
try:
    heddle.Program("kernel")
except heddle.BuildError as error:
    shown: str = error.log
kernel("a", x)  # type: ignore[arg-type]
heddle.vectorize(3)  # type: ignore[arg-type]
heddle.vectorize("float f(float x) { return x; }", accuracy="half")  # type: ignore[arg-type]
