"""Computations by CuPy on the CUDA driver, against NumPy."""

import sys

import cupy
import numpy

RANDOM = numpy.random.default_rng(7)
FLOATS = RANDOM.standard_normal((60, 40))
SQUARE = RANDOM.standard_normal((32, 32))
COUNTS = RANDOM.integers(-50, 50, (60, 40))

# Each is computed by both packages, from the same arrays.
COMPUTATIONS = {
    "sums along axes": lambda x, a, s, i: (a.sum(), a.sum(axis=0), a.sum(axis=1), a.mean(axis=0), a.std()),
    "extremes": lambda x, a, s, i: (a.max(axis=0), a.argmin(axis=1), i.min(), x.ptp(i, axis=0)),
    "functions": lambda x, a, s, i: (x.exp(a), x.sin(a), x.sqrt(abs(a)), x.arctan2(a, a + 1), x.hypot(a, a)),
    "integers": lambda x, a, s, i: (i // 7, i % 7, i << 2, i ^ 5, x.gcd(i, 12)),
    "comparisons": lambda x, a, s, i: (a > 0, x.where(a > 0, a, -a), x.clip(a, -1, 1), x.isnan(a)),
    "views": lambda x, a, s, i: (a[::2, ::-1] * 2, a.T + 1, a[3:9, 4].copy(), x.roll(a, 3, axis=1), x.flip(a, 0)),
    "fancy indices": lambda x, a, s, i: (a[x.arange(5), x.arange(5)], a[a > 1], x.take(a, x.arange(7), axis=1)),
    "broadcasts": lambda x, a, s, i: (a + a[0], a * a[:, :1], x.outer(a[0], a[1])),
    "kinds of numbers": lambda x, a, s, i: tuple(
        (abs(a) * 9).astype(kind) - (abs(a) * 5).astype(kind) for kind in ("i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")
    ),
    "products of matrices": lambda x, a, s, i: (s @ s, x.dot(s, s[0]), x.einsum("ij,kj->ik", a, a), x.tensordot(a, a, ((0,), (0,)))),
    "products of floats": lambda x, a, s, i: (s.astype("f4") @ s.astype("f4"), (s + 1j * s.T) @ s),
    "scans": lambda x, a, s, i: (x.cumsum(a, axis=0), x.cumprod(a[0]), x.diff(a, axis=1)),
    "sorting": lambda x, a, s, i: (x.sort(a, axis=1), x.argsort(a[0]), x.unique(i), x.median(a), x.partition(a[0], 5)[5]),
    "sorted numbers of other kinds": lambda x, a, s, i: tuple(x.sort(i[0].astype(kind)) for kind in ("i1", "i4", "i8", "f4")),
    "searches": lambda x, a, s, i: (x.searchsorted(x.sort(a[0]), a[1]), x.nonzero(a > 1), x.count_nonzero(i)),
    "histograms": lambda x, a, s, i: (x.histogram(a, bins=9)[0], x.bincount(i[0] + 50)),
    "joined arrays": lambda x, a, s, i: (x.concatenate([a, a]), x.stack([a, a]), x.tile(s, 2), x.repeat(s, 2, axis=0), x.pad(s, 2)),
    "transforms": lambda x, a, s, i: (x.fft.fft(a), x.fft.ifft(a, axis=0), x.fft.rfft2(s), x.fft.fftn(s), x.fft.fftshift(a)),
    "convolutions": lambda x, a, s, i: (x.convolve(a[0], a[1]), x.correlate(a[0], a[1])),
    "polynomials": lambda x, a, s, i: (x.polyval(a[0, :4], a[1]), x.interp(a[1], x.sort(a[0]), a[2])),
    "norms": lambda x, a, s, i: (x.linalg.norm(a), x.linalg.norm(a, axis=0), x.trace(s)),
}

SQUARES = cupy.ElementwiseKernel("T x, T y", "T z", "z = x * x - y * y", "squares")
LENGTH = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
SCALED = cupy.RawKernel(
    r"""extern "C" __global__ void scaled(const double *x, double *y, double by, int n) {
  __shared__ double part[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = by * part[threadIdx.x];
}""",
    "scaled",
)


@cupy.fuse()
def hypotenuse(x, y):
    """Function whose operations become one kernel."""
    return cupy.sqrt(x * x + y * y)


def own_kernels():
    """Kernels that a program writes itself."""
    a = cupy.asarray(FLOATS)
    scaled = cupy.empty_like(a)
    SCALED((-(-a.size // 64),), (64,), (a, scaled, 2.5, numpy.int32(a.size)))
    found = SQUARES(a, a + 1), LENGTH(a, axis=1), scaled, hypotenuse(a, a + 1)
    wanted = FLOATS**2 - (FLOATS + 1) ** 2, numpy.linalg.norm(FLOATS, axis=1), 2.5 * FLOATS, numpy.hypot(FLOATS, FLOATS + 1)
    return found, wanted


def random_numbers():
    """Means and spreads of generators on the device."""
    cupy.random.seed(3)
    generator = cupy.random.default_rng(5)
    samples = [cupy.random.rand(20000), cupy.random.randn(20000) / 6 + 0.5, generator.random(20000), generator.standard_normal(20000) / 6 + 0.5]
    found = [cupy.round(sample.mean(), 1) for sample in samples]
    return found, [0.5] * len(samples)


def differs(found, wanted):
    """True if results differ by more than the rounding of their kind, of numbers as large as the largest."""
    found, wanted = cupy.asnumpy(found), numpy.asarray(wanted)
    if found.shape != wanted.shape or wanted.dtype.kind in "biu":
        return not numpy.array_equal(found, wanted)
    epsilon = max(numpy.finfo(kind).eps for kind in (found.dtype, wanted.dtype))
    return not numpy.allclose(found, wanted, rtol=0, atol=16 * epsilon * max(1, numpy.abs(wanted).max()))


def main():
    """Prints each computation, and ends with an error if one differs."""
    computations = {name: (lambda work=work: both(work)) for name, work in COMPUTATIONS.items()}
    computations.update({"own kernels": own_kernels, "random numbers": random_numbers})
    wrong = 0
    for name, work in computations.items():
        try:
            found, wanted = work()
            places = [place for place, pair in enumerate(zip(found, wanted, strict=True)) if differs(*pair)]
            outcome = f"result {places[0]} differs" if places else "equal"
        except Exception as reason:  # whatever it is, the others still run
            outcome = f"{type(reason).__name__}: {reason}"
        wrong += outcome != "equal"
        print(f"{name}: {outcome}", flush=True)
    print(f"CuPy {cupy.__version__}: {len(computations) - wrong} of {len(computations)} computations are equal to NumPy's")
    sys.exit(wrong > 0)


def both(work):
    """Results by CuPy and by NumPy."""
    flat = [
        [part for result in work(package, *(package.asarray(it) for it in (FLOATS, SQUARE, COUNTS))) for part in ([result] if hasattr(result, "shape") else result)]
        for package in (cupy, numpy)
    ]
    return flat[0], flat[1]


main()
