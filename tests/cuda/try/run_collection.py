"""Programs of a collection that the user has, built by NVIDIA's compiler and run on the CUDA driver.

usage: run_collection.py hecbench|cuda-samples DIRECTORY TOOLKIT DRIVER-FOLDER OUTPUT [--headers DIRECTORY] [--only WORD] [--every N]
                         [--skip N] [--seconds N]

The collection is only read: each program is built in a copy of its folder below OUTPUT, and its output stays there. HeCBench's programs
are built by their Makefiles and run with the arguments of `make run`, but with two repetitions where the usage names them. Those of
cuda-samples are built from the sources that CMakeLists.txt lists. With --headers, programs that need cuBLAS, cuRAND or cuFFT are built, too. The
outcome is one of

    not built   the reason is the compiler's first error, or the library that is missing
    passed      the program says so itself
    ran         the exit code is 0; the program does not check its results, or does not say so
    failed      the program says so, or the exit code is not 0
    crashed     a signal ended the program
    refused     the driver named something that it does not support, or the program names the error code for that
    waived      the program says that the device lacks what it shows
    slow        the limit was reached: seconds of the processors, or four times as many on the clock
    no data     the program did not find a file that it reads
"""

import argparse
import collections
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

BUILD_SECONDS = 300
OUTCOMES = ["passed", "ran", "failed", "crashed", "refused", "waived", "slow", "no data", "not built"]
PASSED = re.compile(r"\bPASS(?:ED)?\b|\bsuccess|\bOK\b|\bcorrect\b|\bverified\b|results? match|test passed", re.I)
FAILED = re.compile(r"\bFAIL(?:ED|URE)?\b(?! as expected)|\bincorrect\b|\bmismatch|\bwrong\b|do(?:es)? not match|verification error|CUDA error(?! message)", re.I)
# An assertion that fails is the program's affair.
REFUSED = re.compile(r"^heddle: (?!.*(?:assertion|kernel stopped))(.*)", re.M)
UNSUPPORTED = re.compile(r"^.*(?:cudaErrorNotSupported|CUDA_ERROR_NOT_SUPPORTED|operation not supported).*$", re.M)
WAIVED = re.compile(r"wai?v|not supported on this|does(?:n't| not) support|no .* support", re.I)
DATA = re.compile(r"^.*(?:(?:fail(?:ed)? to|could not|unable to) (?:open|load)|no such (?:file|folder)|bad file\b|can(?:no|')t open|calling stat on|exists\(path\)).*$", re.M | re.I)
SIGNALS = re.compile(r"Segmentation fault|Aborted|Floating point exception|Illegal instruction|Bus error|Error 1(?:3[2-9]|4\d)\b")
OUT_OF_TIME = [-signal.SIGXCPU, 128 + signal.SIGXCPU]
SHELL_OUT_OF_TIME = re.compile(r"CPU time limit exceeded")
COMPILER = """#!/usr/bin/env python3
import os, sys
words, kept, skip = sys.argv[1:], [], False
for word in words:
    if skip:
        skip = False
    elif word in ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code"):
        skip = True
    elif not word.startswith(("-gencode=", "--generate-code=", "-arch=", "--gpu-architecture=", "-code=", "--threads")):
        kept.append(word)
os.execv({nvcc!r}, [{nvcc!r}, "-arch=compute_89", "-cudart=shared", "-Wno-deprecated-gpu-targets", *kept, *{headers!r}, "-L" + {libraries!r}, "-L" + {driver!r}])
"""


class Outcome:
    """Outcome of a program, its reason, and the processor seconds that the run took."""

    def __init__(self, word, reason="", seconds=0.0):
        self.word, self.reason, self.seconds = word, reason, seconds


class Machine:
    """Compiler, driver and limits of all programs."""

    def __init__(self, given):
        self.output, self.seconds = given.output, given.seconds
        tools = given.output / "bin"
        tools.mkdir(parents=True, exist_ok=True)
        compiler = tools / "nvcc"
        # Those of the compiler come first: headers of all packages lie in one folder.
        headers = ["-I" + str(given.toolkit / "include"), "-I" + str(given.headers)] if given.headers else []
        compiler.write_text(COMPILER.format(nvcc=str(given.toolkit / "bin/nvcc"), headers=headers, libraries=str(given.toolkit / "lib"), driver=str(given.driver)))
        compiler.chmod(0o755)
        libraries = f"{given.driver}:{given.toolkit / 'lib'}"
        self.variables = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": libraries,
            "CUDA_HOME": str(given.toolkit),
            "CUDA_PATH": str(given.toolkit),
            "HEDDLE_CACHE_DIR": str(given.output / "cache"),
            "HEDDLE_REPORT": "0",
        }

    def call(self, command, folder, seconds, processor_seconds=None):
        """Runs a command with all its children at the lowest priority. Returns exit code, none after the limit, and output."""

        def start():
            os.nice(19)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if processor_seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds + 1))

        with subprocess.Popen(
            command, cwd=folder, env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True, preexec_fn=start,
        ) as child:
            try:
                printed, _ = child.communicate(timeout=seconds)
                return child.returncode, printed[-200_000:]
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                printed, _ = child.communicate()
                return None, printed[-200_000:]

    def build(self, command, folder):
        """Builds a program. Returns the reason if that fails."""
        code, printed = self.call(command, folder, BUILD_SECONDS)
        if code == 0:
            return None
        if code is None:
            return "compilation takes too long"
        missing = re.search(r"fatal error: ([\w/.+-]+): No such file|cannot find -l([\w.]+)|(\w+): (?:command )?not found", printed)
        if missing:
            return "missing " + next(name for name in missing.groups() if name)
        error = re.search(r"^.*\berror\b.*$", printed, re.M | re.I)
        return shortened(error.group(0) if error else printed.strip()[-100:])

    def run(self, command, folder, log):
        """Runs a program and judges what it did."""
        begin = processor_time()
        # Time of the processors does not depend on what else the machine does. The limit is for the case that all of them work.
        limit = self.seconds * len(os.sched_getaffinity(0))
        code, printed = self.call(["stdbuf", "-oL", *command], folder, 4 * self.seconds, limit)
        if code in OUT_OF_TIME or SHELL_OUT_OF_TIME.search(printed):
            code = None
        log.write_text(printed)
        return judged(code, printed, processor_time() - begin)


