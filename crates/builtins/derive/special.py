"""Writes the polynomials of erf, erfc and gamma: `python3 derive/special.py > cl/special_coefficients.h`.

Each is the Chebyshev interpolation of a smooth function, so its error is near the least that there is; that error is
printed next to it. The functions come from mpmath.
"""

from struct import pack, unpack

from mpmath import mp, mpf, erf, erfc, exp, gamma, chebyfit, bernoulli, sqrt

mp.dps = 40


def poly(name, about, f, low, high, terms, of=lambda c: float(c).hex()):
    """Coefficients of powers of what runs from low to high, the highest first."""
    coefficients, error = chebyfit(f, [mpf(low), mpf(high)], terms, error=True)
    print(f"// {about}: off by {mp.nstr(error, 2)}.")
    print(f"#define {name}(X) \\")
    lines = [f"  X({of(c)})" for c in coefficients]
    print(" \\\n".join(lines))


def near(square):
    root = sqrt(square)
    return erf(root) / root if square > 0 else 2 / sqrt(mp.pi)


def far(t):
    # t = (x - 3) / (x + 3)
    x = 3 * (1 + t) / (1 - t)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def single(c):
    """A constant of type float."""
    return unpack("f", pack("f", float(c)))[0].hex() + "f"


def far_single(t):
    # t = (x - 3) / (x + 3) = 1 - 6 / (x + 3)
    x = 3 * (1 + t) / (1 - t)
    return (x + 3) * exp(x * x) * erfc(x)


print("// Made by derive/special.py.")
poly("ERF_NEAR", "erf(x) / x of x^2 from 0 to 1", near, 0, 1, 15)
poly("ERFC_FAR", "(1 + 2x) exp(x^2) erfc(x) of (x - 3) / (x + 3), x from 0.5 to 28", far, -0.7143, 0.8065, 26)
poly("ERFC_SINGLE", "(x + 3) exp(x^2) erfc(x) of (x - 3) / (x + 3), x from 0 to 10.1", far_single, -1, 0.542, 11, single)
poly("GAMMA_NEAR", "gamma(1.5 + t), t from -0.5 to 0.5", lambda t: gamma(mpf(1.5) + t), -0.5, 0.5, 26)
print("// The terms of Stirling's series for the logarithm of gamma, the last first.")
print("#define STIRLING(X) \\")
print(" \\\n".join(
    f"  X({float(bernoulli(2 * k) / (2 * k * (2 * k - 1))).hex()})" for k in range(9, 0, -1)
))
