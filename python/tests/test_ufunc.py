"""Functions over arrays."""

import pickle
import unittest

import heddle
import numpy as np

# Functions of the library with the units in the last place that they are off at most: by default, and with accuracy="exact".
STATED = {
    "exp(x)": (1, 1, np.exp),
    "exp2(x)": (1, 1, np.exp2),
    "expm1(x)": (1, 1, np.expm1),
    "log(y)": (2, 1, lambda x, y: np.log(y)),
    "log2(y)": (3, 1, lambda x, y: np.log2(y)),
    "log10(y)": (3, 1, lambda x, y: np.log10(y)),
    "log1p(y)": (2, 1, lambda x, y: np.log1p(y)),
    "sin(x)": (3, 1, np.sin),
    "cos(x)": (3, 1, np.cos),
    "tan(x)": (4, 1, np.tan),
    "tanh(x)": (3, 1, np.tanh),
    "atan2(x, y)": (3, 1, np.arctan2),
    "pow(y, x)": (3, 1, lambda x, y: np.power(y, x)),
    "cbrt(x)": (1, 1, np.cbrt),
}
# Arguments of each function's edges, of which C's Annex F and NumPy's functions of doubles make the same.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0, 89.0, -104.0, 1e-40, -1e-40, 1e30, 3e38, -3e38, np.inf, -np.inf, np.nan]

HYPOT = "float hyp(float x, float y) { return sqrt(x * x + y * y); }"


