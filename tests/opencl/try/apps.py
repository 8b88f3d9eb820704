"""Applications from PyPI on the OpenCL drivers of this machine: what passes, and what a cold and a kept start cost.

usage: apps.py FOLDER HEDDLE-DRIVER [INTEL-FOLDER] [--only NAME]...

Packages are installed into an environment below the folder. Each application runs in a process of its own: twice with an
empty cache of its own (cold, kept), or once where its tests say nothing of speed. The table has wall clock and processor time,
compilation included.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = ["numpy", "scipy", "pyopencl", "mako", "pytest", "pytest-timeout", "openmm", "silx", "pyFAI", "sasmodels", "lightgbm", "pyclesperanto", "opencv-python-headless"]
HERE = Path(__file__).resolve().parent
PYTEST = ["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "sample_images", "--timeout", "300", "--pyargs"]
# Name, arguments of Python, pattern of success in the output, times that it runs.
APPLICATIONS = [
    ("OpenMM, installation test", ["-m", "openmm.testInstallation"], r"OpenCL.*\n*.*Successfully computed forces[\s\S]*All differences are within tolerance", 2),
    ("OpenMM, box of water", [str(HERE / "water_box.py")], r"forces agree", 2),
    ("LightGBM, 30 rounds", [str(HERE / "boosting.py")], r"predictions agree", 2),
    ("pyclesperanto, image filters", [str(HERE / "image_filters.py")], r"filters agree", 2),
    ("OpenCV, filters", [str(HERE / "computer_vision.py")], r"filters agree", 2),
    ("silx, its tests", [*PYTEST, "silx.opencl"], r"^\d+ passed(?!.*failed)", 1),
    ("pyFAI, its tests", [*PYTEST, "pyFAI.opencl"], r"^\d+ passed(?!.*failed)", 1),
    ("sasmodels, its tests", ["-m", "sasmodels.model_test", "opencl"], r"^OK", 1),
]


def environment(driver, folder, intel):
    """Returns the variables of a run: one driver alone, caches below the folder."""
    names = {"HEDDLE_CACHE_DIR": "heddle", "POCL_CACHE_DIR": "pocl", "XDG_CACHE_HOME": "xdg", "HOME": "home"}
    variables = {**os.environ, **{name: str(folder / below) for name, below in names.items()}}
    vendors = folder / "vendors"
    vendors.mkdir(parents=True)
    (vendors / "driver.icd").write_text(f"{driver}\n")
    (folder / "home").mkdir()
    # Threads of OpenMP that spin would take the processors that compilers need.
    variables.update(OCL_ICD_VENDORS=str(vendors), PYOPENCL_CTX="0", PYOPENCL_NO_CACHE="1", SAS_OPENCL="0", OMP_WAIT_POLICY="passive", PYTHONPATH=str(HERE))
    if driver.startswith(str(intel)):
        variables["LD_LIBRARY_PATH"] = str(intel)
    return variables


def run(python, arguments, variables, pattern):
    """Returns a word on the outcome, seconds, and seconds of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run([python, *arguments], env=variables, capture_output=True, text=True, timeout=900, cwd=variables["HOME"])
        printed, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        printed, status = "", None
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counts = re.findall(r"^(?:\d+ (?:failed|passed|skipped|warnings?|errors?)[, ]*)+|^Ran \d+ tests", printed, re.M)
    if status is None:
        word = "timeout"
    elif status < 0:
        word = f"crashed (signal {-status})"
    else:
        word = "passed" if status == 0 and re.search(pattern, printed, re.M) else "FAILED"
    if word != "passed":
        print(printed[-3000:], file=sys.stderr)
    return " ".join([word, *(f"({count.strip()})" for count in counts[-1:])]), seconds, spent


def main():
    """Prints a line for each application and driver."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("driver")
    parser.add_argument("intel", nargs="?", type=Path)
    parser.add_argument("--only", action="append", default=[])
    given = parser.parse_args()
    python = given.folder / "python/bin/python"
    if not (given.folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", given.folder / "python"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", *PACKAGES], check=True)
        (given.folder / "installed").touch()
    drivers = {"Heddle": given.driver}
    pocl = Path("/etc/OpenCL/vendors/pocl.icd")
    if pocl.exists():
        drivers["PoCL"] = pocl.read_text().strip()
    if given.intel and (given.intel / "libintelocl.so").exists():
        drivers["Intel"] = str(given.intel / "libintelocl.so")
    failed = False
    print("| application | driver | outcome | cold, s | kept, s |\n|---|---|---|---|---|")
    for name, arguments, pattern, times in APPLICATIONS:
        if given.only and not any(word.lower() in name.lower() for word in given.only):
            continue
        for driver, path in drivers.items():
            folder = given.folder / "run"
            shutil.rmtree(folder, ignore_errors=True)
            variables = environment(path, folder, given.intel)
            runs = [run(str(python), arguments, variables, pattern) for _ in range(times)]
            outcome = next((word for word, _, _ in runs if not word.startswith("passed")), runs[0][0])
            failed |= driver == "Heddle" and not outcome.startswith("passed")
            spent = [f"{seconds:.1f} ({processor:.1f})" for _, seconds, processor in runs] + [""] * (2 - times)
            print(f"| {name} | {driver} | {outcome} | {spent[0]} | {spent[1]} |", flush=True)
    print("\nIn parentheses: processor time of all threads.")
    sys.exit(failed)


main()
