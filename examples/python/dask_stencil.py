"""Heat spreads over a plate: a stencil with halo on Dask workers, each of which launches Heddle's kernels.

    pip install heddle_simd-0.2.0-py3-none-manylinux_2_36_x86_64.whl dask distributed
    python dask_stencil.py

The program pickles as its source; the processes of a machine share what they compile by the cache on disk.
"""

import time

import dask.array as da
import heddle
import numpy as np
from dask.distributed import Client, LocalCluster, wait

STEP = heddle.Program("""
kernel void step(global const float *in, global float *out) {
    size_t x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    size_t i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = in[i];
        return;
    }
    out[i] = in[i] + 0.2f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4 * in[i]);
}""").kernel("step")


# Steps between two exchanges of halos, which are as wide.
STEPS = 100


def steps(plate: np.ndarray) -> np.ndarray:
    """Returns the plate after some steps; its edge stays as it is."""
    plate = np.array(plate, order="C")
    result = np.empty_like(plate)
    for _ in range(STEPS):
        STEP(plate.shape[::-1], plate, result)
        plate, result = result, plate
    return plate


def once(plate: np.ndarray) -> np.ndarray:
    """Returns the plate after the kernel was compiled."""
    # Arrays that came by network may lie at any address.
    plate = np.array(plate, order="C")
    STEP(plate.shape[::-1], plate, np.empty_like(plate))
    return plate


def main() -> None:
    """Compares the plate of two workers with that of one process."""
    plate = np.zeros((4800, 2400), np.float32)
    plate[2200:2600, 1000:1400] = 100
    once(plate)
    start = time.perf_counter()
    wanted = plate
    for _ in range(3):
        wanted = steps(wanted)
    alone = time.perf_counter() - start
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        # The halves of the plate lie with the workers, which have compiled the kernel.
        spread = client.persist(da.from_array(plate, chunks=(2400, 2400)).map_blocks(once, dtype=np.float32))
        wait(spread)
        start = time.perf_counter()
        for _ in range(3):
            spread = spread.map_overlap(steps, depth={0: STEPS, 1: 0}, boundary={0: 0, 1: "none"}, dtype=np.float32)
        spread = client.persist(spread)
        wait(spread)
        shared = time.perf_counter() - start
        found = spread.compute()
    # The plate's own edge is cold, as the halo outside of it is.
    assert np.allclose(found, wanted), np.abs(found - wanted).max()
    print(f"{found.size} points on 2 workers, as in one process; the warmest has {found.max():.1f} degrees")
    print(f"one process {alone:.2f} s, 2 workers {shared:.2f} s")


if __name__ == "__main__":
    main()
