"""Programs, kernels and their arguments."""

import pickle
import unittest
from concurrent.futures import ThreadPoolExecutor

import heddle
import numpy as np

SAXPY = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
struct pair { int a; float b; };
kernel void sums(global const int *x, local int *part, global int *result) {
    size_t i = get_local_id(0);
    part[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) {
        int sum = 0;
        for (size_t k = 0; k < get_local_size(0); ++k) sum += part[k];
        result[get_group_id(0)] = sum;
    }
}
kernel void vectors(global float4 *v, float3 w, uchar n) { v[get_global_id(0)].xyz += w * n; }
kernel void structures(struct pair p, global float *x) { x[0] = p.a + p.b; }
kernel void rows(global const float *x, long step, global float *y) {
    size_t i = get_global_id(0);
    y[i] = x[i * step];
}
"""


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.program = heddle.Program(SAXPY)
        self.x = np.arange(1000, dtype=np.float32)
        self.y = np.ones_like(self.x)

    def refuses(self, part, error, call, *arguments, **named):
        with self.assertRaises(error) as found:
            call(*arguments, **named)
        self.assertIn(part, str(found.exception))

    def test_kernels_are_listed_and_described(self):
        self.assertEqual(self.program.kernel_names, ["saxpy", "sums", "vectors", "structures", "rows"])
        self.assertEqual([p.name for p in self.program.kernel("saxpy").parameters], ["a", "x", "y"])
        self.assertEqual(repr(self.program.kernel("saxpy").parameters[1]), "const float* x")

    def test_arrays_are_passed_without_copies(self):
        kernel = self.program.kernel("saxpy")
        kernel(self.x.size, 2, self.x, self.y)
        self.assertTrue(np.array_equal(self.y, 2 * self.x + 1))
        kernel((self.x.size,), np.float64(0.5), self.x, self.y, local_size=8)
        self.assertTrue(np.array_equal(self.y, 2.5 * self.x + 1))
        kernel(0, 2, self.x, self.y)
        self.assertTrue(np.array_equal(self.y, 2.5 * self.x + 1))

    def test_arrays_may_overlap(self):
        source = """kernel void add(global float *sum, global const float *a, int n) {
            size_t i = get_global_id(0);
            for (int k = n - 1; k >= 0; k--) sum[i] += a[k];
        }"""
        add = heddle.Program(source).kernel("add")
        for number in (0, 5, 9):
            memory = np.arange(10, dtype=np.float32)
            wanted = memory.copy()
            for k in reversed(range(10)):
                wanted[number] += wanted[k]
            add(1, memory[number : number + 1], memory, 10)
            self.assertEqual(memory.tolist(), wanted.tolist())

    def test_sizes_and_arguments_of_the_wrong_kind(self):
        kernel = self.program.kernel("saxpy")
        for size in (self.x, "10", 10.0, None):
            self.refuses("1 to 3 integers", heddle.LaunchError, kernel, size, 2, self.x, self.y)
        self.refuses("not negative", heddle.LaunchError, kernel, -1, 2, self.x, self.y)
        self.refuses("expected an array for `float*`, found list", heddle.LaunchError, kernel, 3, 2, [1, 2, 3], self.y)
        kernel(np.array([self.x.size]), 2, self.x, self.y)
        self.assertTrue(np.array_equal(self.y, 2 * self.x + 1))
        for source in (None, 3, lambda: 0):
            self.refuses("OpenCL C or PTX in a string", TypeError, heddle.Program, source)
        self.refuses("neither text nor SPIR-V", heddle.BuildError, heddle.Program, b"\xff\xfe\x00")

    def test_other_buffers_are_arrays(self):
        kernel = self.program.kernel("saxpy")
        memory = bytearray(self.y.tobytes())
        kernel(1000, 2, memoryview(self.x), memoryview(memory).cast("f"))
        self.assertTrue(np.array_equal(np.frombuffer(memory, np.float32), 2 * self.x + 1))

    def test_local_memory_vectors_and_structures(self):
        x = np.arange(64, dtype=np.int32)
        result = np.zeros(4, np.int32)
        self.program.kernel("sums")(64, x, heddle.local(16, np.int32), result, local_size=16)
        self.assertEqual(result.tolist(), x.reshape(4, 16).sum(1).tolist())
        v = heddle.empty((8, 4))
        v[:] = 1
        self.program.kernel("vectors")(8, v, (1, 2, 3), 2)
        self.assertEqual(v[7].tolist(), [3, 5, 7, 1])
        pair = np.array((3, 0.5), dtype=[("a", np.int32), ("b", np.float32)])
        self.program.kernel("structures")(1, pair, self.y)
        self.assertEqual(self.y[0], 3.5)

    def test_strided_arrays_are_marked(self):
        x = np.arange(64, dtype=np.float32)[::4]
        y = np.zeros(16, np.float32)
        self.program.kernel("rows")(16, heddle.strided(x), x.strides[0] // 4, y)
        self.assertTrue(np.array_equal(y, x))
        self.refuses("not contiguous", heddle.LaunchError, self.program.kernel("rows"), 16, x, 4, y)

    def test_wrong_arguments_are_named(self):
        saxpy = self.program.kernel("saxpy")
        x, y = self.x, self.y
        self.refuses("takes 3 arguments, found 2", heddle.LaunchError, saxpy, 10, 1, x)
        self.refuses("`a`: expected `float`", heddle.LaunchError, saxpy, 10, "a", x, y)
        self.refuses("`x`: expected float32", heddle.LaunchError, saxpy, 10, 1, x.astype(np.float64), y)
        self.refuses("1 to 3 dimensions", heddle.LaunchError, saxpy, (1, 1, 1, 1), 1, x, y)
        self.refuses("different numbers", heddle.LaunchError, saxpy, (1, 1), 1, x, y, local_size=1)
        y.flags.writeable = False
        self.refuses("`y`: the array is read-only", heddle.LaunchError, saxpy, 10, 1, x, y)
        x.flags.writeable = False
        saxpy(10, 1, x, y.copy())
        vectors = self.program.kernel("vectors")
        v = heddle.empty((8, 4))
        self.refuses("`n`: 300 is out of the range", heddle.LaunchError, vectors, 8, v, (1, 2, 3), 300)
        self.refuses("aligned by 16 bytes", heddle.LaunchError, vectors, 7, v.reshape(-1)[1:29], (1, 2, 3), 3)
        self.refuses("heddle.local", heddle.LaunchError, self.program.kernel("sums"), 64, np.zeros(64, np.int32), 64, y)

    def test_mistakes_in_sources_have_their_log(self):
        self.refuses("program.cl:1:16", heddle.BuildError, heddle.Program, "kernel void f( {")
        self.refuses("no kernel `nothing`", heddle.BuildError, self.program.kernel, "nothing")
        self.refuses("-fnothing", heddle.BuildError, heddle.Program, SAXPY, "-fnothing")

    def test_faults_end_the_launch_only(self):
        kernel = heddle.Program("kernel void f(global int *x) { x[0] = 1; }").kernel("f")
        self.refuses("", heddle.LaunchError, kernel, 1, None)
        self.program.kernel("saxpy")(1000, 0, self.x, self.y)

    def test_options_and_pickles(self):
        program = heddle.Program("kernel void f(global int *x) { x[get_global_id(0)] = N; }", "-DN=7")
        x = np.zeros(5, np.int32)
        pickle.loads(pickle.dumps(program)).kernel("f")(5, x)
        self.assertEqual(x.tolist(), [7] * 5)
        pickle.loads(pickle.dumps(program.kernel("f")))(5, x)

    def test_threads_launch_one_kernel_at_once(self):
        kernel = self.program.kernel("saxpy")
        parts = [(np.full(5000, n, np.float32), np.zeros(5000, np.float32)) for n in range(16)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda part: kernel(5000, 1, *part), parts))
        for n, (_, y) in enumerate(parts):
            self.assertTrue((y == n).all())

    def test_reports_are_text_and_html(self):
        kernel = self.program.kernel("saxpy")
        kernel(1000, 2, self.x, self.y)
        self.assertIn("lanes", str(kernel.report()))
        self.assertIn("<details", kernel.report()._repr_html_())


PTX = """
.version 7.5
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p ret;
  mad.wide.u32 %rd2, %r5, 4, %rd1;
  ld.f32 %f2, [%rd2]; mul.f32 %f2, %f2, %f1; st.f32 [%rd2], %f2;
  ret;
}
"""


class PtxTest(unittest.TestCase):
    def test_kernels_take_arrays_and_scalars(self):
        program = heddle.Program(PTX)
        self.assertEqual(program.kernel_names, ["scale"])
        x = np.arange(1000, dtype=np.float32)
        program.kernel("scale")(1024, x, np.float32(3), np.uint32(1000), local_size=128)
        self.assertTrue(np.array_equal(x, 3 * np.arange(1000)))
        pickle.loads(pickle.dumps(program)).kernel("scale")(1024, x, np.float32(2), np.uint32(1000))
        self.assertTrue(np.array_equal(x, 6 * np.arange(1000)))

    def test_mistakes_are_errors(self):
        kernel = heddle.Program(PTX).kernel("scale")
        x = np.zeros(8, np.float32)
        for arguments in [(8, x), (8, x, 3.0, np.uint32(8)), (8, x, np.float64(1), np.uint32(8))]:
            with self.assertRaises(heddle.LaunchError):
                kernel(*arguments)
        with self.assertRaises(heddle.BuildError) as found:
            heddle.Program(PTX.replace("mul.f32", "mul.nothing")).kernel("scale")
        self.assertIn("cannot be compiled", str(found.exception))
        with self.assertRaises(heddle.BuildError):
            heddle.Program(PTX.replace("ret;\n}", ""))
        with self.assertRaises(heddle.BuildError):
            heddle.Program(PTX).kernel("nothing")


class SpirvTest(unittest.TestCase):
    def test_bytes_are_spirv_or_text(self):
        with self.assertRaises(heddle.BuildError):
            heddle.Program(b"\x03\x02\x23\x07" + bytes(16))
        self.assertEqual(heddle.Program(b"kernel void f() {}").kernel_names, ["f"])


if __name__ == "__main__":
    unittest.main()
