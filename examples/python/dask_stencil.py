"""Heat spreads over a plate: a stencil with halo on Dask workers, each of which launches Heddle's kernels.

    pip install heddle dask distributed
    python dask_stencil.py

The program pickles as its source; the processes of a machine share what they compile by the cache on disk.
"""

import dask.array as da
import heddle
import numpy as np
from dask.distributed import Client, LocalCluster

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


def step(plate: np.ndarray) -> np.ndarray:
    """Returns the plate after one step; its edge stays as it is."""
    plate = np.ascontiguousarray(plate)
    result = np.empty_like(plate)
    STEP(plate.shape[::-1], plate, result)
    return result


def main() -> None:
    """Compares the plate of two workers with that of one process."""
    plate = np.zeros((1000, 1200), np.float32)
    plate[400:600, 500:700] = 100
    wanted = plate
    for _ in range(5):
        wanted = step(wanted)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        spread = da.from_array(plate, chunks=(250, 300))
        for _ in range(5):
            spread = spread.map_overlap(step, depth=1, boundary=0, dtype=np.float32)
        found = spread.compute()
    # The plate's own edge is cold, as the halo outside of it is.
    assert np.allclose(found, wanted), np.abs(found - wanted).max()
    print(f"{found.size} points on 2 workers, as in one process; the warmest has {found.max():.1f} degrees")


if __name__ == "__main__":
    main()
