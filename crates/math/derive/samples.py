#!/usr/bin/env python3
"""Writes tests/math/f64.txt: true values of the functions of f64.

    python3 crates/math/derive/samples.py > tests/math/f64.txt

Each line: the function, its arguments as bits, `=`, the nearest float as bits, and how far the true value lies above it, in
units of 2^-10 of a unit in the last place. Needs mpmath.
"""

import math
import random
import mpmath
from mpmath import mp, mpf
from doubles import bits, nearest, of

mp.prec = 240


def trig(function):
    def evaluate(x):
        with mpmath.workprec(1400):
            return function(mpf(x))
    return evaluate


SPECIAL = {
    "exp": {-math.inf: 0.0, math.inf: math.inf}, "exp2": {-math.inf: 0.0, math.inf: math.inf},
    "exp10": {-math.inf: 0.0, math.inf: math.inf}, "expm1": {-math.inf: -1.0, math.inf: math.inf},
    "log": {0.0: -math.inf, math.inf: math.inf}, "log2": {0.0: -math.inf, math.inf: math.inf},
    "log10": {0.0: -math.inf, math.inf: math.inf}, "log1p": {-1.0: -math.inf, math.inf: math.inf},
    "sin": {}, "cos": {}, "atan": {}, "asin": {}, "acos": {}, "tan": {},
    "cbrt": {-math.inf: -math.inf, math.inf: math.inf}, "sinh": {-math.inf: -math.inf, math.inf: math.inf},
    "cosh": {-math.inf: math.inf, math.inf: math.inf}, "tanh": {-math.inf: -1.0, math.inf: 1.0},
}
ODD = {"expm1", "log1p", "sin", "atan", "asin", "tan", "cbrt", "sinh", "tanh"}

FUNCTIONS = {
    "exp": (lambda x: mpmath.exp(x), (-745, 709)),
    "exp2": (lambda x: mpf(2) ** mpf(x), (-1074, 1023)),
    "exp10": (lambda x: mpf(10) ** mpf(x), (-323, 308)),
    "expm1": (lambda x: mpmath.expm1(x), (-40, 709)),
    "log": (lambda x: mpmath.log(x), None),
    "log2": (lambda x: mpmath.log(x) / mpmath.log(2), None),
    "log10": (lambda x: mpmath.log(x) / mpmath.log(10), None),
    "log1p": (lambda x: mpmath.log1p(x), None),
    "sin": (trig(mpmath.sin), (-1000, 1000)),
    "cos": (trig(mpmath.cos), (-1000, 1000)),
    "atan": (lambda x: mpmath.atan(x), (-30, 30)),
    "asin": (lambda x: mpmath.asin(x), (-1, 1)),
    "acos": (lambda x: mpmath.acos(x), (-1, 1)),
    "tan": (trig(mpmath.tan), (-1000, 1000)),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), None),
    "sinh": (lambda x: mpmath.sinh(x), (-30, 30)),
    "cosh": (lambda x: mpmath.cosh(x), (-30, 30)),
    "tanh": (lambda x: mpmath.tanh(x), (-2, 2)),
}


def inputs(name, interval):
    chance = random.Random(name)
    edges = [0.0, 1.0, 2.0, 0.5, 5e-324, 2.2250738585072014e-308, 1e-300, 1e-20, 1e-8, 1e300, 1.7976931348623157e308, 1 - 2**-53,
             1 + 2**-52, math.sqrt(2), math.sqrt(0.5), 1048576.0, 1048575.9999, 1e22, math.inf]
    # The floats next to many multiples of pi/2, and the one that comes nearest to one.
    edges += [float(k * mpmath.pi / 2) for k in list(range(1, 25)) + [2**10 + 1, 2**19 + 3, 2**20 - 1, 2**30 + 1, 2**50 + 3]]
    edges += [6381956970095103 * 2.0**797, 709.782712893384, 709.7827128933841, 745.1332191019412, 708.3964185322641]
    yield from edges
    yield from (-x for x in edges)
    yield math.nan
    for _ in range(60):
        yield of(chance.getrandbits(64))
    for _ in range(90):
        yield of(chance.getrandbits(52) | chance.randint(1000, 1045) << 52 | chance.getrandbits(1) << 63)
    if interval:
        for _ in range(120):
            yield chance.uniform(*interval)
    else:
        for _ in range(120):
            yield chance.uniform(0.4, 2.5)


