"""Times of the OpenCL benchmark's workloads on Heddle, as SPIR-V that clang writes against OpenCL C, launches alternating.

usage: spirv_speed.py SOURCES HEDDLE-DRIVER FOLDER [WORKLOAD]...

The kernels that nobody tuned for follow as `FILE:KERNEL`, the filters of images.cl, then the kernels of tests/opencl-c and tests/clc,
with the inputs of test_kernels.lines, for which there are aims of their own. Each workload runs in two processes of one thread, which
take turns, and again in others: times of short launches depend on where a process has its memory. The table has the times of the shortest
launches by the wall clock (filters: by processor time, as images.c measures): in virtual machines, processor time lacks what the host
took at other moments, so that launches of microseconds seem to take half of their time. Kernels below the aim run again until the trials
of codes have ended, in rows of their own (`settled`): a short run has the code that estimates choose, which may be another one for either
way. A ratio below 1 says that SPIR-V is slower. Results of workloads are compared with those on the host by the benchmark's driver, those
of the other kernels with one another.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

PROCESSES = 3
ROUNDS = 6
MILLISECONDS = 25
SETTLING = 10 * MILLISECONDS
# Trials cost 5 % of the time, and a code takes LLVM 0.1 s and more.
SETTLING_OF_TRIALS = 8000
LEAST_RATIO = 0.97
LEAST_MEAN = 0.99
WORST = 1e-3
TESTS = Path(__file__).resolve().parent.parent
# Decorations of sums that do not wrap, as SYCL's compilers write them; clang leaves them out by itself. The others are for tests.
FLAGS = (
    "--target=spirv64-unknown-unknown -Xclang -finclude-default-header -O1 -c -x cl"
    " -mllvm --spirv-ext=+SPV_KHR_no_integer_wrap_decoration,+SPV_EXT_shader_atomic_float_add,"
    "+SPV_EXT_shader_atomic_float_min_max,+SPV_EXT_shader_atomic_float16_add,+SPV_KHR_uniform_group_instructions"
).split()
# Filters on images by their kernels' names, and the sizes that images.c gives them.
IMAGES = "images.cl:"
FILTER_SIZES = ("-DWIDTH=1024", "-DHEIGHT=768")


def prepare(sources, driver, folder):
    """Compiles the benchmark's driver and its kernels; returns the files that clang writes no SPIR-V of."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("source", "spirv", "vendors"):
        (folder / name).mkdir(parents=True)
    (folder / "vendors/heddle.icd").write_text(f"{driver}\n")
    files = [str(sources / name) for name in ("driver.c", "workloads.c", "unseen.c")]
    subprocess.run(["clang-22", "-O3", "-march=native", "-o", folder / "driver", *files, "-lOpenCL", "-lm"], check=True)
    listed = {path.name: (path, path.read_text()) for path in [*sources.glob("*.cl"), *sources.glob("unseen/*.cl")]}
    del listed["images.cl"]
    listed |= {name.replace("/", "-"): (TESTS / name, lines) for name, lines in test_kernels(sources).items()}
    prepare_filters(sources, folder)
    left_out = []
    for name, (path, lines) in sorted(listed.items()):
        shutil.copy(path, folder / "source" / name)
        for way in ("source", "spirv"):
            (folder / way / f"{name}.lines").write_text(lines)
        standard = re.search(r"-cl-std=\S+", lines)
        words = [*FLAGS, standard[0] if standard else "-cl-std=CL2.0", path, "-o", folder / "spirv" / name]
        if subprocess.run(["clang-22", *words], stderr=subprocess.DEVNULL).returncode:
            left_out.append(name)
    return left_out


def filters(sources):
    """Returns the kernels of images.cl by the name of their program, and its source: what precedes all filters, and the filter."""
    head, *parts = re.split(r"^//! ", (sources / "images.cl").read_text(), flags=re.MULTILINE)
    named = {re.match(r"\w+", part)[0]: part.partition("\n")[2] for part in parts}
    return {name: (re.findall(r"^kernel void (\w+)", part, flags=re.MULTILINE), head + part) for name, part in named.items()}


def prepare_filters(sources, folder):
    """Compiles the program that runs filters, and each filter to SPIR-V."""
    words = ["clang-22", "-O2", "-o", folder / "images", sources / "images.c", "-lOpenCL"]
    subprocess.run(words, check=True)
    for way in ("source", "spirv"):
        shutil.copy(sources / "images.cl", folder / way)
    for name, (_, text) in filters(sources).items():
        path = folder / f"{name}.cl"
        path.write_text(text)
        words = [*FLAGS, "-cl-std=CL2.0", *FILTER_SIZES, path, "-o", folder / "spirv" / f"{name}.spv"]
        subprocess.run(["clang-22", *words], check=True)


