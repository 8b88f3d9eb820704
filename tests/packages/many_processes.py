"""Many processes start at once on an empty cache: each kernel is compiled once, and all results are right.

usage: many_processes.py COUNT. Entries that are written to the cache's folder are counted by inotify.
"""

import ctypes
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

WORKER = """
import os, sys
import numpy as np
sys.stdin.readline()
import heddle
f = heddle.vectorize("float f(float x) { float s = 0; for (int i = 0; i < 9; ++i) s += exp(-x * i) * cos(s); return s; }")
x = np.linspace(0, 1, 10000, dtype=np.float32)
print(f(x).tobytes().hex()[:4096])
"""
# `IN_MOVED_TO` of sys/inotify.h: an entry is renamed into its place.
MOVED_TO = 0x80


def start(folder, count):
    """Runs so many workers; returns their results, seconds, and entries written by name."""
    objects = folder / "objects"
    objects.mkdir(parents=True)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0 and libc.inotify_add_watch(watch, bytes(objects), MOVED_TO) >= 0
    environment = {**os.environ, "HEDDLE_CACHE_DIR": str(folder), "HEDDLE_TRIALS": "off"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", WORKER], env=environment, **pipes) for _ in range(count)]
    begin = time.perf_counter()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    results = [worker.communicate()[0] for worker in workers]
    seconds = time.perf_counter() - begin
    assert all(worker.returncode == 0 for worker in workers)
    events, at, written = os.read(watch, 1 << 20), 0, {}
    while at < len(events):
        (size,) = struct.unpack_from("I", events, at + 12)
        name = events[at + 16 : at + 16 + size].rstrip(b"\0").decode()
        written[name] = written.get(name, 0) + 1
        at += 16 + size
    os.close(watch)
    return results, seconds, written


def main():
    """Compares many workers with one."""
    folder = Path(os.environ["HEDDLE_CACHE_DIR"])
    count = int(sys.argv[1])
    alone, second_alone, written_alone = start(folder / "alone", 1)
    results, seconds, written = start(folder / "many", count)
    assert set(results) == set(alone), "the results differ"
    assert set(written) == set(written_alone), (written, written_alone)
    assert all(times == 1 for times in written.values()), written
    print(f"{count} processes: {len(written)} objects, each compiled once; {seconds:.2f} s, one alone {second_alone:.2f} s")
    left = [path.name for path in (folder / "many" / "objects").glob("*.lock")]
    assert not left, left


main()
