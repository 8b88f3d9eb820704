"""What PyOpenCL makes kernels of: arrays, elementwise, reduction, scan, sort and random numbers; many host threads."""

import threading

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pyopencl.clrandom as clrandom
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import ExclusiveScanKernel, GenericScanKernel, InclusiveScanKernel

platform = next(p for p in cl.get_platforms() if p.name.startswith("Heddle"))
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)


def arrays():
    for kind in (np.uint8, np.int32, np.float64):
        host = (np.arange(1001) % 97 + 1).astype(kind)
        device = cla.to_device(queue, host)
        assert np.array_equal((device + device * device - 3).get(), host + host * host - kind(3))
        assert np.array_equal(device[10:700].copy().get(), host[10:700])
    host = np.linspace(-3, 3, 777, dtype=np.float32)
    device = cla.to_device(queue, host)
    assert np.allclose((device * 2 - 1 / (device + 10)).get(), host * 2 - 1 / (host + 10), rtol=1e-6)
    both = cla.if_positive(device, device, -device)
    assert np.array_equal(both.get(), np.abs(host))


def elementwise():
    kernel = ElementwiseKernel(
        context, "float a, float *x, double b, double *y, int *z", "z[i] = (int) (a * x[i] + b * y[i])", "combine"
    )
    x = np.arange(5000, dtype=np.float32)
    y = np.arange(5000, dtype=np.float64)[::-1].copy()
    z = cla.zeros(queue, 5000, np.int32)
    kernel(np.float32(3), cla.to_device(queue, x), np.float64(2), cla.to_device(queue, y), z)
    assert np.array_equal(z.get(), (3 * x + 2 * y).astype(np.int32))


def reduction():
    host = np.random.default_rng(1).integers(-1000, 1000, 100003).astype(np.int64)
    device = cla.to_device(queue, host)
    assert cla.sum(device).get() == host.sum()
    assert cla.max(device).get() == host.max() and cla.min(device).get() == host.min()
    dot = ReductionKernel(
        context, np.float64, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="double *x, double *y"
    )
    a = np.arange(1000, dtype=np.float64)
    assert dot(cla.to_device(queue, a), cla.to_device(queue, a + 1)).get() == (a * (a + 1)).sum()


def scans():
    host = np.random.default_rng(2).integers(0, 10, 20011).astype(np.int32)
    for make, expected in (
        (InclusiveScanKernel, np.cumsum(host)),
        (ExclusiveScanKernel, np.cumsum(host) - host),
    ):
        device = cla.to_device(queue, host)
        make(context, np.int32, "a+b", neutral="0")(device)
        assert np.array_equal(device.get(), expected)
    kept = GenericScanKernel(
        context,
        np.int32,
        arguments="__global int *ary, __global int *out, __global int *count",
        input_expr="(ary[i] > 4) ? 1 : 0",
        scan_expr="a+b",
        neutral="0",
        output_statement="if (prev_item != item) out[item-1] = ary[i]; if (i+1 == N) *count = item;",
    )
    out, count = cla.zeros(queue, host.size, np.int32), cla.zeros(queue, 1, np.int32)
    kept(cla.to_device(queue, host), out, count)
    found = host[host > 4]
    assert count.get()[0] == found.size and np.array_equal(out.get()[: found.size], found)


def random_numbers():
    generator = clrandom.PhiloxGenerator(context, seed=7)
    uniform = generator.uniform(queue, 50000, np.float32).get()
    assert 0 <= uniform.min() and uniform.max() <= 1 and abs(uniform.mean() - 0.5) < 0.01
    normal = generator.normal(queue, 50000, np.float64).get()
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02
    threefry = clrandom.ThreefryGenerator(context, seed=7).uniform(queue, 1000, np.float32).get()
    assert np.unique(threefry).size > 900


def many_threads():
    source = "kernel void axpy(float a, global const float *x, global float *y) { size_t i = get_global_id(0); y[i] += a * x[i]; }"
    program = cl.Program(context, source).build()
    wrong = []

    def work(seed):
        own = cl.CommandQueue(context)
        kernel = cl.Kernel(program, "axpy")
        for turn in range(10):
            x = np.full(300 + seed, seed + turn, dtype=np.float32)
            device_x, device_y = cla.to_device(own, x), cla.to_device(own, np.ones_like(x))
            kernel(own, x.shape, None, np.float32(2), device_x.data, device_y.data)
            if not np.array_equal(device_y.get(), 2 * x + 1):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


for test in (arrays, elementwise, reduction, scans, random_numbers, many_threads):
    test()
print("passed")
