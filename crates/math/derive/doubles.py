"""Doubles and their bits, for the scripts that write true values of functions. Needs mpmath."""

import math
import struct
import mpmath
from mpmath import mpf


def bits(x):
    """The bits of a double, in hexadecimal."""
    return "%016x" % struct.unpack("<Q", struct.pack("<d", x))[0]


def of(word):
    """The double with these bits."""
    return struct.unpack("<d", struct.pack("<Q", word))[0]


def nearest(y):
    """The double nearest to a number, and what is missing to it, in units of 2^-10 of a unit in the last place."""
    if y == 0:
        return 0.0, 0
    exponent = max(int(mpmath.floor(mpmath.log(abs(y), 2))), -1022)
    # The logarithm may be off by one next to a power of 2.
    while mpf(2) ** (exponent + 1) <= abs(y):
        exponent += 1
    while exponent > -1022 and mpf(2) ** exponent > abs(y):
        exponent -= 1
    if exponent > 1023:
        return math.copysign(math.inf, y), 0
    unit = mpf(2) ** (exponent - 52)
    whole = mpmath.nint(y / unit)
    try:
        result = math.ldexp(int(whole), exponent - 52)
    except OverflowError:
        return math.copysign(math.inf, y), 0
    return result, int(mpmath.nint((y / unit - whole) * 1024))
