"""Many processes start at once on an empty cache: each kernel is compiled once, and all results are right.

usage: many_processes.py COUNT [--without-flock]. Then a quarter of the processes are killed while they wait for a kernel
or compile it: all others have right results. COUNT processes share the machine's processors, so what waiting costs shows in their
processor time: that of COUNT on an empty cache next to that of COUNT on a full one and one compilation.
`--without-flock`: the cache lies on a file system without locks (no_flock.c).
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cache_writes import CacheWrites

WORKER = """
import os, sys
import numpy as np
sys.stdin.readline()
import heddle
f = heddle.vectorize("float f(float x) { float s = 0; for (int i = 0; i < 9; ++i) s += exp(-x * i) * cos(s); return s; }")
x = np.linspace(0, 1, 10000, dtype=np.float32)
print(f(x).tobytes().hex()[:4096])
"""
LOCKS = {"flock": "*.lock", "leases": "*.lease"}


def without_flock(folder):
    """Returns variables with which `flock` fails in a process."""
    library = folder / "no_flock.so"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", Path(__file__).with_name("no_flock.c"), "-o", library], check=True)
    return {"LD_PRELOAD": str(library)}


def locks(folder, kind):
    """Returns the files that are there while an entry is made."""
    return list(folder.glob(LOCKS[kind]))


def start(folder, count, killed=0, kind="flock", more={}):
    """Runs so many workers; returns the results of those that end, seconds, processor seconds, entries written by name, and how many were killed.

    The first workers are killed once a kernel is being compiled.
    """
    objects = folder / "objects"
    writes = CacheWrites(objects)
    environment = {**os.environ, "HEDDLE_CACHE_DIR": str(folder), "HEDDLE_TRIALS": "off", **more}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    before = os.times()
    workers = [subprocess.Popen([sys.executable, "-c", WORKER], env=environment, **pipes) for _ in range(count)]
    begin = time.perf_counter()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    if killed:
        while not locks(objects, kind):
            assert time.perf_counter() - begin < 60, "no worker compiles"
        for worker in workers[:killed]:
            worker.kill()
    results = [worker.communicate()[0] for worker in workers]
    seconds = time.perf_counter() - begin
    after = os.times()
    processor = after.children_user - before.children_user + after.children_system - before.children_system
    # One that had ended before its signal came is not among them.
    gone = [worker.returncode == -signal.SIGKILL for worker in workers[:killed]]
    results = [result for result, is_gone in zip(results, gone + [False] * (count - killed)) if not is_gone]
    assert sum(worker.returncode == 0 for worker in workers) == len(results)
    return results, seconds, processor, writes.count(), sum(gone)


def main():
    """Compares many workers with one."""
    folder = Path(os.environ["HEDDLE_CACHE_DIR"])
    count = int(sys.argv[1])
    kind = "leases" if "--without-flock" in sys.argv else "flock"
    named = {"kind": kind, "more": without_flock(folder) if kind == "leases" else {}}
    alone, second_alone, processor_alone, written_alone, _ = start(folder / "alone", 1, **named)
    _, second_kept, processor_kept, _, _ = start(folder / "alone", 1, **named)
    results, seconds, processor, written, _ = start(folder / "many", count, **named)
    assert set(results) == set(alone), "the results differ"
    assert set(written) == set(written_alone), (written, written_alone)
    assert all(times == 1 for times in written.values()), written
    _, seconds_kept, processors_kept, _, _ = start(folder / "many", count, **named)
    print(f"{count} processes, {kind}: {len(written)} objects, each compiled once; {seconds:.2f} s, one alone {second_alone:.2f} s")
    print(f"the same on the cache that they left: {seconds_kept:.2f} s, one alone {second_kept:.2f} s")
    print(f"{seconds / (seconds_kept + second_alone - second_kept):.2f} times as long as that and one compilation")
    print(f"processor time: {processor:.2f} s, one alone {processor_alone:.2f} s; on the cache {processors_kept:.2f} s, one {processor_kept:.2f} s")
    ratio = processor / (processors_kept + processor_alone - processor_kept)
    print(f"aim processor time: {ratio:.2f} times that of {count} starts and one compilation (<= 1.2) {'ok' if ratio <= 1.2 else 'missed'}")
    total = 0
    for attempt in range(3):
        results, _, _, _, killed = start(folder / f"killed{attempt}", count, count // 4, **named)
        assert set(results) == set(alone), "results differ where processes were killed"
        total += killed
    assert total, "all processes had ended before they were killed"
    print(f"{total} of {3 * count} processes killed while they ran: all others have right results")
    left = [str(path) for path in folder.glob("*/objects/*") if path.suffix in (".lock", ".lease")]
    assert not left, left


main()
