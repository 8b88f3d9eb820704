"""Twenty functions over arrays: heddle.vectorize against NumPy, numexpr and Numba's @vectorize.

usage: bench_ufuncs.py [THREADS]. Times are the best of interleaved rounds: of the processor for one thread, so that other work on the
machine counts little, of the clock for more. The last lines are geometric means of ratios. A wrong result ends it with an error.
"""

import math
import os
import re
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
os.environ.update(HEDDLE_THREADS=str(THREADS), NUMBA_NUM_THREADS=str(THREADS), NUMEXPR_NUM_THREADS=str(THREADS), OMP_NUM_THREADS="1")

import heddle  # noqa: E402
import numba  # noqa: E402
import numexpr  # noqa: E402
import numpy as np  # noqa: E402

# Name, parameters, OpenCL C, NumPy, Python for Numba (none: NumPy's text with math), numexpr (none: NumPy's text).
FUNCTIONS = [
    ("axpy", "2.5f * x + y", "np.float32(2.5) * x + y", None, "a * x + y"),
    ("hypot", "sqrt(x * x + y * y)", "np.sqrt(x * x + y * y)", None, "sqrt(x * x + y * y)"),
    ("exp", "exp(x)", "np.exp(x)", None, "exp(x)"),
    ("log", "log(x)", "np.log(x)", None, "log(x)"),
    ("sin", "sin(x)", "np.sin(x)", None, "sin(x)"),
    ("tanh", "tanh(x)", "np.tanh(x)", None, "tanh(x)"),
    ("atan2", "atan2(y, x)", "np.arctan2(y, x)", "math.atan2(y, x)", "arctan2(y, x)"),
    ("pow", "pow(x, y)", "np.power(x, y)", "x ** y", "x ** y"),
    ("logistic", "1 / (1 + exp(-x))", "1 / (1 + np.exp(-x))", None, "1 / (1 + exp(-x))"),
    ("gauss", "exp(-0.5f * x * x) * 0.39894228f", "np.exp(np.float32(-0.5) * x * x) * np.float32(0.39894228)", None, "exp(h * x * x) * g"),
    ("softplus", "log1p(exp(x))", "np.log1p(np.exp(x))", None, "log1p(exp(x))"),
    ("poly", "((x * 0.3f + 0.2f) * x - 0.7f) * x + y", "((x * np.float32(0.3) + np.float32(0.2)) * x - np.float32(0.7)) * x + y", None, None),
    ("clamp", "fmin(fmax(x * 3 - y, 0.0f), 1.0f)", "np.minimum(np.maximum(x * np.float32(3) - y, np.float32(0)), np.float32(1))", "min(max(x * np.float32(3) - y, np.float32(0)), np.float32(1))", None),
    ("select", "x > y ? x * x : y + x", "np.where(x > y, x * x, y + x)", "x * x if x > y else y + x", "where(x > y, x * x, y + x)"),
    ("relu", "x > 0 ? x : 0.01f * x", "np.where(x > 0, x, np.float32(0.01) * x)", "x if x > 0 else np.float32(0.01) * x", None),
    ("floor", "x - floor(x)", "x - np.floor(x)", None, None),
    ("cbrt", "cbrt(x)", "np.cbrt(x)", None, None),
    ("spiral", "sin(x) * exp(-y) + cos(y)", "np.sin(x) * np.exp(-y) + np.cos(y)", None, "sin(x) * exp(-y) + cos(y)"),
    ("ratio", "(x - y) / (x + y)", "(x - y) / (x + y)", None, "(x - y) / (x + y)"),
    ("distance", "rsqrt(x * x + y * y + 0.01f)", "1 / np.sqrt(x * x + y * y + np.float32(0.01))", None, None),
]
# Elements; the three arrays of the first have 192 KB, of the second 1.5 MB.
SIZES = {"in cache": 1 << 14, "in L2": 1 << 17, "beyond": 1 << 23}
# Units in the last place that docs/math.md and docs/howto/python.md promise for functions of the library.
STATED = {"exp": 1, "log": 4, "sin": 4, "tanh": 4, "atan2": 4, "pow": 4, "cbrt": 1}
AIMS = {"numpy": 3, "numba": 1.2}
CLOCK = time.process_time if THREADS == 1 else time.perf_counter


