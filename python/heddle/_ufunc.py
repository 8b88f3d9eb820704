"""Functions of numbers, written for one element, as calls over arrays.

A call launches one work-item per element. Arrays of one shape without gaps, and numbers, go through a ufunc of NumPy
(`_loop`), which costs least per call. All others are broadcast here, and launched in up to three dimensions. The kernel
around the function is generated for the layout of the arguments: `v` a number, `c` consecutive elements along the
innermost dimension, `b` one element for all of that dimension, `s` elements with gaps.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from typing import Any, Literal, NamedTuple

import numpy as np

from ._errors import BuildError, LaunchError
from ._kernel import Kernel, as_array
from ._library import MEMORY, VALUE
from ._loop import Loop
from ._program import Program
from ._types import SCALARS

_DEFINITION = re.compile(r"([A-Za-z_][\w\s]*?)\b(\w+)\s*\(([^()]*)\)\s*\{")
_SPECIFIERS = {"static", "inline", "extern", "const", "__attribute__"}
_DIMENSIONS = 3
Accuracy = Literal["fast", "exact"]
_ACCURACIES = ("fast", "exact")
_ARRAY = np.ndarray
# Number of plans that a function remembers.
_MOST_PLANS = 256


class Signature(NamedTuple):
    """Function of numbers: its name, the type of its result, types and names of its parameters."""

    name: str
    result: str
    types: tuple[str, ...]
    names: tuple[str, ...]


def _type_of(words: list[str]) -> str:
    return " ".join(word for word in words if word not in _SPECIFIERS)


def _depth_zero(source: str) -> str:
    """Returns the source without comments and without the bodies of functions."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    source = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", source, flags=re.M)
    kept, depth = [], 0
    for letter in source:
        depth -= letter == "}"
        if depth == 0:
            kept.append(";" if letter == "}" else letter)
        depth += letter == "{"
    return "".join(kept)


def parse_signature(source: str, name: str | None) -> Signature:
    """Returns the signature of a function of the source: the last one, or the one of this name."""
    if not isinstance(source, str):
        raise TypeError(f"a function is OpenCL C in a string, found {type(source).__name__}")
    found = None
    for result, function, parameters in _DEFINITION.findall(_depth_zero(source)):
        if name is None or function == name:
            found = (result, function, parameters)
    if found is None:
        raise BuildError(
            f"error: no definition of a function{f' `{name}`' if name else ''} in the source\n"
            "help: write a whole function of OpenCL C, as in float f(float x) { return 2 * x; }"
        )
    result, function, parameters = found
    types, names = [], []
    for parameter in filter(None, map(str.strip, parameters.split(","))):
        *words, last = parameter.split()
        if "*" in parameter or "[" in parameter:
            raise BuildError(
                f"error: `{function}` cannot be called over arrays: its parameter `{parameter}` is a pointer\n"
                "help: take the number of one element, or write a kernel and use heddle.Program"
            )
        if not _type_of(words) and last != "void":
            raise BuildError(f"error: the parameter `{last}` of `{function}` has no type or no name")
        types.append(_type_of(words))
        names.append(last)
    if names == ["void"]:
        types, names = [], []
    for type_name in (_type_of(result.split()), *types):
        if type_name not in SCALARS or type_name == "bool":
            kept = "take and return numbers, or write a kernel and use heddle.Program"
            help_text = "uchar has the numbers 0 and 1" if type_name == "bool" else kept
            raise BuildError(f"error: `{function}` cannot be called over arrays: `{type_name}` is no number\nhelp: {help_text}")
    return Signature(function, _type_of(result.split()), tuple(types), tuple(names))


