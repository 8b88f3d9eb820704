"""A Dask worker is killed in the middle of a task: its task runs again elsewhere, and all results are right."""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import heddle
import numpy as np
from dask.distributed import Client, LocalCluster

SQUARES = heddle.vectorize("float squares(float x) { float s = 0; for (int i = 0; i < 100; ++i) s = fma(x, x, s); return s; }")


def work(number: int, marker: str) -> float:
    """Returns the sum of one block; the first worker that comes to block 5 is killed in the middle of launches without end."""
    x = np.full(1 << 16, number, np.float32)
    SQUARES(x)
    if number == 5:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
            while True:
                SQUARES(x)
    return float(SQUARES(x).sum(dtype=np.float64))


def main() -> None:
    """Compares twelve blocks on two workers with the expected sums."""
    with tempfile.TemporaryDirectory() as folder:
        marker = str(Path(folder) / "killed")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster, Client(cluster) as client:
            found = client.gather(client.map(work, range(12), marker=marker))
        assert Path(marker).exists(), "no worker was killed"
    wanted = [100.0 * number * number * (1 << 16) for number in range(12)]
    assert np.allclose(found, wanted), (found, wanted)
    print("a worker was killed; 12 blocks are right", file=sys.stderr)


if __name__ == "__main__":
    main()
