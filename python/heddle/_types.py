"""OpenCL C's types as NumPy knows them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

SCALARS = {
    "bool": np.dtype(np.bool_),
    "char": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
    "unsigned char": np.dtype(np.uint8),
    "short": np.dtype(np.int16),
    "ushort": np.dtype(np.uint16),
    "unsigned short": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "uint": np.dtype(np.uint32),
    "unsigned int": np.dtype(np.uint32),
    "unsigned": np.dtype(np.uint32),
    "long": np.dtype(np.int64),
    "ulong": np.dtype(np.uint64),
    "unsigned long": np.dtype(np.uint64),
    "size_t": np.dtype(np.uint64),
    "ptrdiff_t": np.dtype(np.int64),
    "intptr_t": np.dtype(np.int64),
    "uintptr_t": np.dtype(np.uint64),
    "half": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


class ElementType(NamedTuple):
    """Scalar type and number of elements of a number or vector in OpenCL C."""

    dtype: np.dtype
    length: int

    @property
    def align(self) -> int:
        """Alignment in memory: vectors of three have that of four."""
        return self.dtype.itemsize * (4 if self.length == 3 else self.length)


def element_type(name: str) -> ElementType | None:
    """Returns the type of a name such as `float4`; none for structures and other types."""
    if name in SCALARS:
        return ElementType(SCALARS[name], 1)
    vector = re.fullmatch(r"([a-z]+)(2|3|4|8|16)", name)
    if vector and vector[1] in SCALARS and vector[1] != "bool":
        return ElementType(SCALARS[vector[1]], int(vector[2]))
    return None
