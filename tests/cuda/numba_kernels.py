"""Numba: shared memory, atomics, votes, shuffles, cooperative groups, streams, events and constants against NumPy."""

import warnings

import numpy as np

warnings.simplefilter("ignore")
from numba import cuda, float32  # noqa: E402

random = np.random.default_rng(5)


def same(name, found, wanted):
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), f"{name}: {found} is not {wanted}"


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


x = random.standard_normal(10_007).astype(np.float32)
y = random.standard_normal(10_007).astype(np.float32)
there = cuda.to_device(y)
axpy[79, 128](np.float32(2.5), cuda.to_device(x), there)
same("axpy", there.copy_to_host(), y + np.float32(2.5) * x)

TILE = 16


@cuda.jit
def product(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for at in range((a.shape[1] + TILE - 1) // TILE):
        k = at * TILE
        left[ty, tx] = a[row, k + tx] if row < a.shape[0] and k + tx < a.shape[1] else 0
        right[ty, tx] = b[k + ty, column] if k + ty < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for inner in range(TILE):
            total += left[ty, inner] * right[inner, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


a, b = random.standard_normal((50, 70)).astype(np.float32), random.standard_normal((70, 40)).astype(np.float32)
c = cuda.device_array((50, 40), np.float32)
product[(3, 4), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
assert np.allclose(c.copy_to_host(), a @ b, atol=1e-4)


@cuda.jit
def dynamic_sum(x, out):
    shared = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            shared[t] += shared[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


for threads in (64, 256, 1024):
    out = cuda.to_device(np.zeros(1, np.float32))
    dynamic_sum[-(-x.size // threads), threads, 0, 4 * threads](cuda.to_device(x), out)
    assert abs(out.copy_to_host()[0] - x.sum()) < 1e-2


@cuda.jit
def histogram(values, counts, least, most):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i] % counts.size, 1)
        cuda.atomic.min(least, 0, values[i])
        cuda.atomic.max(most, 0, values[i])
        cuda.atomic.cas(least, 1, -1, i)


values = random.integers(0, 1000, 5000).astype(np.int32)
counts, least, most = (cuda.to_device(np.full(n, v, np.int32)) for n, v in ((16, 0), (2, 5000), (1, 0)))
least[1] = -1
histogram[40, 128](cuda.to_device(values), counts, least, most)
same("histogram", counts.copy_to_host(), np.bincount(values % 16, minlength=16))
same("least", least.copy_to_host()[0], values.min())
same("most", most.copy_to_host()[0], values.max())
assert least.copy_to_host()[1] >= 0


@cuda.jit
def warps(values, ballots, any_all, moved, sums, matches):
    i = cuda.grid(1)
    lane = cuda.laneid
    full = 0xFFFFFFFF
    ballots[i] = cuda.ballot_sync(full, values[i] % 3 == 0)
    any_all[i] = cuda.any_sync(full, values[i] > 990) * 2 + cuda.all_sync(full, values[i] < 990)
    moved[i] = cuda.shfl_sync(full, values[i], (lane + 5) % 32)
    matches[i] = cuda.popc(cuda.match_any_sync(full, values[i] % 4))
    total = values[i]
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(full, total, step)
        step //= 2
    sums[i] = cuda.shfl_sync(full, total, 0)


# A block whose rows do not fill warps: they go on in the next row.
count = 4992
out = [cuda.device_array(count, np.int64) for _ in range(5)]


@cuda.jit
def in_rows(lanes, ballots):
    i = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.blockIdx.x)
    lanes[i] = cuda.laneid
    ballots[i] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, cuda.threadIdx.x < 6))


warps[39, 128](cuda.to_device(values[:count]), *out)
groups = values[:count].reshape(-1, 32)
ballots, any_all, moved, sums, matches = (each.copy_to_host().reshape(-1, 32) for each in out)
bits = ((groups % 3 == 0).astype(np.int64) << np.arange(32)).sum(1)
same("ballot", ballots & 0xFFFFFFFF, np.repeat(bits[:, None], 32, 1))
wanted = (groups > 990).any(1) * 2 + (groups < 990).all(1)
same("votes", any_all, np.repeat(wanted[:, None], 32, 1))
same("shuffle", moved, np.roll(groups, -5, 1))
same("sum of a warp", sums, np.repeat(groups.sum(1)[:, None], 32, 1))
alike = (groups[:, :, None] % 4 == groups[:, None, :] % 4).sum(2)
same("match", matches, alike)

lanes, ballots = cuda.device_array(480, np.int32), cuda.device_array(480, np.int32)
in_rows[2, (12, 20)](lanes, ballots)
order = np.arange(240)
same("lanes", lanes.copy_to_host(), np.tile(order % 32, 2))
per_warp = np.array([(order[at : at + 32] % 12 < 6).sum() for at in range(0, 240, 32)])
same("warps go round rows", ballots.copy_to_host(), np.tile(per_warp[order // 32], 2))


@cuda.jit
def whole_grid(values, turns):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(turns):
        other = values[values.size - 1 - i]
        grid.sync()
        values[i] = other + 1
        grid.sync()


line = cuda.to_device(np.arange(256, dtype=np.int32))
whole_grid[2, 128](line, 5)
wanted = np.arange(256)
for _ in range(5):
    wanted = wanted[::-1] + 1
same("grid synchronization", line.copy_to_host(), wanted)

CONSTANT = np.arange(64, dtype=np.float32) ** 2


@cuda.jit
def from_constants(out):
    table = cuda.const.array_like(CONSTANT)
    i = cuda.grid(1)
    own = cuda.local.array(8, float32)
    for k in range(8):
        own[k] = table[(i + k) % 64]
    total = float32(0)
    for k in range(8):
        total += own[(k * 3 + i) % 8]
    out[i] = total


out = cuda.device_array(64, np.float32)
from_constants[1, 64](out)
same("constants", out.copy_to_host(), [sum(CONSTANT[(i + k) % 64] for k in range(8)) for i in range(64)])


@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


@cuda.jit
def lengths(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = collatz(i + 1)


def collatz_of(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


out = cuda.device_array(1000, np.int64)
lengths[8, 128](out)
same("collatz", out.copy_to_host(), [collatz_of(n) for n in range(1, 1001)])

# Streams, events, pinned and managed memory.
streams = [cuda.stream() for _ in range(4)]
pinned = cuda.pinned_array(4096, np.float32)
pinned[:] = 1
first, last = cuda.event(), cuda.event()
first.record(streams[0])
parts = []
for number, stream in enumerate(streams):
    part = cuda.to_device(pinned, stream=stream)
    for _ in range(3):
        axpy[32, 128, stream](np.float32(number), part, part)
    parts.append(part)
last.record(streams[-1])
last.synchronize()
assert cuda.event_elapsed_time(first, last) >= 0
for number, (part, stream) in enumerate(zip(parts, streams)):
    same("streams", part.copy_to_host(stream=stream), np.full(4096, (1 + number) ** 3))
    stream.synchronize()
shared = cuda.managed_array(100, np.float32)
shared[:] = 3
axpy[1, 128](np.float32(1), shared, shared)
cuda.synchronize()
same("managed", shared, np.full(100, 6))


@cuda.reduce
def add(a, b):
    return a + b


same("reduce", add(values.astype(np.float64)), values.sum())
print("passed")
