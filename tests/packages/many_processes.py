"""Many processes start at once on an empty cache: each kernel is compiled once, and all results are right.

usage: many_processes.py COUNT. Entries that are written to the cache's folder are counted by inotify. Then a quarter of
the processes are killed while they wait for a kernel or compile it: all others have right results.
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


def start(folder, count, killed=0):
    """Runs so many workers; returns their results, seconds, and entries written by name.

    The first workers are killed once a kernel is being compiled.
    """
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
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
    if killed:
        while not any(objects.glob("*.lock")):
            assert time.perf_counter() - begin < 60, "no worker compiles"
        for worker in workers[:killed]:
            worker.kill()
    results = [worker.communicate()[0] for worker in workers][killed:]
    seconds = time.perf_counter() - begin
    assert all(worker.returncode == 0 for worker in workers[killed:])
    try:
        events = os.read(watch, 1 << 20)
    except BlockingIOError:
        events = b""
    at, written = 0, {}
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
    _, seconds_kept, _ = start(folder / "many", count)
    print(f"{count} processes: {len(written)} objects, each compiled once; {seconds:.2f} s, one alone {second_alone:.2f} s")
    print(f"the same on the cache that they left: {seconds_kept:.2f} s")
    for attempt in range(3):
        results, _, _ = start(folder / f"killed{attempt}", count, count // 4)
        assert set(results) == set(alone), "results differ where processes were killed"
    left = [str(path) for path in folder.glob("*/objects/*.lock")]
    assert not left, left


main()
