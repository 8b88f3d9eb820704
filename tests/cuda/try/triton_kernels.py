"""Triton's kernels against NumPy: what is compiled to PTX here is assembled by `ptxas` of the driver's folder, which hands it on."""

import numpy as np
import triton
import triton.language as tl
from cuda.bindings import driver
from triton.language.extra import libdevice

random = np.random.default_rng(5)
counted = 0


def check(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if len(values) == 1 else tuple(values) or None


check(driver.cuInit(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))


class Array:
    """Memory of the device, as Triton takes it."""

    def __init__(self, values):
        self.shape, self.dtype, self.bytes = values.shape, values.dtype, values.nbytes
        self.place = check(driver.cuMemAlloc(values.nbytes))
        check(driver.cuMemcpyHtoD(self.place, np.ascontiguousarray(values).ctypes.data, values.nbytes))

    def data_ptr(self):
        return int(self.place)

    def numpy(self):
        values = np.empty(self.shape, self.dtype)
        check(driver.cuMemcpyDtoH(values.ctypes.data, self.place, self.bytes))
        return values


def agree(name, found, wanted, tolerance=1e-5):
    global counted
    counted += 1
    assert np.allclose(found, wanted, rtol=tolerance, atol=tolerance), f"{name}: {found.ravel()[:8]}, not {wanted.ravel()[:8]}"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + at, mask=inside, other=-float("inf"))
    row = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + at, row / tl.sum(row, axis=0), mask=inside)


@triton.jit
def multiply(a, b, c, M, N, K, PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    deep = tl.arange(0, DEPTH)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, DEPTH):
        left = tl.load(a + row[:, None] * K + start + deep[None, :])
        right = tl.load(b + (start + deep)[:, None] * N + column[None, :])
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
    tl.store(c + row[:, None] * N + column[None, :], sums)


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(bins + tl.load(x + at, mask=inside, other=0), 1, mask=inside)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def order(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.sin(value) + tl.sqrt(tl.abs(value)) + libdevice.tanh(value) + tl.exp2(value), mask=inside)


@triton.jit
def normalize(x, scale, shift, out, columns, epsilon, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + at, mask=inside, other=0.0)
    mean = tl.sum(row, 0) / columns
    apart = tl.where(inside, row - mean, 0.0)
    by = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + epsilon)
    row = apart * by * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(out + start + at, row, mask=inside)


@triton.jit
def attend(q, k, v, out, length, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr):
    row, width = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    query = tl.load(q + row[:, None] * WIDTH + width[None, :])
    most = tl.full((ROWS,), -float("inf"), tl.float32)
    whole = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(0, length, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        key = tl.load(k + column[None, :] * WIDTH + width[:, None])
        score = tl.dot(query, key) * scale
        now = tl.maximum(most, tl.max(score, 1))
        share, keep = tl.exp(score - now[:, None]), tl.exp(most - now)
        whole = whole * keep + tl.sum(share, 1)
        value = tl.load(v + column[:, None] * WIDTH + width[None, :])
        sums = tl.dot(share.to(tl.float16), value, sums * keep[:, None])
        most = now
    tl.store(out + row[:, None] * WIDTH + width[None, :], sums / whole[:, None])


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


for n in (1, 1000, 4096):
    x, y = floats(n), floats(n)
    out = Array(np.zeros(n, np.float32))
    add[(triton.cdiv(n, 256),)](Array(x), Array(y), out, n, BLOCK=256)
    agree("add", out.numpy(), x + y)

x = floats(37, 300)
out = Array(np.zeros_like(x))
softmax[(37,)](Array(x), out, 300, BLOCK=512)
wanted = np.exp(x - x.max(1, keepdims=True))
agree("softmax", out.numpy(), wanted / wanted.sum(1, keepdims=True))

for kind, precision, tolerance in ((np.float16, "ieee", 1e-2), (np.float32, "ieee", 1e-4), (np.float32, "tf32", 2e-1)):
    a, b = floats(64, 128).astype(kind), floats(128, 96).astype(kind)
    c = Array(np.zeros((64, 96), np.float32))
    multiply[(2, 3)](Array(a), Array(b), c, 64, 96, 128, PRECISION=precision, ROWS=32, COLUMNS=32, DEPTH=32)
    agree(f"product of {kind.__name__}, {precision}", c.numpy(), a.astype(np.float32) @ b.astype(np.float32), tolerance)

x = random.integers(0, 64, 5000, np.int32)
bins = Array(np.zeros(64, np.int32))
count[(20,)](Array(x), bins, 5000, BLOCK=256)
agree("histogram", bins.numpy(), np.bincount(x, minlength=64))

x = floats(1024)
out = Array(np.zeros_like(x))
scan[(1,)](Array(x), out, BLOCK=1024)
agree("scan", out.numpy(), np.cumsum(x), 1e-3)

out = Array(np.zeros_like(x))
order[(1,)](Array(x), out, BLOCK=1024)
agree("sort", out.numpy(), np.sort(x))

out = Array(np.zeros_like(x))
functions[(4,)](Array(x), out, 1024, BLOCK=256)
agree("functions", out.numpy(), np.sin(x) + np.sqrt(np.abs(x)) + np.tanh(x) + np.exp2(x), 1e-4)

x, scale, shift = floats(11, 200), floats(200), floats(200)
out = Array(np.zeros_like(x))
normalize[(11,)](Array(x), Array(scale), Array(shift), out, 200, 1e-5, BLOCK=256)
wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + shift
agree("normalization", out.numpy(), wanted, 1e-4)

q, k, v = (floats(64, 32).astype(np.float16) for _ in range(3))
out = Array(np.zeros((64, 32), np.float32))
attend[(2,)](Array(q), Array(k), Array(v), out, 64, 0.2, ROWS=32, COLUMNS=32, WIDTH=32)
score = np.exp(q.astype(np.float32) @ k.astype(np.float32).T * 0.2)
agree("attention", out.numpy(), (score / score.sum(1, keepdims=True)) @ v.astype(np.float32), 1e-2)

print(f"{counted} results of Triton's kernels are NumPy's")
print("passed")
