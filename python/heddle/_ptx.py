"""Programs in PTX, by the CUDA driver of the library. Device memory is host memory there: arrays are passed as they are."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from ._errors import BuildError, LaunchError
from ._kernel import Local, Size, Strided, as_array
from ._library import library
from ._program import Program

# `CUjit_option` of cuda.h.
_INFO_LOG, _INFO_LOG_BYTES, _ERROR_LOG, _ERROR_LOG_BYTES = 3, 4, 5, 6


@lru_cache(maxsize=None)
def _driver() -> ctypes.CDLL:
    """Returns the driver with the device's context current in this thread's process."""
    driver = library()
    _done(driver, driver.cuInit(0), LaunchError)
    return driver


@lru_cache(maxsize=None)
def _context() -> ctypes.c_void_p:
    context = ctypes.c_void_p()
    _done(_driver(), _driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), LaunchError)
    return context


def _done(driver: ctypes.CDLL, code: int, error: type, log: str = "") -> None:
    if code:
        text = ctypes.c_char_p()
        driver.cuGetErrorName(code, ctypes.byref(text))
        raise error(f"{(text.value or b'').decode()}\n{log}")


class _PtxModule:
    """Owner of a module of the driver."""

    def __init__(self, source: str) -> None:
        driver = _driver()
        driver.cuCtxSetCurrent(_context())
        self.handle = ctypes.c_void_p()
        info, errors = (ctypes.create_string_buffer(1 << 16) for _ in range(2))
        options = (ctypes.c_int * 4)(_INFO_LOG, _INFO_LOG_BYTES, _ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 4)(ctypes.addressof(info), len(info), ctypes.addressof(errors), len(errors))
        code = driver.cuModuleLoadDataEx(ctypes.byref(self.handle), source.encode() + b"\0", 4, options, values)
        self.log = "".join(log.value.decode(errors="replace") for log in (errors, info))
        _done(driver, code, BuildError, self.log)


@lru_cache(maxsize=64)
def _module(source: str) -> _PtxModule:
    return _PtxModule(source)


class PtxProgram(Program):
    """A program in PTX; `heddle.Program` returns it for such a source."""

    def __init__(self, source: str, options: str = "") -> None:
        if options:
            raise BuildError(f"error: PTX takes no build options, found `{options}`")
        self.source, self.options = source, options
        self._module = _module(source)
        self.log = self._module.log

    @property
    def kernel_names(self) -> list[str]:
        """Names of the kernels, in the order of the source."""
        import re

        return re.findall(r"\.entry\s+([\w$]+)", str(self.source))

    def kernel(self, name: str) -> "PtxKernel":  # type: ignore[override]
        """Returns the kernel of this name."""
        return PtxKernel(self, name)


class PtxKernel:
    """A kernel in PTX. Arrays are passed by address, NumPy scalars by their type; `int` and `float` need one."""

    def __init__(self, program: PtxProgram, name: str) -> None:
        self.program, self.name = program, name
        driver = _driver()
        driver.cuCtxSetCurrent(_context())
        self._function = ctypes.c_void_p()
        code = driver.cuModuleGetFunction(ctypes.byref(self._function), program._module.handle, name.encode())
        if code:
            known = ", ".join(program.kernel_names) or "none"
            if name in program.kernel_names:
                text = f"error: kernel `{name}` cannot be compiled\nhelp: the driver has written why to the standard error"
                raise BuildError(text)
            raise BuildError(f"error: no kernel `{name}`\nhelp: the kernels are {known}")
        self._sizes = list(self._parameter_sizes())

    def _parameter_sizes(self) -> Any:
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        index = 0
        while not _driver().cuFuncGetParamInfo(self._function, index, ctypes.byref(offset), ctypes.byref(size)):
            yield size.value
            index += 1

    def __call__(self, global_size: Size, *arguments: Any, local_size: Size | None = None) -> None:
        """Launches so many threads, in blocks of `local_size` (by default up to 256 along the first dimension).

        `heddle.local(...)` after the last argument is the dynamic shared memory of a block.
        """
        shared = sum(given.nbytes for given in arguments if isinstance(given, Local))
        arguments = tuple(given for given in arguments if not isinstance(given, Local))
        if len(arguments) != len(self._sizes):
            raise LaunchError(f"`{self.name}` takes {len(self._sizes)} arguments, found {len(arguments)}")
        threads = self._three(global_size)
        block = self._three(local_size) if local_size is not None else [self._divisor(threads[0]), 1, 1]
        if any(count % size for count, size in zip(threads, block)):
            raise LaunchError(f"{threads} threads are no whole number of blocks of {block}")
        if 0 in threads:
            return
        kept = [self._bytes(index, given) for index, given in enumerate(arguments)]
        pointers = (ctypes.c_void_p * max(len(kept), 1))(*(ctypes.addressof(buffer) for buffer, _ in kept))
        grid = [count // size for count, size in zip(threads, block)]
        driver = _driver()
        driver.cuCtxSetCurrent(_context())
        code = driver.cuLaunchKernel(self._function, *grid, *block, shared, None, pointers, None)
        _done(driver, code or driver.cuCtxSynchronize(), LaunchError, f"kernel `{self.name}`")

    @staticmethod
    def _three(size: Size) -> list[int]:
        numbers = [int(size)] if isinstance(size, (int, np.integer)) else [int(number) for number in size]
        if not 1 <= len(numbers) <= 3:
            raise LaunchError(f"a launch has 1 to 3 dimensions, found {len(numbers)}")
        return numbers + [1] * (3 - len(numbers))

    @staticmethod
    def _divisor(count: int) -> int:
        return next((size for size in range(256, 0, -1) if count % size == 0), 1)

    def _bytes(self, index: int, given: Any) -> tuple[Any, Any]:
        size = self._sizes[index]
        if isinstance(given, np.generic):
            data = given.tobytes()
        elif isinstance(given, bytes):
            data = given
        elif isinstance(given, (bool, int, float)):
            raise LaunchError(f"argument {index}: PTX has no types: pass a NumPy scalar such as np.float32({given!r})")
        else:
            array = given.array if isinstance(given, Strided) else as_array(given)
            flags = array.flags
            if not isinstance(given, Strided) and not (flags.c_contiguous or flags.f_contiguous):
                raise LaunchError(f"argument {index}: the array is not contiguous: pass a copy, or heddle.strided(array)")
            if not flags.writeable:
                raise LaunchError(f"argument {index}: the array is read-only")
            return ctypes.c_uint64(array.ctypes.data), array
        if len(data) != size:
            raise LaunchError(f"argument {index}: expected {size} bytes, found {len(data)}")
        return ctypes.create_string_buffer(data, size), None

    def __reduce__(self) -> Any:
        return PtxKernel, (self.program, self.name)

    def __repr__(self) -> str:
        return f"<heddle.PtxKernel {self.name}>"