def _kernel_source(source: str, signature: Signature, layout: str) -> str:
    """Returns the source with a kernel around its function, for arguments of this layout."""
    parameters, values = [], []
    for index, (kind, type_name) in enumerate(zip(layout, signature.types)):
        if kind == "v":
            parameters.append(f"{type_name} a{index}")
            values.append(f"a{index}")
            continue
        parameters.append(f"global const {type_name} *a{index}, long m{index}, long n{index}")
        inner = {"c": " + x", "b": "", "s": f" + x * s{index}"}[kind]
        if kind == "s":
            parameters.append(f"long s{index}")
        values.append(f"a{index}[y * m{index} + z * n{index}{inner}]")
    parameters.append(f"global {signature.result} *out, long m, long n, long s")
    step = "x" if layout.endswith("c!") else "x * s"
    # The kernel's name must not be one of the source.
    return f"""{source}
kernel void heddle_elements({", ".join(parameters)}) {{
    long x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[y * m + z * n + {step}] = {signature.name}({", ".join(values)});
}}
"""


def _loop_source(source: str, signature: Signature, layout: int) -> str:
    """Returns the source with a kernel for consecutive elements; inputs with a bit in the layout are values."""
    parameters, values = [], []
    for index, type_name in enumerate(signature.types):
        is_value = layout >> index & 1
        parameters.append(f"{type_name} a{index}" if is_value else f"global const {type_name} *a{index}")
        values.append(f"a{index}" if is_value else f"a{index}[x]")
    parameters.append(f"global {signature.result} *out")
    return f"""{source}
kernel void heddle_elements({", ".join(parameters)}) {{
    size_t x = get_global_id(0);
    out[x] = {signature.name}({", ".join(values)});
}}
"""


