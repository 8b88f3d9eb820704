"""Prints the seconds of functions of dpnp on the default device, each the least of several calls after the first."""

import time

import dpnp

N = 1 << 22
FLOATS = dpnp.asarray(dpnp.random.rand(N), dtype="f4")
OTHERS = dpnp.asarray(dpnp.random.rand(N), dtype="f4")
DOUBLES = dpnp.random.rand(N)
INTS = dpnp.asarray(dpnp.random.rand(N) * 1e6, dtype="i4")
SQUARE = dpnp.asarray(dpnp.random.rand(512, 512), dtype="f4")
DOUBLE_SQUARE = dpnp.random.rand(512, 512)
ROWS = dpnp.asarray(dpnp.random.rand(2048, 2048), dtype="f4")
CASES = {
    "add, float": lambda: FLOATS + OTHERS,
    "multiply, double": lambda: DOUBLES * DOUBLES,
    "a * b + a, float": lambda: FLOATS * OTHERS + FLOATS,
    "sqrt, float": lambda: dpnp.sqrt(FLOATS),
    "exp, float": lambda: dpnp.exp(FLOATS),
    "sin, double": lambda: dpnp.sin(DOUBLES),
    "tanh, float": lambda: dpnp.tanh(FLOATS),
    "power, float": lambda: dpnp.power(FLOATS, OTHERS),
    "where, float": lambda: dpnp.where(FLOATS > 0.5, FLOATS, OTHERS),
    "transposed + plain, float": lambda: ROWS.T + ROWS,
    "sum, float": lambda: dpnp.sum(FLOATS),
    "sum of rows, float": lambda: dpnp.sum(ROWS, axis=1),
    "sum of columns, float": lambda: dpnp.sum(ROWS, axis=0),
    "max, int": lambda: dpnp.max(INTS),
    "argmax, double": lambda: dpnp.argmax(DOUBLES),
    "cumsum, int": lambda: dpnp.cumsum(INTS),
    "sort, float": lambda: dpnp.sort(FLOATS),
    "sort, int": lambda: dpnp.sort(INTS),
    "argsort, double": lambda: dpnp.argsort(DOUBLES[: N // 8]),
    "unique, int": lambda: dpnp.unique(INTS[: N // 8]),
    "matmul, int": lambda: dpnp.matmul(INTS[: 1 << 16].reshape(256, 256), INTS[: 1 << 16].reshape(256, 256)),
    "matmul, float": lambda: dpnp.matmul(SQUARE, SQUARE),
    "matmul, double": lambda: dpnp.matmul(DOUBLE_SQUARE, DOUBLE_SQUARE),
    "fft, complex of float": lambda: dpnp.fft.fft(ROWS[:512]),
    "fft, double": lambda: dpnp.fft.fft(DOUBLES[: 1 << 18]),
    "random, uniform": lambda: dpnp.random.rand(N),
    "random, normal": lambda: dpnp.random.randn(N),
    "histogram, float": lambda: dpnp.histogram(FLOATS, bins=64),
    "convolve, float": lambda: dpnp.convolve(FLOATS[: 1 << 18], OTHERS[:32]),
    "index by mask, float": lambda: FLOATS[FLOATS > 0.5],
    "take, float": lambda: dpnp.take(FLOATS, INTS % N),
}


def seconds(function):
    """Returns the least time of calls, of at least three and for half a second."""
    queue = FLOATS.sycl_queue
    for _ in range(2):
        function()
        queue.wait()
    least, spent = float("inf"), 0.0
    for _ in range(200):
        start = time.perf_counter()
        function()
        queue.wait()
        taken = time.perf_counter() - start
        least, spent = min(least, taken), spent + taken
        if spent > 0.5:
            break
    return least


for name, function in CASES.items():
    try:
        print(f"{name}: {seconds(function):.3e}", flush=True)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as reason:
        print(f"{name} fails: {str(reason)[:200]}", flush=True)
