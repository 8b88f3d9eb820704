"""Runs a program whose processes share an empty cache: each object is compiled once.

usage: compiled_once.py PROGRAM. Each process has one thread.
"""

import os
import subprocess
import sys
from pathlib import Path

from cache_writes import CacheWrites

writes = CacheWrites(Path(os.environ["HEDDLE_CACHE_DIR"]) / "objects")
environment = {**os.environ, "HEDDLE_TRIALS": "off", "HEDDLE_THREADS": "1", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
subprocess.run([sys.executable, sys.argv[1]], env=environment, check=True)
written = writes.count()
assert written and all(times == 1 for times in written.values()), written
print(f"{sys.argv[1]}: {len(written)} objects, each compiled once")