class LaunchPlan(NamedTuple):
    """Launches for arguments of some shapes and strides."""

    kernel: Kernel
    global_size: Any
    # Arguments with all numbers of the layout, which `numbers` holds; addresses are filled in by a call.
    template: Any
    numbers: list[Any]
    # Argument that takes the address of each operand.
    slots: list[int]
    # Bytes from each operand's address, for each launch.
    offsets: list[list[int]]

    def run(self, operands: list[np.ndarray]) -> None:
        """Launches the kernel for operands of the plan's layout."""
        addresses = [operand.__array_interface__["data"][0] for operand in operands]
        for offsets in self.offsets:
            given = type(self.template).from_buffer_copy(self.template)
            for slot, address, offset in zip(self.slots, addresses, offsets):
                given[slot].memory = address + offset
            self.kernel.launch_raw(self.global_size, None, given)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the shape that all broadcast to; quickly where they are equal but for numbers."""
    known = {shape for shape in shapes if shape}
    if len(known) > 1:
        return np.broadcast_shapes(*shapes)
    return known.pop() if known else ()


def _coalesce(shape: tuple[int, ...], strides: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Drops dimensions of one element, and joins neighbours that all operands cross without a gap."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dimension in range(len(shape)):
        size = shape[dimension]
        if size == 1:
            continue
        own = [stride[dimension] for stride in strides]
        if sizes and all(known[-1] == step * size for known, step in zip(steps, own)):
            sizes[-1] *= size
            for known, step in zip(steps, own):
                known[-1] = step
            continue
        sizes.append(size)
        for known, step in zip(steps, own):
            known.append(step)
    if not sizes:
        return [1], [[0] for _ in strides]
    return sizes, steps


class Ufunc:
    """A function of numbers that is called with arrays: `f(x, y, out=None)`.

    Arguments broadcast and are converted as by NumPy's ufuncs (`same_kind`); arrays of the declared types are not copied.
    A call uses all threads of Heddle. Attributes as of a ufunc: `nin`, `nout`, `types`, `__name__`. Pickles as its source.
    """

    nout = 1

    def __init__(self, source: str, name: str | None = None, options: str = "", accuracy: Accuracy = "fast") -> None:
        if accuracy not in _ACCURACIES:
            raise ValueError(f"unknown accuracy {accuracy!r}: write 'fast' or 'exact'")
        self.source = source
        self.options = options
        self.accuracy = accuracy
        # After the options of the caller: the last one counts.
        self._build_options = f"{options} -heddle-math={accuracy}"
        self.signature = parse_signature(source, name)
        self.__name__ = self.signature.name
        self.__doc__ = f"{self.signature.name}({', '.join(self.signature.names)}, out=None)"
        self.nin = len(self.signature.types)
        self._dtypes = [SCALARS[type_name] for type_name in self.signature.types]
        self._result = SCALARS[self.signature.result]
        self.types = [f"{''.join(dtype.char for dtype in self._dtypes)}->{self._result.char}"]
        self._kernels: dict[str, Kernel] = {}
        self._plans: dict[Any, LaunchPlan] = {}
        # Mistakes in the source are reported here rather than by the first call.
        self._loop = Loop(self.__name__, self.__doc__, [*self._dtypes, self._result], self._loop_kernel)
        self._ufunc = self._loop.ufunc
        self._failed = self._loop.failed
        self._layouts = {0}
        # Number of inputs of calls that may go to NumPy's ufunc.
        self._dense = self.nin if self._ufunc is not None else -1
        # NumPy takes a Python number next to arrays of integers for a 64-bit one.
        self._is_mixed = len({dtype.kind for dtype in self._dtypes}) > 1
        self._accepted = [(dtype, (int, float) if dtype.kind == "f" else (int,)) for dtype in self._dtypes]

    def _loop_kernel(self, layout: int) -> Kernel:
        return Program(_loop_source(self.source, self.signature, layout), self._build_options).kernel("heddle_elements")

    def _kernel(self, layout: str) -> Kernel:
        kernel = self._kernels.get(layout)
        if kernel is None:
            program = Program(_kernel_source(self.source, self.signature, layout), self._build_options)
            kernel = self._kernels[layout] = program.kernel("heddle_elements")
        return kernel

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Returns the function's results for the elements of the broadcast arguments."""
        # Dense arrays of one shape take the shortest way, written out: on small ones checks cost as much as the launch.
        if len(inputs) == 2 == self._dense:
            x, y = inputs
            dtypes = self._dtypes
            if type(x) is _ARRAY and type(y) is _ARRAY and x.dtype is dtypes[0] and y.dtype is dtypes[1]:
                shape = x.shape
                is_dense = shape == y.shape and x.flags.c_contiguous and y.flags.c_contiguous
                if is_dense and (out is None or self._takes(out, shape)):
                    found = self._ufunc(x, y) if out is None else self._ufunc(x, y, out)
                    if self._failed.value:
                        self._loop.raise_failure()
                    return found
        elif len(inputs) == 1 == self._dense:
            (x,) = inputs
            if type(x) is _ARRAY and x.dtype is self._dtypes[0] and x.flags.c_contiguous and (out is None or self._takes(out, x.shape)):
                found = self._ufunc(x) if out is None else self._ufunc(x, out)
                if self._failed.value:
                    self._loop.raise_failure()
                return found
        return self._call_general(inputs, out)

    def _call_general(self, inputs: tuple[Any, ...], out: Any) -> Any:
        layout = self._dense_layout(inputs, out)
        if layout is not None:
            if layout not in self._layouts:
                self._layouts.add(layout)
                self._loop.prepare(layout)
            if layout and self._is_mixed:
                inputs = tuple(it if type(it) is _ARRAY else dtype.type(it) for it, dtype in zip(inputs, self._dtypes))
            found = self._ufunc(*inputs) if out is None else self._ufunc(*inputs, out)
            if self._failed.value:
                self._loop.raise_failure()
            return found
        if len(inputs) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arguments, found {len(inputs)}")
        arrays = [self._input(given, dtype) for given, dtype in zip(inputs, self._dtypes)]
        if isinstance(out, tuple):
            (out,) = out
        shape = _broadcast([array.shape for array in arrays] + ([] if out is None else [out.shape]))
        if out is not None and out.shape != shape:
            raise ValueError(f"out has the shape {out.shape}, and the result {shape}")
        target = self._target(out, shape, arrays)
        if target.size:
            if target is out:
                arrays = [self._apart(array, target) for array in arrays]
            self._launch(arrays, target)
        if out is None:
            return target[()] if shape == () else target
        if target is not out:
            np.copyto(out, target, casting="same_kind")
        return out

    def _dense_layout(self, inputs: tuple[Any, ...], out: Any) -> int | None:
        """Returns which inputs are numbers if all others, and `out`, are arrays of one shape without gaps, of the declared types."""
        if self._ufunc is None or len(inputs) != self.nin:
            return None
        shape, layout, bit = None, 0, 1
        for given, (dtype, numbers) in zip(inputs, self._accepted):
            if type(given) is _ARRAY:
                if given.dtype is not dtype or not given.flags.c_contiguous:
                    return None
                if shape is None:
                    shape = given.shape
                elif shape != given.shape:
                    return None
            elif type(given) in numbers:
                layout |= bit
            else:
                return None
            bit <<= 1
        if out is None:
            return None if shape is None else layout
        return layout if self._takes(out, shape) else None

    def _takes(self, out: Any, shape: tuple[int, ...] | None) -> bool:
        """True if `out` is a dense array of this shape and of the declared type."""
        return type(out) is _ARRAY and out.dtype is self._result and out.shape == shape and out.flags.carray

    def _input(self, given: Any, dtype: np.dtype) -> np.ndarray:
        array = given if isinstance(given, np.ndarray) else self._convert(given, dtype)
        if array.dtype == dtype:
            if array.flags.c_contiguous and array.flags.aligned:
                return array
            aligned = array.flags.aligned and not any(step % dtype.itemsize for step in array.strides)
            return array if aligned else np.array(array)
        if not np.can_cast(array.dtype, dtype, "same_kind"):
            raise TypeError(f"{self.__name__}(): cannot convert {array.dtype} to {dtype}")
        return array.astype(dtype)

    @staticmethod
    def _convert(given: Any, dtype: np.dtype) -> np.ndarray:
        if isinstance(given, (bool, int, float)) and not (isinstance(given, float) and dtype.kind in "iu"):
            return np.asarray(given, dtype)
        return as_array(given) if hasattr(given, "__dlpack__") else np.asarray(given)

    def _target(self, out: Any, shape: tuple[int, ...], arrays: list[np.ndarray]) -> np.ndarray:
        """Returns the array that the kernel writes: `out` itself, or one that is copied into it."""
        if out is None:
            order: Literal["F", "C"] = "F" if arrays and all(a.flags.fnc for a in arrays if a.shape == shape and a.ndim > 1) else "C"
            is_plain = not any(a.shape == shape and a.ndim > 1 for a in arrays)
            empty: np.ndarray = np.empty(shape, self._result, "C" if is_plain else order)
            return empty
        if not isinstance(out, np.ndarray) or not out.flags.writeable:
            raise ValueError("out must be an array that can be written")
        if not np.can_cast(self._result, out.dtype, "same_kind"):
            raise TypeError(f"{self.__name__}(): cannot convert {self._result} to {out.dtype}")
        fits = out.dtype == self._result and out.dtype.isnative and out.flags.aligned
        return out if fits and not any(step % out.itemsize for step in out.strides) else np.empty(shape, self._result)

    @staticmethod
    def _apart(array: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns a copy where the target overlaps an argument other than element by element."""
        if not np.may_share_memory(array, target):
            return array
        same = array.__array_interface__["data"] == target.__array_interface__["data"]
        is_same = same and array.shape == target.shape and array.strides == target.strides
        return array if is_same else array.copy()

    def _launch(self, arrays: list[np.ndarray], target: np.ndarray) -> None:
        operands = [*arrays, target]
        key = tuple((operand.shape, operand.strides) for operand in operands)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(arrays, target)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        plan.run(operands)

    def _plan(self, arrays: list[np.ndarray], target: np.ndarray) -> LaunchPlan:
        shape = target.shape
        spread = [array for array in arrays if array.size != 1]
        strides = []
        for array in (*spread, target):
            in_bytes = np.broadcast_to(array, shape).strides if array is not target else target.strides
            strides.append([step // array.itemsize for step in in_bytes])
        if target.flags.fnc:
            shape = shape[::-1]
            strides = [own[::-1] for own in strides]
        sizes, steps = _coalesce(shape, strides)
        outer = len(sizes) - min(len(sizes), _DIMENSIONS)
        inner = sizes[outer:][::-1]
        inner_steps = [step[outer:][::-1] for step in steps]
        layout, kinds = "", iter(inner_steps)
        for array in arrays:
            layout += "v" if array.size == 1 else {1: "c", 0: "b"}.get(next(kinds)[0], "s")
        layout += "c!" if inner_steps[-1][0] == 1 or inner == [1] else "s!"
        kernel = self._kernel(layout)
        template = kernel._arguments()
        numbers, slots = self._fill(template, layout, arrays, inner_steps)
        offsets = []
        for index in itertools.product(*map(range, sizes[:outer])):
            starts = iter([sum(i * s for i, s in zip(index, step)) for step in steps])
            of_inputs = [0 if array.size == 1 else next(starts) * array.itemsize for array in arrays]
            offsets.append([*of_inputs, next(starts) * target.itemsize])
        return LaunchPlan(kernel, (ctypes.c_size_t * len(inner))(*inner), template, numbers, slots, offsets)

    @staticmethod
    def _fill(template: Any, layout: str, arrays: list[np.ndarray], steps: list[list[int]]) -> tuple[list[Any], list[int]]:
        """Fills in all arguments but addresses; returns what holds the numbers, and the places of the addresses."""
        numbers: list[Any] = []
        places: list[int] = []
        slots = iter(range(len(template)))

        def memory(step: list[int], with_inner: bool) -> None:
            place = next(slots)
            places.append(place)
            template[place].kind = MEMORY
            rows = step[1:] + [0, 0]
            for value in [rows[0], rows[1], *([step[0]] if with_inner else [])]:
                numbers.append(ctypes.c_int64(value))
                slot = template[next(slots)]
                slot.kind, slot.memory, slot.size = VALUE, ctypes.addressof(numbers[-1]), 8

        spread = iter(steps)
        for kind, array in zip(layout, arrays):
            if kind == "v":
                places.append(next(slots))
                template[places[-1]].kind, template[places[-1]].size = VALUE, array.itemsize
            else:
                memory(next(spread), kind == "s")
        memory(steps[-1], True)
        return numbers, places

    def report(self) -> Any:
        """Returns how the kernels of the calls so far were compiled."""
        from ._report import KernelReport

        kernels = [("dense", kernel) for kernel in self._loop.kernels] + list(self._kernels.items())
        parts = [f"layout {layout}\n{kernel.report().text}" for layout, kernel in kernels]
        return KernelReport(self.__name__, "".join(parts))

    def __repr__(self) -> str:
        return f"<heddle.Ufunc {self.__name__}: {self.types[0]}>"

    def __reduce__(self) -> Any:
        return vectorize, (self.source, self.__name__, self.options, self.accuracy)


def vectorize(source: str, name: str | None = None, options: str = "", accuracy: Accuracy = "fast") -> Ufunc:
    """Returns a function of OpenCL C, of numbers, as a call over arrays.

    The source may define several functions: `name` selects one, by default the last. `options` are those of
    `clBuildProgram`, such as `-cl-fast-relaxed-math`. All functions of OpenCL C are there: `exp`, `fma`, `popcount`, …

    `accuracy` is that of mathematical functions such as `exp` and `pow`, in units in the last place: at most four with
    "fast", as NumPy's own, and at most one with "exact", which takes up to three times as long.
    """
    return Ufunc(source, name, options, accuracy)


__all__ = ["LaunchError", "Ufunc", "vectorize"]
