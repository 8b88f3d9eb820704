"""Kernels and their arguments."""

from __future__ import annotations

import ctypes
import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

import numpy as np

from ._errors import BuildError, LaunchError
from ._library import LOCAL, MEMORY, UNSUPPORTED, VALUE, CArgument, CParameter, library, take_text
from ._report import KernelReport
from ._types import ElementType, element_type

if TYPE_CHECKING:
    from ._program import Program

Size = Union[int, Sequence[int]]
# Address or bytes of an argument, their number, and what has to stay alive during the launch.
_Converted = "tuple[int, int, Any]"


class Local:
    """Memory that each work-group has for itself."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = int(nbytes)


def local(shape: Size, dtype: Any = np.uint8) -> Local:
    """Returns local memory for an array of this shape; without a type, for so many bytes."""
    count = math.prod(shape) if isinstance(shape, Sequence) else int(shape)
    return Local(count * np.dtype(dtype).itemsize)


class Strided:
    """An array with gaps, for a kernel that takes its strides as arguments."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def strided(array: np.ndarray) -> Strided:
    """Passes the address of an array that is not contiguous; the kernel has to know its strides."""
    return Strided(array)


def empty(shape: Size, dtype: Any = np.float32) -> np.ndarray:
    """Returns a new array aligned for the largest vectors of OpenCL C (128 bytes); NumPy's own are aligned by 16."""
    shape = tuple(shape) if isinstance(shape, Sequence) else (int(shape),)
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + 128, np.uint8)
    start = -memory.ctypes.data % 128
    array: np.ndarray = memory[start : start + size].view(dtype).reshape(shape)
    return array


