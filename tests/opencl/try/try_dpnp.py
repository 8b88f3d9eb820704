"""The tests of dpctl and dpnp on the OpenCL drivers of this machine, and times of dpnp's functions.

usage: try_dpnp.py FOLDER HEDDLE-DRIVER [--only WORD]... [--every N] [--pinned] [--speed]

dpctl, dpnp and Intel's OpenCL runtime are installed into an environment below the folder (3 GB). Each file of tests runs in a process of
its own on each driver. The tables have counts of tests; then come the tests that fail on Heddle alone. With `--every`, each Nth test of each
file runs, the same ones on both drivers: all are 100,000 tests, and take two hours. With `--pinned`, the tests in
dpnp-pinned.txt run on Heddle. With `--speed`, functions of arrays are timed on both drivers, alternating (dpnp_speed.py).
"""

import argparse
import collections
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The packages of `./x test`, the runtime to compare with, and what more tests use.
PACKAGES = ["-r", HERE.parent / "sycl-requirements.txt", "intel-opencl-rt==2026.2.0", "scipy==1.17.1"]
PYTEST = ["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=no", "-rfE", "-p", "every_nth"]
SECONDS = 900


def install(folder):
    """Returns Python's path in an environment with the packages."""
    python = folder / "python/bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "python"], check=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *PACKAGES], check=True)
        (folder / "installed").touch()
    return python


def environment(folder, driver, name):
    """Returns the variables of a run on one driver alone."""
    vendors = folder / "vendors" / name
    vendors.mkdir(parents=True, exist_ok=True)
    (vendors / "driver.icd").write_text(f"{driver}\n")
    variables = {**os.environ, "OCL_ICD_VENDORS": str(vendors), "OCL_ICD_FILENAMES": "", "ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    variables.update(LD_LIBRARY_PATH=str(folder / "python/lib"), HEDDLE_CACHE_DIR=str(folder / "cache"))
    variables.update(PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1")
    return variables


def run_tests(python, variables, tests):
    """Returns the counts of outcomes and the names of failed tests; a process that ends by a signal or hangs counts as crashed."""
    try:
        done = subprocess.run([python, *PYTEST, *tests], env=variables, capture_output=True, text=True, timeout=SECONDS)
        printed, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired:
        printed, status = "", -9
    counts = collections.Counter()
    for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)s?", printed.strip().rsplit("\n", 1)[-1]):
        counts[word] += int(number)
    counts["crashed"] += status < 0 or status > 127
    failed = {line.split()[1].rsplit("/", 1)[-1] for line in printed.splitlines() if re.match(r"(FAILED|ERROR) ", line)}
    return counts, failed


def files(folder, only):
    """Returns the test files of both packages, by a short name."""
    packages = next((folder / "python/lib").glob("python3*")) / "site-packages"
    found = [path for name in ("dpctl", "dpnp") for path in sorted((packages / name / "tests").rglob("test_*.py"))]
    named = {str(path.relative_to(packages)): path for path in found}
    return {name: path for name, path in named.items() if not only or any(word in name for word in only)}


def compare(python, folder, drivers, only, every):
    """Prints the counts of each package and driver; true if Heddle passes what the other one passes."""
    totals = collections.defaultdict(collections.Counter)
    alone = []
    for name, path in files(folder, only).items():
        failed = {}
        for driver, library in drivers.items():
            counts, failed[driver] = run_tests(python, environment(folder, library, driver), [f"--every={every}", path])
            totals[name.split("/")[0], driver].update(counts)
            print(f"{name} {driver}: {dict(counts)}", file=sys.stderr, flush=True)
        alone += sorted(failed["Heddle"] - failed.get("Intel", failed["Heddle"]))
    words = ["passed", "failed", "error", "skipped", "crashed"]
    print("| package | driver | " + " | ".join(words) + " |\n|---|---|" + "---|" * len(words))
    for (package, driver), counts in totals.items():
        print(f"| {package} | {driver} | " + " | ".join(str(counts[word]) for word in words) + " |")
    print(f"\n{len(alone)} tests fail on Heddle alone", *alone, sep="\n")
    crashed = sum(counts["crashed"] for (_, driver), counts in totals.items() if driver == "Heddle")
    return not alone and not crashed


def speed(python, folder, drivers):
    """Prints the times of functions on the drivers, each the least of alternating processes."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(3):
        for driver, library in drivers.items():
            variables = {**environment(folder, library, driver), "PYTHONWARNINGS": "ignore"}
            done = subprocess.run([python, HERE / "dpnp_speed.py"], env=variables, capture_output=True, text=True, timeout=SECONDS)
            for name, seconds in re.findall(r"^(.+): ([0-9.e-]+)$", done.stdout, re.M):
                times[name][driver].append(float(seconds))
            if done.returncode:
                print(done.stderr[-2000:], file=sys.stderr)
    print("| function | Heddle, ms | Intel, ms | ratio |\n|---|---|---|---|")
    ratios = []
    for name, of in times.items():
        if len(of) == 2:
            heddle, intel = min(of["Heddle"]), min(of["Intel"])
            ratios.append(intel / heddle)
            print(f"| {name} | {heddle * 1e3:.2f} | {intel * 1e3:.2f} | {intel / heddle:.2f} |")
    mean = statistics.geometric_mean(ratios) if ratios else 0
    print(f"aim geomean: {mean:.2f} (>= 1.0) {'ok' if mean >= 1 else 'missed'}")
    return True


def main():
    """Runs what the arguments ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("driver")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    python = install(given.folder)
    intel = given.folder / "python/lib/libintelocl.so"
    drivers = {"Heddle": given.driver, "Intel": str(intel)}
    # What an older build of the driver made is not its own.
    shutil.rmtree(given.folder / "cache", ignore_errors=True)
    if given.speed:
        good = speed(python, given.folder, drivers)
    elif given.pinned:
        root = next((given.folder / "python/lib").glob("python3*")) / "site-packages"
        lines = (HERE / "dpnp-pinned.txt").read_text().splitlines()
        tests = [str(root / line) for line in lines if line and not line.startswith("#")]
        counts, failed = run_tests(python, environment(given.folder, given.driver, "Heddle"), tests)
        print(dict(counts), *sorted(failed), sep="\n")
        good = counts["passed"] == len(tests) and not failed
    else:
        good = compare(python, given.folder, drivers, given.only, given.every)
    sys.exit(not good)


main()
