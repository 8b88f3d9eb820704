"""The tests of dpctl and dpnp on the OpenCL drivers of this machine, and times of dpnp's functions.

usage: try_dpnp.py FOLDER HEDDLE-DRIVER [--only WORD]... [--skip WORD]... [--every N] [--resume] [--pinned] [--speed]

dpctl, dpnp and Intel's OpenCL runtime are installed into an environment below the folder (3 GB). Each file of tests runs in a process of
its own on each driver. The tables have counts of tests; then come the tests that fail on Heddle alone. With `--every`, each Nth test of each
file runs, the same ones on both drivers: all are 100,000 tests, and take hours. A test that ends its process, or takes longer than
SECONDS, has crashed, and the tests after it run in the next process. Outcomes are kept in FOLDER/outcomes; `--resume` runs only tests without
one. With `--pinned`, the tests in dpnp-pinned.txt run on Heddle. With `--speed`, functions of arrays are timed on both drivers, alternating (dpnp_speed.py).
"""

import argparse
import collections
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The packages of `./x test`, the runtime to compare with, and what more tests use.
PACKAGES = ["-r", HERE.parent / "sycl-requirements.txt", "intel-opencl-rt==2026.2.0", "scipy==1.17.1"]
PYTEST = ["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=no", "-p", "every_nth", "-p", "record_outcomes"]
SECONDS = 300
# Statuses of pytest: all passed, some failed, files could not be read, no tests.
ENDED = (0, 1, 2, 5)
# Outcomes of tests that do not pass.
BAD = ("failed", "error", "crashed")


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
    if name == "Intel":
        # Heddle's driver keeps programs by itself.
        variables.update(SYCL_CACHE_PERSISTENT="1", SYCL_CACHE_DIR=str(folder / "cache"))
    return variables


def packages(folder):
    """Returns the folder of the environment's packages."""
    return next((folder / "python/lib").glob("python3*")) / "site-packages"


def run_process(command, variables, record):
    """Returns the status of a process, which is killed once it has recorded nothing for SECONDS."""
    record.touch()
    with record.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        while process.poll() is None:
            if time.time() - record.stat().st_mtime > SECONDS:
                process.kill()
            time.sleep(0.1)
    return process.returncode


def run_tests(folder, variables, record, tests):
    """Returns the outcome of each test; the record keeps them."""
    record.parent.mkdir(parents=True, exist_ok=True)
    lines = lambda: [line.split(" ", 1) for line in record.read_text().splitlines()]
    command = [folder / "python/bin/python", *PYTEST, "--rootdir", packages(folder), "--outcomes", record, *tests]
    while not record.exists() or ["ended", "all"] not in lines():
        status = run_process(command, variables, record)
        known = {test for word, test in lines() if word != "start"}
        started = [test for word, test in lines() if word == "start" and test not in known]
        with record.open("a") as file:
            if status not in ENDED:
                file.write(f"crashed {started[-1] if started else 'process'}\n")
            if status in ENDED or not started:
                file.write("ended all\n")
    return {test: word for word, test in lines() if word not in ("start", "ended")}


def files(folder, only, skip):
    """Returns the chosen test files of both packages, by a short name."""
    root = packages(folder)
    found = [path for name in ("dpctl", "dpnp") for path in sorted((root / name / "tests").rglob("test_*.py"))]
    named = {str(path.relative_to(root)): path for path in found}
    has = lambda name, words: any(word in name for word in words)
    return {name: path for name, path in named.items() if (not only or has(name, only)) and not has(name, skip)}


def compare(folder, drivers, chosen, every):
    """Prints the counts of each package and driver; true if Heddle passes what the other one passes."""
    totals = collections.defaultdict(collections.Counter)
    alone = []
    for name, path in chosen.items():
        failed = {}
        for driver, library in drivers.items():
            record = folder / "outcomes" / driver / name.replace("/", ".")
            outcomes = run_tests(folder, environment(folder, library, driver), record, [f"--every={every}", path])
            failed[driver] = {test for test, word in outcomes.items() if word in BAD}
            counts = collections.Counter(outcomes.values())
            totals[name.split("/")[0], driver].update(counts)
            print(f"{name} {driver}: {dict(counts)}", file=sys.stderr, flush=True)
        alone += sorted(failed["Heddle"] - failed["Intel"])
    words = ["passed", "skipped", "xfailed", "xpassed", *BAD]
    print("| package | driver | " + " | ".join(words) + " |\n|---|---|" + "---|" * len(words))
    for (package, driver), counts in totals.items():
        print(f"| {package} | {driver} | " + " | ".join(str(counts[word]) for word in words) + " |")
    print(f"\n{len(alone)} tests fail on Heddle alone", *alone, sep="\n")
    return not alone


def speed(python, folder, drivers):
    """Prints the times of functions on the drivers, each the least of alternating processes."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(3):
        for driver, library in drivers.items():
            variables = {**environment(folder, library, driver), "PYTHONWARNINGS": "ignore"}
            done = subprocess.run([python, HERE / "dpnp_speed.py"], env=variables, capture_output=True, text=True, timeout=3 * SECONDS)
            for name, seconds in re.findall(r"^(.+): ([0-9.e+-]+)$", done.stdout, re.M):
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
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    python = install(given.folder)
    intel = given.folder / "python/lib/libintelocl.so"
    drivers = {"Heddle": given.driver, "Intel": str(intel)}
    if not given.resume:
        # What an older build of the driver made is not its own.
        for name in ("cache", "outcomes"):
            shutil.rmtree(given.folder / name, ignore_errors=True)
    if given.speed:
        good = speed(python, given.folder, drivers)
    elif given.pinned:
        root = packages(given.folder)
        lines = (HERE / "dpnp-pinned.txt").read_text().splitlines()
        tests = [str(root / line) for line in lines if line and not line.startswith("#")]
        variables = environment(given.folder, given.driver, "Heddle")
        outcomes = run_tests(given.folder, variables, given.folder / "outcomes/pinned", tests)
        print(dict(collections.Counter(outcomes.values())), *(test for test, word in outcomes.items() if word != "passed"), sep="\n")
        good = len(outcomes) == len(tests) and set(outcomes.values()) == {"passed"}
    else:
        good = compare(given.folder, drivers, files(given.folder, given.only, given.skip), given.every)
    sys.exit(not good)


main()