def as_array(value: Any) -> np.ndarray:
    """Returns an array over the memory of an object, without a copy: an array, DLPack, or the buffer protocol."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return np.asarray(memoryview(value))


class Parameter:
    """A parameter of a kernel as declared: `name`, `type`, `qualifiers`, `kind`, `size`, `read_only`."""

    __slots__ = ("name", "type", "qualifiers", "kind", "size", "read_only", "element", "convert")

    def __init__(self, declared: CParameter) -> None:
        self.name: str = declared.name.decode()
        self.type: str = declared.type.decode()
        self.qualifiers: str = declared.qualifiers.decode()
        self.kind: int = declared.kind
        self.size: int = declared.size
        self.read_only: bool = declared.read_only
        written = self.type.removesuffix("*") if self.kind == MEMORY else self.type
        self.element: ElementType | None = element_type(written)
        self.convert: Callable[[Any], Any] = [self._value, self._memory, self._local, self._refuse][self.kind]

    def __repr__(self) -> str:
        words = [self.qualifiers, self.type, self.name]
        return " ".join(word for word in words if word)

    def _refuse(self, given: Any) -> Any:
        raise LaunchError(f"argument `{self.name}`: unsupported type `{self.type}`")

    def _local(self, given: Any) -> Any:
        if not isinstance(given, Local):
            raise LaunchError(f"argument `{self.name}`: local memory takes heddle.local(shape, dtype)")
        return None, given.nbytes, None

    def _value(self, given: Any) -> Any:
        if self.element is None:
            data = given if isinstance(given, bytes) else np.asarray(given).tobytes()
        else:
            dtype, count = self.element
            data = self._number(given, dtype, count)
        if len(data) != self.size:
            raise LaunchError(f"argument `{self.name}`: expected {self.size} bytes of `{self.type}`, found {len(data)}")
        buffer = ctypes.create_string_buffer(data, self.size)
        return ctypes.addressof(buffer), self.size, buffer

    def _number(self, given: Any, dtype: np.dtype, count: int) -> bytes:
        array = np.asarray(given)
        is_number = array.dtype.kind in "biuf"
        if not is_number or array.size != count or (dtype.kind in "biu" and array.dtype.kind == "f"):
            raise LaunchError(f"argument `{self.name}`: expected `{self.type}`, found {given!r}")
        try:
            converted = np.array(given, dtype)
        except OverflowError:
            converted = None
        if converted is None or (dtype.kind in "iu" and not np.array_equal(converted, array)):
            raise LaunchError(f"argument `{self.name}`: {given!r} is out of the range of `{self.type}`")
        data = converted.tobytes()
        return data + bytes(self.size - len(data)) if count == 3 else data

    def _memory(self, given: Any) -> Any:
        if given is None:
            return None, 0, None
        try:
            array = given.array if isinstance(given, Strided) else as_array(given)
        except (TypeError, BufferError) as reason:
            text = f"expected an array for `{self.type}`, found {type(given).__name__}: {reason}"
            raise LaunchError(f"argument `{self.name}`: {text}") from None
        self.check(array, isinstance(given, Strided))
        # Where an array with gaps ends is not its number of bytes.
        return array.ctypes.data, 0 if isinstance(given, Strided) else array.nbytes, array

    def check(self, array: np.ndarray, is_strided: bool) -> None:
        """Raises an exception if an array does not fit the parameter."""
        reason = None
        flags = array.flags
        if not is_strided and not (flags.c_contiguous or flags.f_contiguous):
            reason = "the array is not contiguous: pass a copy, or heddle.strided(array) and its strides"
        elif not self.read_only and not flags.writeable:
            reason = "the array is read-only, and the parameter is not `const`"
        elif self.element is not None:
            dtype = self.element.dtype
            is_raw = array.dtype.fields is not None
            if not is_raw and array.dtype != dtype:
                reason = f"expected {dtype} for `{self.type}`, found {array.dtype}"
            elif array.ctypes.data % self.element.align:
                reason = f"`{self.type}` is aligned by {self.element.align} bytes: create the array by heddle.empty"
        if reason:
            raise LaunchError(f"argument `{self.name}`: {reason}")


def _sizes(size: Size) -> Any:
    try:
        numbers = tuple(map(operator.index, size)) if isinstance(size, (Sequence, np.ndarray)) else (operator.index(size),)
    except TypeError:
        raise LaunchError(f"sizes of a launch are 1 to 3 integers, found {size!r}") from None
    if not 1 <= len(numbers) <= 3:
        raise LaunchError(f"a launch has 1 to 3 dimensions, found {len(numbers)}")
    if min(numbers) < 0:
        raise LaunchError(f"sizes of a launch are not negative, found {size!r}")
    return (ctypes.c_size_t * len(numbers))(*numbers)


class Kernel:
    """A kernel of a program. Calls launch it; they may come from any number of threads at once."""

    def __init__(self, program: "Program", name: str) -> None:
        self.program = program
        self.name = name
        self._library = library()
        self._handle = self._library.heddle_program_kernel(program._handle, name.encode())
        if not self._library.heddle_kernel_ok(self._handle):
            raise BuildError(self._library.heddle_kernel_messages(self._handle).decode())
        self.parameters: list[Parameter] = []
        for index in range(self._library.heddle_kernel_parameter_count(self._handle)):
            declared = CParameter()
            self._library.heddle_kernel_parameter(self._handle, index, ctypes.byref(declared))
            self.parameters.append(Parameter(declared))
        self._arguments = CArgument * len(self.parameters)

    def __call__(self, global_size: Size, *arguments: Any, local_size: Size | None = None) -> None:
        """Launches the kernel over work-items along 1 to 3 dimensions, and returns when all are done.

        Arrays are passed without copies, numbers by the parameter's type, local memory as `heddle.local(...)`. The
        kernel must stay inside of its arrays: Heddle cannot check where it goes.
        """
        if len(arguments) != len(self.parameters):
            raise LaunchError(f"`{self.name}` takes {len(self.parameters)} arguments, found {len(arguments)}")
        sizes = _sizes(global_size)
        groups = None if local_size is None else _sizes(local_size)
        if groups is not None and len(groups) != len(sizes):
            raise LaunchError("global_size and local_size have different numbers of dimensions")
        if 0 in sizes:
            return
        given = self._arguments()
        alive = []
        for slot, parameter, argument in zip(given, self.parameters, arguments):
            slot.kind = parameter.kind
            slot.memory, slot.size, kept = parameter.convert(argument)
            alive.append(kept)
        self.launch_raw(sizes, groups, given)

    def launch_raw(self, sizes: Any, groups: Any, given: Any) -> None:
        """Launches with arguments that are converted already: arrays of `size_t` and of `heddle_argument`."""
        address = self._library.heddle_kernel_call(self._handle, len(sizes), sizes, groups, given, len(given))
        if address:
            raise LaunchError(take_text(address) or "")

    def report(self) -> KernelReport:
        """Returns how the kernel was compiled for the launches so far."""
        return KernelReport(self.name, take_text(self._library.heddle_kernel_describe(self._handle)) or "")

    def __repr__(self) -> str:
        return f"<heddle.Kernel {self.name}({', '.join(map(repr, self.parameters))})>"

    def __reduce__(self) -> Any:
        return Kernel, (self.program, self.name)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            self._library.heddle_kernel_free(handle)


__all__ = ["Kernel", "Local", "Parameter", "Strided", "empty", "local", "strided", "LOCAL", "UNSUPPORTED", "VALUE"]
