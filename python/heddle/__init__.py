"""Heddle: kernels and functions as vector code for this CPU, over its threads.

    import heddle, numpy as np

    program = heddle.Program('''
        kernel void saxpy(float a, global const float *x, global float *y) {
            size_t i = get_global_id(0);
            y[i] += a * x[i];
        }''')
    x = np.arange(1000, dtype=np.float32)
    y = np.ones_like(x)
    program.kernel("saxpy")(x.size, 2, x, y)

    hypot = heddle.vectorize("float hypot2(float x, float y) { return sqrt(x * x + y * y); }")
    hypot(x, y)
"""

from ._analysis import Analysis, analyze, profile
from ._errors import BuildError, HeddleError, LaunchError
from ._kernel import Kernel, Local, Parameter, Strided, empty, local, strided
from ._library import command_path, include_path, library_path, version
from ._program import Program
from ._report import KernelReport
from ._ufunc import Ufunc, vectorize

__version__ = version()

__all__ = [
    "Analysis",
    "BuildError",
    "HeddleError",
    "Kernel",
    "KernelReport",
    "LaunchError",
    "Local",
    "Parameter",
    "Program",
    "Strided",
    "Ufunc",
    "analyze",
    "command_path",
    "empty",
    "include_path",
    "library_path",
    "local",
    "profile",
    "strided",
    "vectorize",
    "version",
]
