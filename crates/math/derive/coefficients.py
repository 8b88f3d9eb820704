#!/usr/bin/env python3
"""Writes c/coefficients.h: the polynomials and constants of the mathematical functions.

    python3 crates/math/derive/coefficients.py > crates/math/c/coefficients.h

Needs mpmath. Each polynomial becomes a macro that evaluates it; the comment says the error that the approximation itself has,
relative to the function's value.
"""

import sys
from mpmath import (mp, mpf, exp, log, sin, cos, atan, asin, sqrt, pi, expm1, log1p, erf, cbrt, sinh, cosh, nstr, floor,
                    workdps)
from minimax import fit, rounded, hexadecimal

LN2 = log(2)
only = set(sys.argv[1:])


def emit(name, function, weight, interval, powers, bits, fixed=(), refits=3):
    if only and name not in only:
        return
    sys.stderr.write(name + "\n")
    coefficients, error = fit(function, weight, interval, powers, bits, fixed, refits)
    widest = bits if isinstance(bits, int) else max(bits)
    suffix = "f" if widest <= 24 else ""
    step = powers[1] - powers[0] if len(powers) > 1 else 1
    assert all(b - a == step for a, b in zip(powers, powers[1:])), name
    numbers = [hexadecimal(c, suffix) for c in coefficients]
    text = numbers[-1]
    for number in reversed(numbers[:-1]):
        text = f"FMA({text}, z, {number})"
    text = text.replace("FMA", "FMAF" if suffix else "FMA")
    print(f"// {name}: error {nstr(log(error, 2), 4)} as a power of 2")
    print(f"#define {name}(z) {text}")


def constant(name, value, bits, suffix=""):
    """A constant as a float."""
    print(f"#define {name} {hexadecimal(rounded(value, bits), suffix)}")


def parts(name, value, bits, mark, suffix, bias=0):
    """A constant as a sum of floats, each of so many bits. `bias` is added before rounding, in units: with almost -1/2 no part is
    negative."""
    for index, width in enumerate(bits):
        unit = mpf(2) ** (floor(log(abs(value), 2)) - width + 1)
        part = rounded(value + (bias * unit if index < len(bits) - 1 else 0), width)
        print(f"#define {name}_{index}{mark} {hexadecimal(part, suffix)}")
        value -= part


def words(name, count):
    """The bits of 2/pi, as integers of 32 bits."""
    listed = []
    with workdps(count * 10 + 20):
        value = 2 / pi
        for _ in range(count):
            value = value * 2**32
            listed.append("0x%08xu" % int(floor(value)))
            value -= floor(value)
    print(f"#define {name} {', '.join(listed)}")


def near_zero(function, limit):
    """`function` where it is not 0/0, its limit at 0."""
    return lambda x: function(x) if x != 0 else mpf(limit)


mp.dps = 50
print("// Made by derive/coefficients.py. Polynomials for Horner's rule, lowest power last; `_F` is of f32.")
half = LN2 / 2 * (1 + mpf(2) ** -12)
tenth = half / log(10)
near_quarter_turn = (pi / 2 * (1 + mpf(2) ** -10)) ** 2
quarter = (pi / 4 * (1 + mpf(2) ** -10)) ** 2
root = (sqrt(mpf(2)) / 2 - 1 - mpf(2) ** -20, sqrt(mpf(2)) - 1 + mpf(2) ** -20)
words("TWO_OVER_PI_WORDS_F", 7)
words("TWO_OVER_PI_WORDS", 43)
parts("HALF_PI_OVER_2_64", pi / 2**65, [53, 53], "", "")

