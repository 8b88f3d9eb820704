"""Programs in OpenCL C, SPIR-V and PTX."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ._errors import BuildError
from ._kernel import Kernel
from ._library import library

_SPIRV_MAGIC = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")


def _is_ptx(source: str) -> bool:
    return bool(re.search(r"^\s*\.version\b", source, re.M) and re.search(r"^\s*\.target\b", source, re.M))


class _Compiled:
    """Owner of a program of the library."""

    def __init__(self, source: str | bytes, options: str) -> None:
        self.library = library()
        words = options.encode()
        if isinstance(source, bytes):
            self.handle = self.library.heddle_program_from_spirv(source, len(source), words)
        else:
            self.handle = self.library.heddle_program_from_opencl_c(source.encode(), words)
        log = self.library.heddle_program_messages(self.handle) or b""
        self.log = log.decode()
        if not self.library.heddle_program_ok(self.handle):
            raise BuildError(self.log)

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle:
            self.library.heddle_program_free(handle)


@lru_cache(maxsize=64)
def _compiled(source: str | bytes, options: str) -> _Compiled:
    return _Compiled(source, options)


class Program:
    """A program, compiled for this CPU: OpenCL C as a string, SPIR-V as bytes, or PTX as a string.

    `options` are those of `clBuildProgram`: `"-DN=4 -cl-std=CL3.0 -cl-fast-relaxed-math"`. A program pickles as source
    and options; a process compiles equal ones once. `log` holds the warnings.
    """

    def __new__(cls, source: str | bytes, options: str = "") -> Any:
        if cls is Program and isinstance(source, str) and _is_ptx(source):
            from ._ptx import PtxProgram

            return PtxProgram(source, options)
        return super().__new__(cls)

    def __init__(self, source: str | bytes, options: str = "") -> None:
        if isinstance(source, (bytearray, memoryview)):
            source = bytes(source)
        if isinstance(source, bytes) and source[:4] not in _SPIRV_MAGIC:
            source = self._text(source)
        if not isinstance(source, (str, bytes)):
            raise TypeError(f"a program is OpenCL C or PTX in a string, or SPIR-V in bytes, found {type(source).__name__}")
        self.source = source
        self.options = options
        self._compiled = _compiled(source, options)
        self._handle = self._compiled.handle
        self.log: str = self._compiled.log

    @staticmethod
    def _text(source: bytes) -> str:
        try:
            return source.decode()
        except UnicodeDecodeError:
            reason = f"error: {len(source)} bytes are neither text nor SPIR-V, which begins with the number 0x07230203"
            raise BuildError(reason) from None

    @property
    def kernel_names(self) -> list[str]:
        """Names of the kernels, in the order of the source."""
        functions = self._compiled.library
        count = functions.heddle_program_kernel_count(self._handle)
        return [functions.heddle_program_kernel_name(self._handle, index).decode() for index in range(count)]

    def kernel(self, name: str) -> Kernel:
        """Returns the kernel of this name."""
        return Kernel(self, name)

    def __repr__(self) -> str:
        return f"<heddle.Program: {', '.join(self.kernel_names)}>"

    def __reduce__(self) -> Any:
        return Program, (self.source, self.options)