def compile_numba(text):
    """Returns the function as a ufunc of Numba."""
    target = {"target": "parallel"} if THREADS > 1 else {}
    names = {"np": np, "math": math}
    source = f"lambda x, y: np.float32({text})"
    try:
        return numba.vectorize(["float32(float32, float32)"], fastmath=False, **target)(eval(source, names))
    except Exception as reason:  # Numba lacks a function.
        print(f"numba refuses {text}: {str(reason).splitlines()[0]}", file=sys.stderr)
        return None


def best(calls, repeats, inner):
    """Returns the best time of each call, in interleaved rounds of some calls each."""
    times = {name: math.inf for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = CLOCK()
            for _ in range(inner):
                call()
            times[name] = min(times[name], (CLOCK() - start) / inner)
    return times


def check(name, found, wanted):
    """Returns the largest error in units of the last place; ends the program if it is more than promised."""
    error = np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(np.float32))
    # Expressions whose terms cancel have no bound in units of their result.
    fits = error.max() <= STATED[name] if name in STATED else np.allclose(found, wanted, rtol=1e-5, atol=1e-5)
    if not fits:
        sys.exit(f"{name}: wrong by {error.max():.1f} ULP")
    return error.max()


def main():
    """Prints a line per function and size."""
    ratios = {}
    for where, size in SIZES.items():
        random = np.random.default_rng(1)
        x = random.uniform(0.1, 2, size).astype(np.float32)
        y = random.uniform(0.1, 2, size).astype(np.float32)
        out = np.empty_like(x)
        for name, source, in_numpy, in_python, in_numexpr in FUNCTIONS:
            f = heddle.vectorize(f"float {name}_(float x, float y) {{ return {source}; }}")
            g = compile_numba(in_python or in_numpy)
            # The outermost function of NumPy writes into `out`, where the text is one call.
            is_call = re.fullmatch(r"np\.\w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", in_numpy) and not in_numpy.startswith("np.where")
            by_numpy = compile(f"{in_numpy[:-1]}, out=out)" if is_call else f"out[...] = {in_numpy}", "numpy", "exec")
            names = {"np": np, "x": x, "y": y, "out": out}
            calls = {"heddle": lambda: f(x, y, out=out), "numpy": lambda: exec(by_numpy, names)}
            if g is not None:
                calls["numba"] = lambda: g(x, y, out=out)
            if in_numexpr:
                more = {"x": x, "y": y, "a": np.float32(2.5), "h": np.float32(-0.5), "g": np.float32(0.39894228)}
                calls["numexpr"] = lambda: numexpr.evaluate(in_numexpr, more, out=out)
            # Run-time selection needs some launches.
            for _ in range(30 if size < 1 << 20 else 10):
                f(x, y, out=out)
            wanted = eval(in_numpy, {"np": np, "x": x.astype(np.float64), "y": y.astype(np.float64)})
            error = check(name, f(x, y), wanted)
            times = best(calls, *((40, 20) if size < 1 << 16 else (40, 3) if size < 1 << 20 else (9, 1)))
            line = "  ".join(f"{other} {seconds * 1e6:9.1f} us" for other, seconds in times.items())
            print(f"{where:8} {name:9} {line}   error {error:.1f} ULP", flush=True)
            for other, seconds in times.items():
                ratios.setdefault((where, other), []).append(seconds / times["heddle"])
    for (where, other), found in ratios.items():
        if other != "heddle":
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"{THREADS} thread(s), {where}: {mean:.2f} x {other} (least {min(found):.2f}, {len(found)} functions)")
    for other, aim in AIMS.items():
        found = [ratio for (_, name), some in ratios.items() if name == other for ratio in some]
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"aim {other}, {THREADS} thread(s): {mean:.2f} (>= {aim}) {'ok' if mean >= aim else 'missed'}")


main()
