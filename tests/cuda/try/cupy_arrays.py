"""Computations by CuPy on the CUDA driver, against NumPy and SciPy."""

import sys

import cupy
import cupyx.scipy.sparse.linalg
import numpy
import scipy.sparse.linalg

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
    "systems": lambda x, a, s, i: (x.linalg.solve(s, s[0]), x.linalg.inv(s), x.linalg.det(s), x.linalg.slogdet(s)[1]),
    "systems of other kinds": lambda x, a, s, i: (x.linalg.solve(s + 1j * s.T, s[:, :3]), x.linalg.inv(s.astype("f4")[:9, :9])),
    "batches of systems": lambda x, a, s, i: (x.linalg.solve(s[:24].reshape(12, 8, 8), s[:24].reshape(12, 8, 8)[..., 0:2]),),
    "Cholesky factors": lambda x, a, s, i: tuple(
        x.linalg.cholesky(it @ it.conj().swapaxes(-1, -2) + 9 * x.eye(it.shape[-2])) for it in (a, s + 1j * s.T, s.reshape(16, 8, 8))
    ),
    "orthogonal factors": lambda x, a, s, i: (*x.linalg.qr(a), *x.linalg.qr(a.T, mode="complete"), *x.linalg.qr(s + 1j * s.T)),
    "singular values": lambda x, a, s, i: tuple(
        part for it in (a, a.T, s + 1j * s.T, s.reshape(16, 8, 8)) for part in (x.linalg.svd(it)[1], product_of_svd(x, it))
    ),
    "eigenvalues": lambda x, a, s, i: tuple(
        part for it in (s + s.T, s + s.T + 1j * (s - s.T)) for part in (x.linalg.eigvalsh(it), product_of_eigh(x, it))
    ),
    "least squares": lambda x, a, s, i: (x.linalg.lstsq(a, a[:, :2] + 1, rcond=None)[0], x.linalg.pinv(a), x.linalg.matrix_rank(a[:, :3])),
    "condition": lambda x, a, s, i: (x.linalg.matrix_power(s, 3), x.linalg.norm(s, 2)),
}


def product_of_svd(x, matrix):
    """The matrix, from its singular values and vectors."""
    u, s, v = x.linalg.svd(matrix, full_matrices=False)
    return (u * s[..., None, :]) @ v


def product_of_eigh(x, matrix):
    """The matrix, from its eigenvalues and eigenvectors."""
    w, v = x.linalg.eigh(matrix)
    return (v * w) @ v.conj().T


# Each is computed by both packages of sparse matrices, from the same ones: `m` and `n` in compressed rows, `v` and `w` dense.
SPARSE = {
    "sparse products": lambda p, l, m, n, v, w: (m @ v, m @ w, m.T @ v, m @ n, (m @ n.T).tocsc(), m.multiply(n), m.tocsc() @ w, m.tocoo() @ v),
    "sparse sums": lambda p, l, m, n, v, w: (m + n, m - 2 * n, (m + n).sum(axis=0), abs(m), m.power(2), m.maximum(n)),
    "sparse conversions": lambda p, l, m, n, v, w: (m.tocsc(), m.tocoo(), m.tocoo().tocsc(), m.tocsc().tocsr(), m.T.tocsr(), p.csr_matrix(w), p.csc_matrix(w), m.todense()),
    "sparse parts": lambda p, l, m, n, v, w: (m[3:9], m[:, 2:7], m[4], p.tril(m), p.triu(m), m.diagonal(), p.vstack([m, n]), p.hstack([m, n]), p.kron(m[:3, :3], n[:2, :2])),
    "sparse kinds of numbers": lambda p, l, m, n, v, w: tuple(
        part for kind in ("f4", "c8", "c16") for part in (m.astype(kind) @ v.astype(kind), m.astype(kind) @ n.astype(kind), m.astype(kind) + n.astype(kind))
    ),
    "sparse systems": lambda p, l, m, n, v, w: (
        l.spsolve(m.tocsr(), v), l.spsolve_triangular(p.tril(m).tocsr(), v, lower=True), l.spsolve_triangular(p.triu(m).tocsr(), w, lower=False),
        l.cg(m @ m.T, v, rtol=1e-13, maxiter=5000)[0], l.norm(m),
    ),
    "sparse eigenvalues": lambda p, l, m, n, v, w: (l.eigsh(m @ m.T, k=3, return_eigenvectors=False), l.svds(m, k=3, return_singular_vectors=False)),
}


def both_sparse(work):
    """Results by CuPy and by SciPy."""
    flat = []
    for package, linalg, array in ((cupyx.scipy.sparse, cupyx.scipy.sparse.linalg, cupy.asarray), (scipy.sparse, scipy.sparse.linalg, numpy.asarray)):
        arrays = [numpy.where(abs(SQUARE) > limit, SQUARE, 0) + 9 * numpy.eye(32) for limit in (1.2, 1.4)]
        matrices = [package.csr_matrix(scipy.sparse.csr_matrix(it)) for it in arrays]
        results = work(package, linalg, *matrices, array(FLOATS[0, :32].copy()), array(FLOATS[:32, :5].copy()))
        flat.append([it.toarray() if hasattr(it, "toarray") else it for it in results])
    return flat[0], flat[1]


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
    return not numpy.allclose(found, wanted, rtol=0, atol=64 * epsilon * max(1, numpy.abs(wanted).max()))


def main():
    """Prints each computation, and ends with an error if one differs."""
    computations = {name: (lambda work=work: both(work)) for name, work in COMPUTATIONS.items()}
    computations.update({name: (lambda work=work: both_sparse(work)) for name, work in SPARSE.items()})
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
    print(f"CuPy {cupy.__version__}: {len(computations) - wrong} of {len(computations)} computations are equal to NumPy's and SciPy's")
    sys.exit(wrong > 0)


def both(work):
    """Results by CuPy and by NumPy."""
    flat = [
        [part for result in work(package, *(package.asarray(it) for it in (FLOATS, SQUARE, COUNTS))) for part in ([result] if hasattr(result, "shape") else result)]
        for package in (cupy, numpy)
    ]
    return flat[0], flat[1]


main()
