"""The C interface of `libheddle.so` by ctypes. Foreign calls release the GIL."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

# `heddle_kind` of heddle/program.h.
VALUE, MEMORY, LOCAL, UNSUPPORTED = range(4)


class CParameter(ctypes.Structure):
    """`heddle_parameter`."""

    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("qualifiers", c_char_p),
        ("kind", c_uint),
        ("size", c_size_t),
        ("read_only", c_bool),
    ]


class CArgument(ctypes.Structure):
    """`heddle_argument`."""

    _fields_ = [("kind", c_uint), ("memory", c_void_p), ("size", c_size_t)]


# Name, result, parameters.
_FUNCTIONS = [
    ("heddle_version", c_char_p, []),
    ("heddle_program_from_opencl_c", c_void_p, [c_char_p, c_char_p]),
    ("heddle_program_from_spirv", c_void_p, [c_char_p, c_size_t, c_char_p]),
    ("heddle_program_free", None, [c_void_p]),
    ("heddle_program_ok", c_bool, [c_void_p]),
    ("heddle_program_messages", c_char_p, [c_void_p]),
    ("heddle_program_kernel_count", c_size_t, [c_void_p]),
    ("heddle_program_kernel_name", c_char_p, [c_void_p, c_size_t]),
    ("heddle_program_kernel", c_void_p, [c_void_p, c_char_p]),
    ("heddle_kernel_free", None, [c_void_p]),
    ("heddle_kernel_ok", c_bool, [c_void_p]),
    ("heddle_kernel_messages", c_char_p, [c_void_p]),
    ("heddle_kernel_parameter_count", c_size_t, [c_void_p]),
    ("heddle_kernel_parameter", c_bool, [c_void_p, c_size_t, POINTER(CParameter)]),
    # Sizes and arguments are addresses of arrays, which ctypes passes by reference.
    ("heddle_kernel_call", c_void_p, [c_void_p, c_uint, c_void_p, c_void_p, c_void_p, c_size_t]),
    ("heddle_kernel_describe", c_void_p, [c_void_p]),
    ("heddle_text_free", None, [c_void_p]),
    ("heddle_elements_new", c_void_p, [c_void_p, c_void_p, c_size_t]),
    ("heddle_elements_add", None, [c_void_p, c_uint, c_void_p]),
    ("heddle_elements_free", None, [c_void_p]),
    ("heddle_elements_flag", c_void_p, [c_void_p]),
    ("heddle_elements_failure", c_void_p, [c_void_p]),
]


def library_path() -> Path:
    """Returns the path of `libheddle.so`: that of the package, or `HEDDLE_LIBRARY`."""
    return Path(os.environ.get("HEDDLE_LIBRARY") or _PACKAGE / "lib" / "libheddle.so")


def command_path() -> Path:
    """Returns the path of the command `heddle`: that of the package, or `HEDDLE_COMMAND`."""
    return Path(os.environ.get("HEDDLE_COMMAND") or _PACKAGE / "bin" / "heddle")


def include_path() -> Path:
    """Returns the folder with the headers of the C interface."""
    return _PACKAGE / "include"


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Returns the library, loaded once."""
    loaded = ctypes.CDLL(str(library_path()))
    for name, result, parameters in _FUNCTIONS:
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = parameters
    return loaded


def version() -> str:
    """Returns the version of the library."""
    return str(library().heddle_version().decode())


def take_text(address: int | None) -> str | None:
    """Returns a text that the library allocated, and frees it; none for a null pointer."""
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode()
    finally:
        library().heddle_text_free(address)


__all__ = ["CArgument", "CParameter", "c_int", "command_path", "include_path", "library", "library_path", "version"]
