"""Real ufuncs of NumPy over Heddle's kernels, by NumPy's C interface and ctypes.

NumPy calls the loop with addresses and steps, so a call costs what NumPy's own functions cost. The loop is
`heddle_elements_loop` of the library; its data are the kernels of one function.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable

import numpy as np

from ._errors import LaunchError
from ._kernel import Kernel
from ._library import library, take_text

# Index of PyUFunc_FromFuncAndData in NumPy's table, and the identity "none".
_FROM_FUNC_AND_DATA = 1
_NO_IDENTITY = -1


def _creator() -> Callable[..., Any] | None:
    """Returns PyUFunc_FromFuncAndData; none if this Python or NumPy has no such interface."""
    try:
        core = getattr(np, "_core", None) or np.core
        capsule = core._multiarray_umath._UFUNC_API
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
    except AttributeError:
        return None
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *[ctypes.c_void_p] * 3,
        *[ctypes.c_int] * 4,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
    )
    return kind(table[_FROM_FUNC_AND_DATA])


class Loop:
    """A ufunc of one signature, and the kernels that its loop launches."""

    def __init__(self, name: str, doc: str, dtypes: list[np.dtype], make: Callable[[int], Kernel]) -> None:
        """`dtypes` are those of the inputs and of the result; `make` returns the kernel of a layout."""
        self._library = library()
        self._make = make
        self._kernels: dict[int, Kernel] = {0: make(0)}
        sizes = (ctypes.c_size_t * len(dtypes))(*[dtype.itemsize for dtype in dtypes])
        self._handle = self._library.heddle_elements_new(self._kernels[0]._handle, sizes, len(dtypes))
        self.ufunc: Any = None
        self.failed = ctypes.c_uint8(0)
        creator = _creator() if self._handle else None
        if creator is None:
            return
        # Not 0 after a launch that failed.
        self.failed = ctypes.c_uint8.from_address(self._library.heddle_elements_flag(self._handle))
        # NumPy keeps these addresses.
        address = ctypes.cast(self._library.heddle_elements_loop, ctypes.c_void_p).value
        self._kept = (
            (ctypes.c_void_p * 1)(address),
            (ctypes.c_void_p * 1)(self._handle),
            (ctypes.c_uint8 * len(dtypes))(*[dtype.num for dtype in dtypes]),
            name.encode(),
            doc.encode(),
        )
        loops, data, types, *texts = self._kept
        self.ufunc = creator(loops, data, types, 1, len(dtypes) - 1, 1, _NO_IDENTITY, *texts, 0)

    def prepare(self, layout: int) -> None:
        """Compiles the kernel for a layout; without it, its operands are packed."""
        if layout not in self._kernels:
            self._kernels[layout] = self._make(layout)
            self._library.heddle_elements_add(self._handle, layout, self._kernels[layout]._handle)

    def raise_failure(self) -> None:
        """Raises the exception of the launch that set `failed`."""
        raise LaunchError(take_text(self._library.heddle_elements_failure(self._handle)) or "")

    @property
    def kernels(self) -> list[Kernel]:
        """Kernels of all layouts that were called so far."""
        return list(self._kernels.values())

    def __del__(self) -> None:
        self.ufunc = None
        if getattr(self, "_handle", None):
            self._library.heddle_elements_free(self._handle)
