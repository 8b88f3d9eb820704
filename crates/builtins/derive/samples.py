#!/usr/bin/env python3
"""Writes tests/opencl-c/math.txt: true values of mathematical functions of doubles, computed with many digits.

    python3 crates/builtins/derive/samples.py > tests/opencl-c/math.txt

Each line: the function, its arguments as bits (an int in decimal), `=`, the nearest double as bits, and how far the true
value lies above it, in units of 2^-10 of a unit in the last place. Needs mpmath. Special values are in
`special-values.cl`.
"""

import random
import sys
from pathlib import Path
import mpmath
from mpmath import mp, mpf

sys.path.insert(0, str(Path(__file__).parents[2] / "math" / "derive"))
from doubles import bits, nearest

mp.prec = 300
random.seed(17)


def spread(low, high):
    """A number whose exponent is anywhere between."""
    return random.uniform(1, 2) * 2.0 ** random.randint(low, high)


def signed(x):
    return x if random.random() < 0.5 else -x


def any_size(low, high):
    return lambda: (signed(spread(low, high)),)


def between(low, high):
    return lambda: (random.uniform(low, high),)


def either(*ways):
    return lambda: random.choice(ways)()


def steps(f):
    """A function of whole or half turns: the argument is reduced exactly first."""
    return lambda x: f(mpf(x) - 2 * mpmath.nint(mpf(x) / 2))


def root(x, n):
    size = abs(mpf(x)) ** (mpf(1) / n)
    return -size if x < 0 else size


def remainder(x, y):
    quotient = mpmath.nint(mpf(x) / mpf(y))
    return mpf(x) - quotient * mpf(y)


def log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(mpf(x))))


unit = either(between(-1, 1), any_size(-60, -1))
FUNCTIONS = {
    "sinpi": (either(between(-4, 4), any_size(-300, 51)), steps(lambda x: mpmath.sin(mp.pi * x))),
    "cospi": (either(between(-4, 4), any_size(-300, 51)), steps(lambda x: mpmath.cos(mp.pi * x))),
    "tanpi": (either(between(-4, 4), any_size(-300, 40)), steps(lambda x: mpmath.tan(mp.pi * x))),
    "asinpi": (unit, lambda x: mpmath.asin(mpf(x)) / mp.pi),
    "acospi": (unit, lambda x: mpmath.acos(mpf(x)) / mp.pi),
    "atanpi": (any_size(-300, 300), lambda x: mpmath.atan(mpf(x)) / mp.pi),
    "atan2pi": (
        lambda: (signed(spread(-40, 40)), signed(spread(-40, 40))),
        lambda y, x: mpmath.atan2(mpf(y), mpf(x)) / mp.pi,
    ),
    "asinh": (either(any_size(-300, 1000), any_size(-4, 30)), lambda x: mpmath.asinh(mpf(x))),
    "acosh": (
        either(lambda: (spread(0, 1000),), lambda: (1 + spread(-50, 3),)),
        lambda x: mpmath.acosh(mpf(x)),
    ),
    "atanh": (either(unit, lambda: (1 - spread(-50, -3),)), lambda x: mpmath.atanh(mpf(x))),
    "erf": (either(between(-6, 6), any_size(-300, 1)), lambda x: mpmath.erf(mpf(x))),
    "erfc": (either(between(-6, 28), between(-1, 1), any_size(-60, -1)), lambda x: mpmath.erfc(mpf(x))),
    "tgamma": (
        either(between(-180, 180), between(0, 12), between(-4, 4), any_size(-1000, -2)),
        lambda x: mpmath.gamma(mpf(x)),
    ),
    "lgamma": (either(between(-50, 50), lambda: (spread(-30, 300),)), log_gamma),
    "pown": (
        lambda: (signed(spread(-20, 20)), random.randint(-40, 40)),
        lambda x, n: mpf(x) ** n,
    ),
    "rootn": (
        either(
            lambda: (spread(-1070, 1020), random.choice([-7, -3, -2, -1, 1, 2, 3, 4, 5, 17, 64, 65, 999])),
            lambda: (-spread(-1000, 1000), random.choice([-5, -3, 3, 7, 101])),
        ),
        root,
    ),
    "powr": (lambda: (spread(-20, 20), random.uniform(-40, 40)), lambda x, y: mpf(x) ** mpf(y)),
    "rsqrt": (lambda: (spread(-1070, 1020),), lambda x: 1 / mpmath.sqrt(mpf(x))),
    "remainder": (
        either(
            lambda: (signed(spread(-1000, 1000)), signed(spread(-1000, 1000))),
            lambda: (signed(spread(-3, 20)), signed(spread(-3, 3))),
        ),
        remainder,
    ),
}

for name, (sample, function) in FUNCTIONS.items():
    for _ in range(100):
        arguments = sample()
        with mpmath.workprec(2400 if name == "remainder" else 300):
            value = function(*arguments)
        result, missing = nearest(value)
        words = [bits(x) if isinstance(x, float) else str(x) for x in arguments]
        print(name, *words, "=", bits(result), missing)
