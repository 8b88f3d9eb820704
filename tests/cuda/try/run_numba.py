"""Numba's own tests for CUDA on the CUDA driver.

usage: run_numba.py OUTPUT [--only WORD] [--every N] [--seconds N]

Runs in the Python that has `numba-cuda`. Each file of tests has a process of its own, whose output stays below OUTPUT. A test that ends its
process is crashed; the rest of its file then runs in another process. A test that reaches the limit is slow.
"""

import argparse
import collections
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

PACKAGES = ["pytest", "iniconfig", "pluggy", "pygments", "cffi", "pycparser", "ml_dtypes", "filecheck"]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "numba_fixtures", "--import-mode=importlib"]
LINE = re.compile(r"^(\S+\.py::\S+)(?: (?:(?!^\S+\.py::).)*?(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS))?", re.M | re.S)
WORDS = {"PASSED": "passed", "XFAIL": "passed", "SKIPPED": "skipped", "FAILED": "failed", "ERROR": "failed", "XPASS": "failed"}
OUTCOMES = ["passed", "failed", "crashed", "slow", "skipped"]


def packages(folder):
    """Brings what the tests import besides numba-cuda, and makes it known to this process's children."""
    if not folder.is_dir():
        words = "-m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --target"
        subprocess.run([sys.executable, *words.split(), str(folder), *PACKAGES], check=True)
    os.environ["PYTHONPATH"] = f"{folder}:{Path(__file__).absolute().parent}:{os.environ.get('PYTHONPATH', '')}"


def call(command, folder, seconds):
    """Runs a command with all its children at the lowest priority. Returns exit code, none after the limit, and output."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, preexec_fn=lambda: os.nice(19),
    ) as child:
        try:
            printed, _ = child.communicate(timeout=seconds)
            return child.returncode, printed
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None, child.communicate()[0]


def test_names(folder):
    """Returns the names of all tests by their files."""
    where = subprocess.run(
        [sys.executable, "-c", "import os, numba.cuda.tests as tests; print(os.path.dirname(tests.__file__))"], capture_output=True, text=True
    )
    tests = Path(where.stdout.strip())
    _, printed = call([*PYTEST, "--collect-only", "-q", f"--rootdir={tests}", str(tests)], folder, 600)
    files = collections.defaultdict(list)
    for name in re.findall(r"^(?!benchmarks/)(\S+\.py::\S+)$", printed, re.M):
        files[tests / name.split("::")[0]].append(name)
    if not where.stdout.strip() or not files:
        sys.exit(f"no tests of numba-cuda are found\n{where.stderr[-2000:]}{printed[-2000:]}")
    return tests, dict(sorted(files.items()))


def judge(tests, names, folder, log, seconds):
    """Runs tests, and returns an outcome for each."""
    outcomes, left = {}, list(names)
    while left:
        code, printed = call([*PYTEST, "-v", "--tb=short", f"--rootdir={tests}", *(str(tests / name) for name in left)], folder, seconds)
        with log.open("a") as file:
            file.write(printed)
        lines = LINE.findall(printed.split("= FAILURES =")[0].split("= ERRORS =")[0])
        shown = {os.path.relpath(tests / name, folder): name for name in left}
        begun = [(shown[name], word) for name, word in lines if name in shown]
        outcomes.update((name, WORDS[word]) for name, word in begun if word)
        if code is not None and code >= 0:
            break
        last = begun[-1][0] if begun and begun[-1][0] not in outcomes else next(name for name in left if name not in outcomes)
        outcomes[last] = "slow" if code is None else "crashed"
        left = [name for name in left if name not in outcomes]
    for name in names:
        outcomes.setdefault(name, "failed")
    return outcomes


def main():
    """Prints what does not pass, and the totals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    packages(given.output.absolute() / "packages")
    totals = collections.Counter()
    tests, files = test_names(given.output)
    for file, names in files.items():
        names = [name for name in names if not given.only or any(word in name for word in given.only)][:: given.every]
        if not names:
            continue
        log = given.output / f"{file.stem}.txt"
        log.unlink(missing_ok=True)
        outcomes = judge(tests, names, given.output, log, given.seconds)
        totals.update(outcomes.values())
        for name, outcome in outcomes.items():
            if outcome not in ("passed", "skipped"):
                print(f"{outcome}: {name}", flush=True)
    print(f"{sum(totals.values())} tests: " + ", ".join(f"{totals[word]} {word}" for word in OUTCOMES))
    sys.exit(bool(totals["failed"] or totals["crashed"]))


if __name__ == "__main__":
    main()