def processor_time():
    """Returns the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shortened(text):
    """Returns a text without paths, quotes and numbers that differ between programs."""
    text = re.sub(r"(?:/[\w.+-]+)+/", "", text).strip().replace("|", "/")
    return text if len(text) <= 110 else text[:107] + "..."


def judged(code, printed, seconds):
    """Judges a run by its exit code and output."""
    refused = REFUSED.findall(printed)
    crash = SIGNALS.search(printed)
    data = DATA.search(printed)
    # Programs often abort when a call is refused, or a file is not there.
    if refused:
        return Outcome("refused", shortened(refused[0]), seconds)
    unsupported = UNSUPPORTED.search(printed)
    if unsupported and code != 0:
        return Outcome("refused", shortened(unsupported.group(0)), seconds)
    if data and code not in (0, None) or data and crash:
        return Outcome("no data", shortened(data.group(0)), seconds)
    if code is not None and code < 0:
        return Outcome("crashed", signal.Signals(-code).name, seconds)
    if crash:
        return Outcome("crashed", crash.group(0), seconds)
    if code is None:
        return Outcome("slow", f"{seconds:.0f} s", seconds)
    printed = re.sub(r"^heddle: .*\n?", "", printed, flags=re.M)
    if code == 2 and WAIVED.search(printed):
        return Outcome("waived", shortened(printed.strip().rsplit("\n", 1)[-1]), seconds)
    failed = FAILED.search(printed)
    # "FAILED: 0" and the like count what did not fail.
    if failed and not re.match(r"\s*[:=]?\s*0\b", printed[failed.end() :]):
        if data:
            return Outcome("no data", shortened(data.group(0)), seconds)
        line = printed[printed.rfind("\n", 0, failed.start()) + 1 :].split("\n", 1)[0]
        return Outcome("failed", shortened(line), seconds)
    if code != 0:
        return Outcome("failed", shortened(f"exit code {code}: " + printed.strip().rsplit("\n", 1)[-1]), seconds)
    return Outcome("passed" if PASSED.search(printed) else "ran", "", seconds)


class HeCBench:
    """Programs of HeCBench: a folder and a Makefile each."""

    def __init__(self, source):
        self.source = source / "src" if (source / "src").is_dir() else source

    def names(self):
        """Returns the names of all programs."""
        return sorted(path.parent.name.removesuffix("-cuda") for path in self.source.glob("*-cuda/Makefile"))

    def outcome(self, name, machine):
        """Builds and runs a program."""
        here = machine.output / "src" / f"{name}-cuda"
        shutil.rmtree(here, ignore_errors=True)
        here.parent.mkdir(exist_ok=True)
        # Makefiles name files of other folders by `..`.
        for other in self.source.iterdir():
            link = here.parent / other.name
            if not link.exists() and other.name != here.name:
                link.symlink_to(other)
        if here.is_symlink():
            here.unlink()
        shutil.copytree(self.source / here.name, here, symlinks=True)
        reason = machine.build(["make", "-j1", "CC=nvcc"], here)
        if reason:
            return Outcome("not built", reason)
        code, printed = machine.call(["make", "-s", "-n", "run", "CC=nvcc"], here, 20)
        command = self.fewer_repetitions(here, printed) if code == 0 and printed.strip() else "make run CC=nvcc"
        return machine.run(["bash", "-c", f"set -e\n{command}"], here, machine.output / f"{name}.txt")

    def fewer_repetitions(self, here, command):
        """Returns a command with two repetitions, where a usage text in the sources names them."""
        texts = [path.read_text(errors="replace") for path in here.rglob("*") if path.suffix in (".cu", ".cpp", ".c", ".h", ".cc")]
        usages = [usage.split() for text in texts for usage in re.findall(r"[Uu]sage:?\s*%s ([^\"\\]*)", text)]
        lines = []
        for line in command.splitlines():
            words = line.split()
            for usage in usages:
                first = next((at for at, word in enumerate(words) if word.startswith("./")), len(words))
                for at, word in enumerate(usage):
                    place = first + 1 + at
                    if "repe" in word and len(words) == first + 1 + len(usage) and words[place].isdigit() and int(words[place]) > 2:
                        words[place] = "2"
                        line = " ".join(words)
            lines.append(line)
        return "\n".join(lines)


class CudaSamples:
    """NVIDIA's samples: a folder with CMakeLists.txt each."""

    LIBRARIES = {"CUDA::cuda_driver": "-lcuda", "CUDA::cudart": "", "CUDA::nvrtc": "-lnvrtc"}
    WITH_HEADERS = {"CUDA::cublas": "-lcublas", "CUDA::curand": "-lcurand", "CUDA::cufft": "-lcufft"}

    def __init__(self, given):
        self.source = given.source
        self.libraries = {**self.LIBRARIES, **(self.WITH_HEADERS if given.headers else {})}

    def lists(self):
        """Returns the lists that make a program."""
        return {path.parent.name: path for path in sorted(self.source.glob("Samples/*/**/CMakeLists.txt")) if "add_executable(" in path.read_text()}

    def names(self):
        """Returns the names of all programs."""
        return sorted(self.lists())

    def outcome(self, name, machine):
        """Builds and runs a program."""
        path = self.lists()[name]
        text = re.sub(r"#.*", "", path.read_text())
        here = machine.output / "samples" / name
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(path.parent, here, symlinks=True)
        if (here / "data").is_dir():
            shutil.copytree(here / "data", here, dirs_exist_ok=True)
        executable = re.search(r"add_executable\(\s*(\S+)([^)]*)\)", text)
        libraries = set(re.findall(r"CUDA::\w+", text))
        others = libraries - set(self.libraries)
        for package in ["OpenGL", "GLUT", "Vulkan", "MPI", "EGL", "FreeImage", "OpenMP"]:
            if package != "OpenMP" and re.search(rf"find_package\({package}", text):
                others.add(package)
        if others or "NvSci" in text:
            return Outcome("not built", "missing " + ", ".join(sorted(others) or ["NvSci"]))
        common = self.source / "Common"
        base = ["nvcc", "-std=c++17", "-O2", "--extended-lambda", f"-I{common}", "-I.", "-Iinc"]
        for output, kind in re.findall(r'set\(CUDA_(?:FATBIN|PTX)_FILE "\$\{\w+\}/([^"]+\.(fatbin|ptx))"', text):
            kernel = re.search(r'set\(CUDA_KERNEL_SOURCE "\$\{\w+\}/([^"]+)"', text)
            reason = machine.build([*base, f"-{kind}", "-o", output.replace("${CMAKE_BUILD_TYPE}/", ""), kernel.group(1)], here) if kernel else "no kernel"
            if reason:
                return Outcome("not built", reason)
        sources = [source for source in executable.group(2).split() if source.endswith((".cu", ".cpp", ".c", ".cc"))]
        sources = [source.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "").replace("../../../Common", str(common)) for source in sources]
        options = ["-rdc=true"] if re.search(r"CUDA_SEPARABLE_COMPILATION ON", text) else []
        options += ["-Xcompiler", "-fopenmp"] if "OpenMP" in text else []
        options += [self.libraries[library] for library in sorted(libraries) if self.libraries[library]]
        reason = machine.build([*base, "-o", name, *sources, *options], here)
        if reason:
            return Outcome("not built", reason)
        return machine.run([f"./{name}"], here, machine.output / f"{name}.txt")