def in_domain(name, x):
    if name in ("log", "log2", "log10"):
        return x > 0
    if name == "log1p":
        return x > -1
    if name in ("asin", "acos"):
        return -1 <= x <= 1
    return True


def line(name, function, x):
    if math.isnan(x):
        result, missing = math.nan, 0
    elif x in SPECIAL[name]:
        result, missing = SPECIAL[name][x], 0
    elif math.isinf(x):
        if name == "atan":
            result, missing = nearest(mpmath.sign(x) * mpmath.pi / 2)
        else:
            result, missing = math.nan, 0
    elif not in_domain(name, x):
        result, missing = math.nan, 0
    elif x == 0 and name in ODD:
        result, missing = x, 0
    elif name in ("exp", "exp2", "exp10", "expm1") and abs(x) > 2000:
        result, missing = (math.inf if x > 0 else -1.0 if name == "expm1" else 0.0), 0
    elif name in ("sinh", "cosh", "tanh") and abs(x) > 2000:
        result, missing = (math.inf if name == "cosh" else math.copysign(1.0 if name == "tanh" else math.inf, x)), 0
    else:
        result, missing = nearest(function(mpf(x)))
        if result == 0 and name in ODD:
            result = math.copysign(0.0, x)
    return f"{name} {bits(x)} = {bits(result)} {missing}"


for name, (function, interval) in FUNCTIONS.items():
    for x in inputs(name, interval):
        print(line(name, function, x))


def power(x, y):
    """x^y where that is a float at all, of numbers that are no edges of C's definition."""
    if x < 0:
        return mpf(x) ** int(y) if y == int(y) else mpmath.nan
    return mpf(x) ** mpf(y)


def pairs(name):
    chance = random.Random(name)
    for _ in range(160):
        if name == "pow":
            x = of(chance.getrandbits(52) | chance.randint(1, 2045) << 52)
            most = 700 / max(abs(math.log(x)), 1e-9)
            yield x, chance.uniform(-most, most) if chance.random() < 0.8 else float(chance.randint(-30, 30))
            x = chance.uniform(0.5, 2)
            yield x, chance.uniform(-1, 1) * 740 / abs(math.log(x))
            yield -x, float(chance.randint(-999, 999))
        else:
            high = of(chance.getrandbits(52) | chance.randint(1, 2045) << 52)
            near = high * chance.uniform(0.01, 100)
            signs = chance.choice((-1, 1)), chance.choice((-1, 1))
            if math.isfinite(near):
                yield signs[0] * high, signs[1] * near
            yield signs[0] * chance.uniform(0, 10), signs[1] * chance.uniform(0, 10)


PAIRS = {
    "pow": power,
    "hypot": lambda x, y: mpmath.sqrt(mpf(x) ** 2 + mpf(y) ** 2),
    "atan2": lambda y, x: mpmath.atan2(mpf(y), mpf(x)),
}

for name, function in PAIRS.items():
    for x, y in pairs(name):
        value = function(x, y)
        result, missing = (math.nan, 0) if mpmath.isnan(value) else nearest(value)
        print(f"{name} {bits(x)} {bits(y)} = {bits(result)} {missing}")

# The rest of a quotient is a float, and the C library's is right: nothing is missing.
chance = random.Random("fmod")
for _ in range(100):
    near = of(chance.getrandbits(52) | chance.randint(1, 2045) << 52)
    for x, y in ((of(chance.getrandbits(64)), of(chance.getrandbits(64))), (near * chance.uniform(-1000, 1000), near),
                 (near * chance.randint(1, 9), near)):
        if math.isfinite(x) and math.isfinite(y) and y != 0:
            print(f"fmod {bits(x)} {bits(y)} = {bits(math.fmod(x, y))} 0")
for x in (0.0, -0.0, 1.0, -3.0, 5e-324, 1.7976931348623157e308):
    print(f"fmod {bits(x)} {bits(math.inf)} = {bits(x)} 0")
    for x, y in ((math.inf, x), (x, 0.0), (x, math.nan), (math.nan, x)):
        print(f"fmod {bits(x)} {bits(y)} = {bits(math.nan)} 0")