def test_kernels(sources):
    """Returns the descriptions of launches in each file of tests."""
    parts = re.split(r"^// (\S+\.cl)\n", (sources / "test_kernels.lines").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def start(folder, way, workload):
    """Starts a process that runs a workload; returns it and the error of its results."""
    variables = {**os.environ, "OCL_ICD_VENDORS": str(folder / "vendors"), "HEDDLE_THREADS": "1"}
    variables["HEDDLE_CACHE_DIR"] = str(folder / "cache" / way)
    words = [folder / "driver", folder / way, workload, "0"]
    is_filter = workload.startswith(IMAGES)
    if is_filter:
        kernel = workload.removeprefix(IMAGES)
        program = kernel.removesuffix("_buffer")
        words = [folder / "images", folder / way, program, *(["buffer"] if kernel != program else [])]
    process = subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline().split(";")
    if len(line) < (1 if is_filter else 4) or not line[0].strip():
        process.kill()
        return None, 0.0
    return process, 0.0 if is_filter else float(line[3])


def end(process):
    """Ends a process; returns the sum that it prints at the end of its input, if any."""
    process.stdin.close()
    last = process.stdout.read().split()
    process.wait()
    return float(last[-1]) if last else 0.0


def least(process, milliseconds):
    """Returns the time of the shortest launch."""
    process.stdin.write(f"{milliseconds}\n")
    process.stdin.flush()
    return float(process.stdout.readline().split(";")[0])


def described(files):
    """Names the kernels of files that a line describes."""
    kernel = re.compile(r"^//! .*global=.*\nkernel void (\w+)", re.MULTILINE)
    return [f"{file}:{name}" for file, text in files for name in kernel.findall(text)]


def state(ratios, what):
    """Prints the slow kernels among these ratios, and the aims."""
    if not ratios:
        return
    mean, slowest = statistics.geometric_mean(ratios.values()), min(ratios, key=ratios.get)
    print(f"below {LEAST_RATIO}:", *[f"{name} ({ratio:.2f})" for name, ratio in ratios.items() if ratio < LEAST_RATIO])
    print(f"aim geomean{what}: {mean:.3f} (>= {LEAST_MEAN}) {'ok' if mean >= LEAST_MEAN else 'missed'}")
    met = "ok" if ratios[slowest] >= LEAST_RATIO else "missed"
    print(f"aim slowest{what} ({slowest}): {ratios[slowest]:.3f} (>= {LEAST_RATIO}) {met}")


def measure(folder, name, settling=SETTLING):
    """Returns the least times of a workload in OpenCL C and SPIR-V, and whether both results are right; none if it does not run."""
    times, is_right = [], True
    for _ in range(PROCESSES):
        started = [start(folder, way, name) for way in ("source", "spirv")]
        processes = [process for process, _ in started]
        if None in processes:
            [process.kill() for process in processes if process]
            return None
        errors = [error for _, error in started]
        if ":" in name:
            is_right &= math.isclose(*errors, rel_tol=WORST) or all(map(math.isnan, errors))
        else:
            is_right &= max(errors) <= WORST
        [least(process, settling) for process in processes]
        times += [[least(process, MILLISECONDS) for process in processes] for _ in range(ROUNDS)]
        if name.startswith(IMAGES):
            is_right &= math.isclose(*[end(process) for process in processes], rel_tol=WORST)
        else:
            [process.kill() for process in processes]
    return [min(column) for column in zip(*times)], is_right


def main():
    """Prints a line for each workload, and the aims."""
    sources, driver, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    print("clang writes no SPIR-V of:", *prepare(sources, driver, folder))
    listed = subprocess.run([folder / "driver", "list"], capture_output=True, text=True, check=True).stdout.split()
    names = [line.split(";")[0] for line in listed]
    names += described((path.name, path.read_text()) for path in sorted(sources.glob("unseen/*.cl")))
    names += [f"{IMAGES}{kernel}" for kernels, _ in filters(sources).values() for kernel in kernels]
    of_tests = described((name.replace("/", "-"), lines) for name, lines in test_kernels(sources).items())
    ratios, settled, is_right = {}, {}, True
    print("| workload | OpenCL C, ms | SPIR-V, ms | ratio |\n|---|---|---|---|")
    for name in names + of_tests:
        if sys.argv[4:] and not any(name == word or name.startswith(word) for word in sys.argv[4:]):
            continue
        measured = measure(folder, name)
        if measured is None or not all(measured[0]):
            print(f"{name}: not run, or below the resolution of the clock", file=sys.stderr)
            continue
        times, has_right_results = measured
        if not has_right_results:
            print(f"{name}: wrong results", file=sys.stderr)
        is_right &= has_right_results
        ratios[name] = times[0] / times[1]
        print(f"| {name} | {times[0] * 1e3:.4f} | {times[1] * 1e3:.4f} | {ratios[name]:.3f} |", flush=True)
        settled[name] = ratios[name]
        again = measure(folder, name, SETTLING_OF_TRIALS) if ratios[name] < LEAST_RATIO else None
        if again and all(again[0]):
            (source, spirv), has_right_results = again
            is_right &= has_right_results
            settled[name] = source / spirv
            print(f"| {name}, settled | {source * 1e3:.4f} | {spirv * 1e3:.4f} | {settled[name]:.3f} |", flush=True)
    for kind, of_kind in (("", ratios), (" settled", settled)):
        state({name: ratio for name, ratio in of_kind.items() if name not in of_tests}, kind)
        state({name: ratio for name, ratio in of_kind.items() if name in of_tests}, f"{kind} of tests")
    sys.exit(not is_right)


main()