def main():
    """Prints a line for each program and the totals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["hecbench", "cuda-samples"])
    for name in ["source", "toolkit", "driver", "output"]:
        parser.add_argument(name, type=Path)
    parser.add_argument("--headers", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for name in ["source", "toolkit", "driver", "output"]:
        setattr(given, name, getattr(given, name).absolute())
    given.headers = given.headers and given.headers.absolute()
    collection = HeCBench(given.source) if given.kind == "hecbench" else CudaSamples(given)
    names = [name for name in collection.names() if not given.only or any(word in name for word in given.only)]
    if not names:
        sys.exit(f"no program of {given.kind} in {given.source}")
    machine = Machine(given)
    totals, reasons = collections.Counter(), collections.Counter()
    print("| program | outcome | s | reason |\n|---|---|---|---|")
    for name in names[given.skip :: given.every]:
        outcome = collection.outcome(name, machine)
        totals[outcome.word] += 1
        if outcome.word in ("refused", "not built"):
            reasons[outcome.word, re.sub(r"@\w+|line \d+:\d+: ", "", outcome.reason).strip()] += 1
        print(f"| {name} | {outcome.word} | {outcome.seconds:.1f} | {outcome.reason} |", flush=True)
    count = sum(totals.values())
    built = count - totals["not built"]
    print(f"\n{count} programs, {built} built: " + ", ".join(f"{totals[word]} {word}" for word in OUTCOMES))
    for (word, reason), number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {number:4} {word}: {reason}")
    sys.exit(bool(totals["crashed"] or totals["failed"]))


if __name__ == "__main__":
    main()
