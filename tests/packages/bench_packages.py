"""Compares the wheel with those of other OpenCL drivers for CPUs: sizes, times and memory from pip to a kernel's result.

usage: bench_packages.py WHEEL FOLDER. Wheels are downloaded into the folder once, and each is installed in a new environment
with PyOpenCL and NumPy. Times are the best of three processes.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

OTHERS = {
    "Intel": ["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0"],
    "PoCL": ["pocl-binary-distribution==3.0"],
}
LIBRARIES = {"Heddle": "libheddle.so", "Intel": "libintelocl.so", "PoCL": "libpocl*.so*"}
# In the platform's name and version; the system may have others.
PLATFORMS = {"Heddle": "Heddle", "Intel": "Intel(R)", "PoCL": "PoCL 3.0"}
ROUNDS = 3

# Prints milliseconds and megabytes: after `dlopen`, after the list of platforms, after the first kernel.
START = """
import ctypes, sys, time
def memory():
    return next(int(line.split()[1]) / 1e3 for line in open("/proc/self/status") if line.startswith("VmRSS"))
begin = time.perf_counter()
ctypes.CDLL(sys.argv[1])
print(1e3 * (time.perf_counter() - begin), memory())
"""
KERNEL = """
import sys, time
def memory():
    return next(int(line.split()[1]) / 1e3 for line in open("/proc/self/status") if line.startswith("VmRSS"))
import numpy as np
import pyopencl as cl
begin = time.perf_counter()
platforms = cl.get_platforms()
device = next(p for p in platforms if sys.argv[1] in p.name + p.version).get_devices()[0]
print(1e3 * (time.perf_counter() - begin), memory())
begin = time.perf_counter()
context = cl.Context([device])
queue = cl.CommandQueue(context)
x = np.ones(1 << 16, np.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
program = cl.Program(context, "kernel void k(global float *x) { size_t i = get_global_id(0); x[i] = x[i] * 2 + 1; }").build()
program.k(queue, x.shape, None, buffer)
cl.enqueue_copy(queue, x, buffer)
assert (x == 3).all()
print(1e3 * (time.perf_counter() - begin), memory())
"""


def megabytes(folder):
    """Returns the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def best(python, program, *arguments):
    """Returns the best numbers of some processes, by position; none if one fails, with its last message."""
    environment = {**os.environ, "HEDDLE_CACHE": "0", "POCL_CACHE_DIR": "/tmp/heddle-bench-pocl"}
    environment.pop("OCL_ICD_VENDORS", None)
    rounds = []
    for _ in range(ROUNDS):
        done = subprocess.run([python, "-c", program, *arguments], capture_output=True, text=True, timeout=120, env=environment, check=False)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["it ends by a signal"])[-1][:90]
        rounds.append([float(word) for word in done.stdout.split()])
    return [min(column) for column in zip(*rounds)], ""


def measure(name, wheels, packages, folder):
    """Prints the figures of one driver."""
    place = folder / f"environment-{name}"
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    python = place / "bin/python"
    begin = time.perf_counter()
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--find-links", wheels]
    subprocess.run([*pip, "--no-deps", *packages], check=True)
    subprocess.run([*pip, "pyopencl", "numpy"], check=True)
    seconds = time.perf_counter() - begin
    names = [word.split("==")[0].replace("-", "_") for word in packages]
    download = sum(path.stat().st_size for path in wheels.iterdir() if path.name.lower().startswith(tuple(names))) / 1e6
    print(f"{name}: download {download:.0f} MB, environment {megabytes(place):.0f} MB, pip {seconds:.1f} s")
    library = min((path for path in place.rglob(LIBRARIES[name])), key=lambda path: len(path.name))
    found, reason = best(python, START, str(library))
    print(f"  dlopen {found[0]:.0f} ms, {found[1]:.0f} MB" if found else f"  dlopen fails: {reason}")
    found, reason = best(python, KERNEL, PLATFORMS[name])
    is_listed = "found by import pyopencl"
    if not found:
        # Its file for loaders is not where PyOpenCL's looks.
        loader = next(place.rglob("pyopencl/.libs"))
        if not any(loader.glob("*.icd")):
            is_listed = f"not found by import pyopencl ({reason}); registered by hand"
            (loader / "other.icd").write_text(f"{library}\n", encoding="utf-8")
            found, reason = best(python, KERNEL, PLATFORMS[name])
    print(f"  {is_listed}")
    print(f"  platforms {found[0]:.0f} ms; first kernel {found[2]:.0f} ms, {found[3]:.0f} MB" if found else f"  first kernel fails: {reason}")


def main():
    """Measures the wheel and the others."""
    wheel, folder = (Path(path).resolve() for path in sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    for name, packages in {"Heddle": [], **OTHERS}.items():
        wheels = folder / f"wheels-{name}"
        if not wheels.exists():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", wheels]
            subprocess.run([*pip, "pyopencl==2026.1.4", "numpy"], check=True)
            if packages:
                subprocess.run([*pip, "--no-deps", *packages], check=True)
        if name == "Heddle":
            for old in wheels.glob("heddle*"):
                old.unlink()
            (wheels / wheel.name).symlink_to(wheel)
            packages = ["heddle-simd"]
        try:
            measure(name, wheels, packages, folder)
        except subprocess.CalledProcessError as reason:
            print(f"{name}: {reason}")


main()