# Both types: bits, what names end in, what literals end in, bits of the first part of log 2, bits of the second part of
# pi/2 (their products with whole numbers are exact), and how many coefficients. `QUICK` is of the forms within four units.
for bits, mark, suffix, ln2_bits, pi_bits, exps, logs, sins, atans, asins, sinhs, coshs, quick_sins, tanhs in (
    (24, "_F", "f", 15, 14, 5, 9, 3, 10, 5, 3, 3, 4, 5),
    (53, "", "", 40, 33, 10, 20, 6, 20, 12, 5, 6, 8, 10),
):
    constant("HALF_LN2" + mark, LN2 / 2, bits, suffix)
    constant("TWICE_LOG2E" + mark, 2 / LN2, bits, suffix)
    constant("LN2" + mark, LN2, bits, suffix)
    constant("PER_PI" + mark, 1 / pi, bits, suffix)
    # The products of all parts with 0 have one sign, so -0 stays.
    parts("PI", pi, [bits, pi_bits, bits], mark, suffix, mpf(-0.499))
    constant("LOG2E" + mark, 1 / LN2, bits, suffix)
    constant("LOG2_10" + mark, log(10) / LN2, bits, suffix)
    parts("LN2", LN2, [ln2_bits, bits], mark, suffix)
    parts("LOG10_2", LN2 / log(10), [ln2_bits, bits], mark, suffix)
    parts("LOG2E_SPLIT", 1 / LN2, [bits, bits], mark, suffix)
    parts("LOG10E_SPLIT", 1 / log(10), [bits, bits], mark, suffix)
    constant("TWO_OVER_PI" + mark, 2 / pi, bits, suffix)
    parts("HALF_PI", pi / 2, [bits, pi_bits, bits], mark, suffix)
    parts("PI_SPLIT", pi, [bits, bits], mark, suffix)
    parts("RIGHT_ANGLE", pi / 2, [bits, bits], mark, suffix)
    # e^r = 1 + r + r^2 z
    emit("EXP_POLY" + mark, near_zero(lambda r: (expm1(r) - r) / r**2, 0.5), lambda r: r**2 / exp(r), (-half, half),
         range(exps), bits)
    # (e^2h - 1) / 2 = h + h^2 z
    emit("TANH_QUICK" + mark, near_zero(lambda h: (expm1(2 * h) / 2 - h) / h**2, 1), near_zero(lambda h: h**2 / (expm1(2 * h) / 2), 0),
         (-half / 2, half / 2), range(tanhs), bits)
    # 2^r = 1 + r z
    emit("EXP2_POLY" + mark, near_zero(lambda r: expm1(r * LN2) / r, LN2), lambda r: r / mpf(2)**r, (-0.5001, 0.5001),
         range(exps + 1), bits)
    # 10^r = 1 + r z
    emit("EXP10_POLY" + mark, near_zero(lambda r: expm1(r * log(10)) / r, log(10)), lambda r: r / mpf(10)**r, (-tenth, tenth),
         range(exps + 1), bits)
    # log(1 + f) = f + f^2 z
    emit("LOG_POLY" + mark, near_zero(lambda f: (log1p(f) - f) / f**2, -0.5), near_zero(lambda f: f**2 / log1p(f), 0), root,
         range(logs), bits)
    # sin r = r + r^3 z(r^2), cos r = 1 - r^2/2 + r^4 z(r^2)
    emit("SIN_POLY" + mark, lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z * sqrt(z) / sin(sqrt(z)), (0, quarter),
         range(sins), bits)
    emit("COS_POLY" + mark, lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2 / cos(sqrt(z)), (0, quarter),
         range(sins), bits)
    # sin r = r (1 + r^2 z(r^2)), up to a quarter turn, where it is less by so much that no result exceeds 1.
    less = mpf(2) ** -(bits + mpf(2) / 5) / (pi / 2) ** 4
    emit("SIN_QUICK" + mark, lambda z: (sin(sqrt(z)) / sqrt(z) * (1 - less * z**2) - 1) / z,
         lambda z: z * sqrt(z) / sin(sqrt(z)), (0, near_quarter_turn), range(quick_sins), bits)
    # atan q = q + q^3 z(q^2), asin x = x + x^3 z(x^2)
    emit("ATAN_POLY" + mark, lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z * sqrt(z) / atan(sqrt(z)), (0, 1),
         range(atans), bits)
    emit("ASIN_POLY" + mark, lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z * sqrt(z) / asin(sqrt(z)), (0, 0.25),
         range(asins), bits)
    # sinh r = r + r^3 z(r^2), cosh r = 1 + r^2 z(r^2)
    emit("SINH_POLY" + mark, lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, (0, half**2), range(sinhs), bits)
    emit("COSH_POLY" + mark, lambda z: (cosh(sqrt(z)) - 1) / z, lambda z: z, (0, half**2), range(coshs), bits)

# f32.
emit("LOG_QUICK_F", near_zero(lambda f: (log1p(f) - f) / f**2, -0.5), near_zero(lambda f: f**2 / log1p(f), 0), root, range(8), 24)
emit("ATAN_QUICK_F", lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z * sqrt(z) / atan(sqrt(z)), (0, 1), range(8), 24,
     refits=4)
# log((1 + s) / (1 - s)) = 2 s + s^3 z(s^2)
ratio = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1) * (1 + mpf(2) ** -20)) ** 2
emit("LOG_TAIL_F", lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z, lambda z: z / 2, (mpf(10) ** -9, ratio),
     range(4), 24)
# (1 - h)^(-1/3) = 1 + h z(h); the bits of CBRT_GUESS less a third of those of x are x^(-1/3) with |h| up to 0.103.
emit("CBRT_STEP_F", near_zero(lambda h: ((1 - h) ** (-mpf(1) / 3) - 1) / h, mpf(1) / 3), lambda h: h * (1 - h) ** (mpf(1) / 3),
     (mpf(-0.1012), mpf(0.1027)), range(3), 24)
constant("CBRT_GUESS_F", mpf(0x54A1E9B4), 24, "f")
constant("THIRD_F", mpf(1) / 3, 24, "f")

# f32, evaluated in f64.
# log2(1 + f) = f z
emit("LOG2_33", near_zero(lambda f: log1p(f) / LN2 / f, 1 / LN2), near_zero(lambda f: f * LN2 / log1p(f), LN2), root,
     range(12), 53)
# erf x = x z(x^2) up to 1, and z(x - 2.5) from there to 4.
emit("ERF_30", lambda z: erf(sqrt(z)) / sqrt(z), lambda z: sqrt(z) / erf(sqrt(z)), (0, 1), range(7), 53)
emit("ERF_TAIL", lambda x: erf(x + 2 + mpf(1) / 2), lambda x: 1, (-1.5, 1.5), range(17), 53)

# f64.
# log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + s^2 z(s^2))
parts("TWO_THIRDS", mpf(2) / 3, [53, 53], "", "")
emit("LOG_RATIO", lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2 - 2 * z / 3) / z**2, lambda z: z**2 / 2,
     (0, ratio), range(8), 53)
# m^(-1/3) from 1 to 2, in m - 1.5.
middle = mpf(3) / 2
emit("INVERSE_CBRT", lambda x: 1 / cbrt(x + middle), lambda x: cbrt(x + middle), (-0.5, 0.5), range(9), 53)
constant("INVERSE_CBRT_2", 1 / cbrt(mpf(2)), 53)
constant("INVERSE_CBRT_4", 1 / cbrt(mpf(4)), 53)
constant("THIRD", mpf(1) / 3, 53)