class UfuncTest(unittest.TestCase):
    def setUp(self):
        self.f = heddle.vectorize(HYPOT)
        self.random = np.random.default_rng(3)

    def floats(self, *shape):
        return self.random.random(shape, np.float32)

    def check(self, x, y, **named):
        found = self.f(x, y, **named)
        wanted = np.hypot(np.asarray(x, np.float64), y)
        self.assertEqual(found.shape, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=2e-6)

    def test_layouts(self):
        a, b = self.floats(50, 60, 7), self.floats(60, 1)
        deep, turned = self.floats(3, 4, 5, 6, 7), self.floats(7, 6, 5, 4, 3).T
        pairs = [
            (a, a),
            (a, 2),
            (2, a),
            (a, b),
            (b, a),
            (a.T, a.T),
            (a.T, 3),
            (a.T, a.transpose(1, 0, 2).copy().transpose(2, 0, 1)),
            (a[::2, :, ::3], b),
            (a[:, ::-1], a),
            (a[:1], a[:, :1]),
            (deep, turned),
            (deep[:, :, None], turned[:, 1]),
            (a[:0], b),
            (np.broadcast_to(b, a.shape), a),
        ]
        for x, y in pairs:
            with self.subTest(x=np.shape(x), y=np.shape(y)):
                self.check(x, y)

    def test_dense_arrays_and_numbers_give_what_broadcasting_gives(self):
        for size in (0, 1, 2, 1000, 70000):
            x, y = self.floats(size), self.floats(size)
            x.flags.writeable = False
            for first, second in ((x, y), (x, 3), (2.5, y), (x, x), (x.reshape(-1, 1), y.reshape(-1, 1))):
                with self.subTest(size=size):
                    self.check(first, second)
                    shape = np.broadcast_shapes(np.shape(first), np.shape(second))
                    # Arrays with gaps are launched by plans.
                    gaps = [np.repeat(given, 2, axis=0)[::2] if np.ndim(given) else given for given in (first, second)]
                    np.testing.assert_array_equal(self.f(first, second), self.f(*gaps).reshape(shape))
        self.assertEqual(self.f(self.floats(1), 2).shape, (1,))

    def test_the_loop_takes_any_steps(self):
        if self.f._ufunc is None:
            self.skipTest("no C interface of NumPy")
        a, b = self.floats(9000), self.floats(9000)
        found = np.zeros(9000, np.float32)
        self.f._ufunc(a[::-1], b, found)
        np.testing.assert_allclose(found, np.hypot(a[::-1], b), rtol=2e-6)
        np.testing.assert_allclose(self.f._ufunc.outer(a[:90], b[::100]), np.hypot.outer(a[:90], b[::100]), rtol=2e-6)
        self.f._ufunc(a[:4500], b[::2], found[1::2])
        np.testing.assert_allclose(found[1::2], np.hypot(a[:4500], b[::2]), rtol=2e-6)

    def test_no_warnings_of_lanes_that_are_off(self):
        g = heddle.vectorize("float g(float x) { return x > 0 ? log(x) : x < 0 ? 1 / x : 0; }")
        with np.errstate(all="raise"):
            found = g(np.array([0, 1, -2, 0, 0, 0, 0, -4], np.float32))
        np.testing.assert_array_equal(found, np.array([0, 0, -0.5, 0, 0, 0, 0, -0.25], np.float32))

    def test_a_function_that_faults_raises(self):
        g = heddle.vectorize("int g(int x) { return x + *(volatile global int *)8; }")
        for _ in range(2):
            with self.assertRaises(heddle.LaunchError) as raised:
                g(np.zeros(10, np.int32))
            self.assertIn("heddle_elements", str(raised.exception))
        self.check(self.floats(3), 1)

    def test_results_are_written_to_out(self):
        a = self.floats(40, 30)
        for out in (np.empty((40, 30), np.float32), np.empty((40, 60), np.float32)[:, ::2], np.empty((30, 40)).T):
            self.assertIs(self.f(a, 1, out=out), out)
            np.testing.assert_allclose(out, np.hypot(a, 1), rtol=2e-6)
        own = a.copy()
        self.f(own, own, out=own)
        np.testing.assert_allclose(own, np.hypot(a, a), rtol=2e-6)
        # Neighbours to the right; several threads take parts of the longer line.
        for count in (1000, 1_000_000):
            line = self.floats(count)
            known = line.copy()
            self.f(line[1:], line[1:], out=line[:-1])
            np.testing.assert_allclose(line[:-1], np.hypot(known[1:], known[1:]), rtol=2e-6)
        for wrong in (np.empty(7, np.float32), np.empty((40, 30), np.int32)):
            with self.assertRaises((ValueError, TypeError)):
                self.f(a, 1, out=wrong)

    def test_arrays_at_any_address(self):
        # Long results begin with a launch for the elements before the first cache line.
        count = 100_000
        memory = self.floats(count + 32)
        for start in (0, 1, 5, 15):
            x = memory[start : start + count]
            whole = np.full(count + 32, -1, np.float32)
            out = whole[start + 3 : start + 3 + count]
            self.f(x, x, out=out)
            np.testing.assert_allclose(out, np.hypot(x, x), rtol=2e-6)
            self.f(x, 2.0, out=out)
            np.testing.assert_allclose(out, np.hypot(x, 2), rtol=2e-6)
            self.assertEqual((whole == -1).sum(), 32)
        twice = heddle.vectorize("double twice(uchar x) { return 2 * x; }")
        bytes_ = np.arange(count, dtype=np.uint32).astype(np.uint8)
        np.testing.assert_array_equal(twice(bytes_[1:]), 2.0 * bytes_[1:])
        np.testing.assert_array_equal(twice(bytes_[:, None])[:, 0], 2.0 * bytes_)

    def test_numbers_and_types(self):
        found = self.f(3, 4.0)
        self.assertIsInstance(found, np.float32)
        self.assertEqual(found, 5)
        self.check(np.arange(9, dtype=np.float64), 1)
        self.check(np.arange(9, dtype=np.int8), 1)
        with self.assertRaises(TypeError):
            self.f(np.zeros(3, complex), 1)
        with self.assertRaises(TypeError):
            self.f(np.zeros(3, np.float32))
        g = heddle.vectorize("int g(int x) { return x + 1; }")
        with self.assertRaises(TypeError):
            g(np.zeros(3))
        self.assertEqual((self.f.nin, self.f.nout, self.f.types, self.f.__name__), (2, 1, ["ff->f"], "hyp"))

    def test_numbers_next_to_arrays_of_another_kind(self):
        f = heddle.vectorize("float mix(uint n, float by, float more) { return n * by + more; }")
        n = np.arange(100, dtype=np.uint32)
        np.testing.assert_array_equal(f(n, 0.5, 2), n * np.float32(0.5) + 2)
        np.testing.assert_array_equal(f(3, self.f(n, n) * 0, 1), np.full(100, 1, np.float32))

    def test_branches_helpers_and_64_bits(self):
        g = heddle.vectorize(
            """#define STEP(n) (n / 2)
            static int odd(int x) { return x & 1; } /* int no(int x) { */
            int steps(int n) { int s = 0; while (n > 1) { n = odd(n) ? 3 * n + 1 : STEP(n); ++s; } return s; }"""
        )
        self.assertEqual(g(np.arange(1, 10, dtype=np.int32)).tolist(), [0, 1, 7, 2, 5, 8, 16, 3, 19])
        h = heddle.vectorize("double a(double x) { return x; } ulong b(ulong x, double y) { return x + (ulong)y; }", "b")
        big = np.array([1 << 60, 3], np.uint64)
        self.assertEqual(h(big, 2).tolist(), [(1 << 60) + 2, 5])

    def test_other_arrays(self):
        class Box:
            """An array of another library."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **_):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x = self.floats(100)
        np.testing.assert_array_equal(self.f(Box(x), memoryview(x)), self.f(x, x))

    def test_accuracy(self):
        edges = np.array(EDGES, np.float32)
        x = np.concatenate([np.repeat(edges, edges.size), self.random.normal(0, 4, 200_000), self.random.normal(0, 1e5, 50_000)])
        y = np.concatenate([np.tile(edges, edges.size), self.random.lognormal(0, 1, 200_000), self.random.lognormal(0, 30, 50_000)])
        x, y = x.astype(np.float32), y.astype(np.float32)
        for expression, (fast, exact, truth) in STATED.items():
            with np.errstate(all="ignore"):
                arguments = [x.astype(np.float64), y.astype(np.float64)]
                wanted = truth(*arguments[: getattr(truth, "nin", 2)])
                unit = np.spacing(np.maximum(np.abs(wanted), np.finfo(np.float32).tiny).astype(np.float32)).astype(np.float64)
                nearest = wanted.astype(np.float32)
            for bound, options in ((fast, {}), (fast, {"accuracy": "fast"}), (exact, {"accuracy": "exact"})):
                found = heddle.vectorize(f"float f(float x, float y) {{ return {expression}; }}", **options)(x, y)
                with np.errstate(all="ignore"):
                    error = np.abs(found - wanted) / unit
                is_same = (found == nearest) & (np.signbit(found) == np.signbit(nearest)) | np.isnan(found) & np.isnan(nearest)
                wrong = ~is_same & ~(error <= bound)
                at = int(np.argmax(wrong))
                self.assertFalse(wrong.any(), f"{expression} {options}: {found[at]} for {x[at]}, {y[at]}, not {wanted[at]}")

    def test_accuracy_is_an_option(self):
        source = "float f(float x) { return sin(x); }"
        fast, exact = heddle.vectorize(source), heddle.vectorize(source, accuracy="exact")
        self.assertEqual((fast.accuracy, exact.accuracy), ("fast", "exact"))
        x = self.random.normal(0, 4, 10_000).astype(np.float32)
        self.assertTrue((fast(x) != exact(x)).any())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(exact))(x), exact(x))
        # Arrays with gaps are another kernel.
        np.testing.assert_array_equal(exact(x[::2]), exact(x)[::2])
        by_option = heddle.vectorize("float f(float x) { return sin(x); } ", options="-heddle-math=exact")
        np.testing.assert_array_equal(by_option(x), fast(x), "the argument counts, not the option")
        with self.assertRaisesRegex(ValueError, "unknown accuracy 'half': write 'fast' or 'exact'"):
            heddle.vectorize(source, accuracy="half")

    def test_mistakes(self):
        for source in ("", "void f(float x) {}", "float f(float *x) { return *x; }", "float f(float x) { return y; }"):
            with self.assertRaises(heddle.BuildError):
                heddle.vectorize(source)
        answers = {
            "float f(x) { return x; }": "the parameter `x` of `f` has no type",
            "float f(float *x) { return *x; }": "parameter `float *x` is a pointer",
            "float f(float x[3]) { return x[0]; }": "parameter `float x[3]` is a pointer",
            "bool f(float x) { return x > 0; }": "uchar has the numbers 0 and 1",
            "2 * x": "help: write a whole function",
        }
        for source, answer in answers.items():
            with self.assertRaises(heddle.BuildError) as found:
                heddle.vectorize(source)
            self.assertIn(answer, str(found.exception))
        with self.assertRaisesRegex(TypeError, "OpenCL C in a string, found function"):
            heddle.vectorize(lambda x: x)

    def test_pickles_and_reports(self):
        f = pickle.loads(pickle.dumps(self.f))
        self.assertEqual(f(3, 4), 5)
        self.assertIn("kernel heddle_elements", str(f.report()))


if __name__ == "__main__":
    unittest.main()
