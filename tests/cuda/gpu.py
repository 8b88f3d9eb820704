"""Runs exported PTX on a CUDA driver, and compares the memory that it leaves with the oracle's: `./x gpu` writes the files.

    python3 tests/cuda/gpu.py CASES [--out FOLDER] [--jobs N] [--limit SECONDS] [--timed FILE]
    python3 tests/cuda/gpu.py CASES --assemble PTXAS        only what the assembler refuses

Each module is compiled by the driver. A process runs modules one after the other; what it had when it ends or takes too long is a
find, and another process takes the rest. Exit code: 0 all equal or not run, 1 something differs, 2 usage.
"""

import argparse
import collections
import ctypes
import json
import math
import os
import queue
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time


class Refused(Exception):
    """A module that the driver does not compile, with its log."""


class Fault(Exception):
    """A call of the driver that fails."""


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        self.device = ctypes.c_int()
        self.check("cuDeviceGet", ctypes.byref(self.device), 0)
        self.context = ctypes.c_void_p()
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.check("cuCtxSetCurrent", self.context)
        self.room, self.bytes = ctypes.c_uint64(), 0

    def check(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise Fault(f"{name}: {(text.value or b'?').decode()}")

    def about(self):
        name, version = ctypes.create_string_buffer(100), ctypes.c_int()
        self.check("cuDeviceGetName", name, 100, self.device)
        self.check("cuDriverGetVersion", ctypes.byref(version))
        numbers = []
        for attribute in (75, 76, 16):
            number = ctypes.c_int()
            self.check("cuDeviceGetAttribute", ctypes.byref(number), attribute, self.device)
            numbers.append(number.value)
        major, minor, processors = numbers
        return {
            "name": name.value.decode(),
            "capability": f"{major}.{minor}",
            "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "processors": processors,
        }

    def load(self, text):
        log = ctypes.create_string_buffer(1 << 16)
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module = ctypes.c_void_p()
        code = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, options, values)
        if code:
            raise Refused(log.value.decode(errors="replace") or f"cuModuleLoadDataEx: {code}")
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def attribute(self, function, number):
        value = ctypes.c_int()
        self.check("cuFuncGetAttribute", ctypes.byref(value), number, function)
        return value.value

    def unload(self, module):
        self.check("cuModuleUnload", module)

    def allocate(self, count):
        at = ctypes.c_uint64()
        self.check("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(count, 1)))
        return at

    def free(self, at):
        self.check("cuMemFree_v2", at)

    def write(self, at, content):
        if content:
            self.check("cuMemcpyHtoD_v2", ctypes.c_uint64(at), content, ctypes.c_size_t(len(content)))

    def read(self, at, count):
        content = ctypes.create_string_buffer(max(count, 1))
        if count:
            self.check("cuMemcpyDtoH_v2", content, ctypes.c_uint64(at), ctypes.c_size_t(count))
        return content.raw[:count]

    def copy(self, to, at, count):
        self.check("cuMemcpyDtoD_v2", ctypes.c_uint64(to), ctypes.c_uint64(at), ctypes.c_size_t(count))

    def launch(self, function, grid, block, shared, args):
        values = [ctypes.create_string_buffer(value, len(value)) for value in args]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        self.check("cuLaunchKernel", function, *grid, *block, shared, None, pointers, None)

    def wait(self):
        self.check("cuCtxSynchronize")

    def event(self):
        event = ctypes.c_void_p()
        self.check("cuEventCreate", ctypes.byref(event), 0)
        return event

    def record(self, event):
        self.check("cuEventRecord", event, None)

    def microseconds(self, start, end):
        self.check("cuEventSynchronize", end)
        took = ctypes.c_float()
        self.check("cuEventElapsedTime", ctypes.byref(took), start, end)
        return took.value * 1e3


# Cases: what objects hold.


def content(value):
    return bytes(value) if isinstance(value, int) else bytes.fromhex(value)


def before(item):
    return content(item["before"])


def after(item):
    return bytes.fromhex(item["after"]) if "after" in item else before(item)


def number_of(arg, places):
    return places[arg[0]] + arg[1] if isinstance(arg, list) else int(arg, 16)


def arguments(case, places):
    for arg in case["args"]:
        if isinstance(arg, dict):
            yield b"".join(number_of(word, places).to_bytes(16, "little")[: arg["bytes"]] for word in arg["words"])
        else:
            yield number_of(arg, places).to_bytes(16, "little")


def run_case(driver, module, case):
    """The memory after a launch, object by object."""
    function = driver.function(module, case["kernel"])
    # Objects lie apart, so that what is written next to one changes no other.
    starts, end = [], 0
    for item in case["objects"]:
        starts.append(end)
        end += (len(before(item)) + 511) // 256 * 256
    block = driver.allocate(end)
    try:
        places = [block.value + start for start in starts]
        for place, item in zip(places, case["objects"]):
            driver.write(place, before(item))
        driver.launch(function, case["grid"], case["block"], case["shared"], list(arguments(case, places)))
        driver.wait()
        return [driver.read(place, len(before(item))) for place, item in zip(places, case["objects"])]
    finally:
        driver.free(block)


# Comparison.

FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "tf32": (32, 23), "f64": (64, 52)}
PACKED = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}


def parts(ty, bits, word):
    """The numbers in a result: the format of each, and its bits."""
    if ty in PACKED:
        each = FORMATS[PACKED[ty]][0]
        return [(PACKED[ty], word & ((1 << each) - 1)), (PACKED[ty], word >> each & ((1 << each) - 1))]
    return [(ty, word & ((1 << min(bits, 64)) - 1))]


def is_nan(ty, word):
    if ty not in FORMATS:
        return False
    width, fraction = FORMATS[ty]
    return word & ((1 << (width - 1)) - 1) > ((1 << (width - 1 - fraction)) - 1) << fraction


def in_order(ty, word):
    """A number's place among all of its format."""
    width = FORMATS[ty][0]
    size = word & ((1 << (width - 1)) - 1)
    return -size if word >> (width - 1) else size


def is_infinite(ty, word):
    width, fraction = FORMATS[ty]
    return word & ((1 << (width - 1)) - 1) == ((1 << (width - 1 - fraction)) - 1) << fraction


def compare_columns(case, found):
    """Rows that differ, and the distances of approximations."""
    columns = case["columns"]
    names = [item["name"] for item in case["objects"]]
    out, into = names.index("out"), names.index("input")
    expected = after(case["objects"][out])
    inputs = before(case["objects"][into])
    threads = math.prod(case["block"]) * math.prod(case["grid"])
    width = len(inputs) // threads
    wrong, distances, special = [], [], 0
    for row in range(case["rows"]):
        for number, (ty, bits, is_approximate) in enumerate(columns):
            at = 8 * (row * len(columns) + number)
            words = [int.from_bytes(content[at : at + 8], "little") for content in (expected, found[out])]
            if ty == "pred":
                words = [word & 1 for word in words]
            for (part, wanted), (_, got) in zip(parts(ty, bits, words[0]), parts(ty, bits, words[1])):
                same = wanted == got or (is_nan(part, wanted) and is_nan(part, got))
                if is_approximate and part in FORMATS:
                    ends = [is_nan(part, word) or is_infinite(part, word) for word in (wanted, got)]
                    if any(ends) or (wanted == 0) != (got == 0) and 0 in (wanted << 1 & (1 << bits) - 1, got << 1 & (1 << bits) - 1):
                        special += not same
                    else:
                        distances.append(abs(in_order(part, wanted) - in_order(part, got)))
                        continue
                if not same:
                    operands = struct.unpack(f"<{width // 8}Q", inputs[row * width : (row + 1) * width])
                    wrong.append((row, number, [hex(word) for word in operands], hex(wanted), hex(got)))
    return wrong, distances


def compare_bytes(case, found):
    """Pieces of four bytes that differ: object, offset, the oracle's, the driver's."""
    wrong = []
    for item, content in zip(case["objects"], found):
        expected = after(item)
        if expected == content:
            continue
        free = bytes.fromhex(item["free"]) if "free" in item else bytes(len(expected))
        for at in range(0, len(expected), 4):
            end = min(at + 4, len(expected))
            if any(expected[place] != content[place] and not free[place] for place in range(at, end)):
                wrong.append((item["name"], at, expected[at:end].hex(), content[at:end].hex()))
    return wrong


def outcome(case, found):
    result = {"name": case["name"], "forms": case["forms"], "state": "equal", "distances": []}
    if "columns" in case:
        wrong, result["distances"] = compare_columns(case, found)
    else:
        wrong = compare_bytes(case, found)
    if wrong:
        result.update(state="different", count=len(wrong), first=wrong[:12])
    result["results"] = case.get("rows", 0)
    return result


# Modules: cases that share a head.


def text_of(module, cases):
    """The text, and the first line of each case in it."""
    text, starts = module["head"], []
    for case in cases:
        if not text.endswith("\n") and text:
            text += "\n"
        starts.append(text.count("\n") + 1)
        text += case["text"]
    return text, starts


def load(driver, module):
    """The loaded module and the cases in it; those that the driver refuses, with the reason."""
    cases, refused = list(module["cases"]), []
    while cases:
        text, starts = text_of(module, cases)
        try:
            return driver.load(text), cases, refused
        except Refused as reason:
            cases, refused = without_refused(cases, refused, starts, str(reason))
    return None, [], refused


def without_refused(cases, refused, starts, log):
    lines = [(int(number), text) for number, text in re.findall(r"line (\d+);? *:? *(?:error *:)? *(.*)", log)]
    named = {}
    for number, text in lines:
        index = sum(start <= number for start in starts) - 1
        if index >= 0:
            named.setdefault(index, text.strip())
    if not named:
        # The log names no case: only one by one tells.
        if len(cases) == 1:
            named = {0: log.strip().splitlines()[0] if log.strip() else "no reason"}
        else:
            named = {len(cases) - 1: "unknown: " + (log.strip().splitlines() or [""])[0]}
    refused = refused + [(cases[index], text) for index, text in named.items()]
    return [case for index, case in enumerate(cases) if index not in named], refused


def run_module(driver, module):
    loaded, cases, refused = load(driver, module)
    for case, reason in refused:
        yield {"name": case["name"], "forms": case["forms"], "state": "refused", "first": reason}
    for case in cases:
        yield outcome(case, run_case(driver, loaded, case))
    if loaded is not None:
        driver.unload(loaded)


def worker(path):
    """Takes offsets of modules from the standard input; answers lines of JSON."""
    driver = Driver()
    with open(path, "rb") as file:
        for line in sys.stdin:
            file.seek(int(line))
            module = json.loads(file.readline())
            results, error = [], None
            try:
                results.extend(run_module(driver, module))
            except (Fault, OSError) as reason:
                error = str(reason)
            print(json.dumps({"results": results, "error": error}), flush=True)
            if error:
                return


class Pool:
    """Processes that run modules; one that fails or takes too long is replaced."""

    def __init__(self, path, jobs, limit, most):
        self.path, self.limit, self.end = path, limit, time.monotonic() + most
        self.work, self.lock, self.all = queue.Queue(), threading.Lock(), []
        self.jobs = jobs

    def add(self, kind, offset, names):
        self.work.put((kind, offset, names))

    def start(self):
        return subprocess.Popen(
            [sys.executable, __file__, self.path, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def serve(self):
        process = None
        while True:
            try:
                kind, offset, names = self.work.get_nowait()
            except queue.Empty:
                break
            if time.monotonic() > self.end:
                with self.lock:
                    late = {"forms": [], "state": "not run", "first": "late"}
                    self.all.extend((kind, offset, {"name": name, **late}) for name in names)
                continue
            process = process or self.start()
            watch = threading.Timer(self.limit, process.kill)
            watch.start()
            try:
                process.stdin.write(f"{offset}\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError:
                line = ""
            in_time = watch.is_alive()
            watch.cancel()
            answer = json.loads(line) if line.strip() else {"results": [], "error": "ended" if in_time else "too slow"}
            results = answer["results"]
            if answer["error"]:
                # The first case without a result is the one that failed.
                known = [result["name"] for result in results]
                left = list(names)
                for name in known:
                    left.remove(name)
                results.append({"name": left[0] if left else "?", "forms": [], "state": "failed", "first": answer["error"]})
                results.extend({"name": name, "forms": [], "state": "not run", "first": ""} for name in left[1:])
                process.kill()
                process.wait()
                process = None
            with self.lock:
                self.all.extend((kind, offset, result) for result in results)
        if process is not None:
            process.stdin.close()
            process.wait()

    def run(self):
        threads = [threading.Thread(target=self.serve) for _ in range(self.jobs)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return self.all


def modules(path):
    """Offset, kind and the cases' names of each module."""
    with open(path, "rb") as file:
        while True:
            offset = file.tell()
            line = file.readline()
            if not line:
                return
            module = json.loads(line)
            yield offset, module


# Reports.


def quantile(numbers, part):
    return sorted(numbers)[min(int(part * len(numbers)), len(numbers) - 1)]


def report(results, out):
    by_kind = collections.defaultdict(collections.Counter)
    by_form = collections.defaultdict(collections.Counter)
    by_instruction = collections.defaultdict(list)
    first, distances, refused = {}, collections.defaultdict(list), collections.Counter()
    for kind, _, result in results:
        by_kind[kind][result["state"]] += 1
        by_kind[kind]["results"] += result.get("results", 0)
        for form in result["forms"]:
            by_form[form][result["state"]] += 1
        if result["state"] in ("different", "failed"):
            for form in result["forms"] or [f"{kind}: {result['name']}"]:
                first.setdefault(form, f"{result['name']}: {result['first']}")
        if result["state"] == "refused":
            refused[(result["name"].split()[0] if kind in ("tables", "forms") else kind, str(result["first"])[:110])] += 1
        if result.get("distances"):
            distances[result["name"]].extend(result["distances"])
    lines = ["kind              equal  different  refused  failed  not run  rows"]
    for kind, states in by_kind.items():
        counts = [states[state] for state in ("equal", "different", "refused", "failed", "not run", "results")]
        lines.append(f"{kind:<16}" + "{:>7} {:>10} {:>8} {:>7} {:>8} {:>5}".format(*counts))
    lines.append("\nform: equal, different, refused; the first difference")
    for form, states in sorted(by_form.items()):
        if states["different"] or states["failed"]:
            lines.append(f"{form}: {states['equal']}, {states['different']}, {states['refused']}; {first.get(form, '')}")
    for kind, _, result in results:
        if not result["forms"] and result["state"] in ("different", "failed"):
            lines.append(f"{kind}: {result['name']}: {result['state']}; {str(result['first'])[:300]}")
    whole = [form for form, states in by_form.items() if states["equal"] and not states["different"]]
    lines.append(f"\n{len(whole)} of {len(by_form)} forms without a difference")
    for form, states in sorted(by_form.items()):
        if not states["equal"] and not states["different"]:
            lines.append(f"only refused: {form}")
    for (name, reason), count in sorted(refused.items()):
        lines.append(f"refused {count}: {name}: {reason}")
    lines.append("\napproximation: results, exact, median, 99 %, most units in the last place")
    for name, numbers in sorted(distances.items()):
        exact = sum(number == 0 for number in numbers)
        lines.append(
            f"{name}: {len(numbers)}, {100 * exact / len(numbers):.0f} %, {quantile(numbers, 0.5)}, {quantile(numbers, 0.99)}, {max(numbers)}"
        )
    print("\n".join(lines))
    if out:
        with open(os.path.join(out, "report.txt"), "w") as file:
            file.write("\n".join(lines) + "\n")
        with open(os.path.join(out, "different.jsonl"), "w") as file:
            for kind, offset, result in results:
                if result["state"] not in ("equal", "refused"):
                    result["distances"] = []
                    file.write(json.dumps([kind, offset, result]) + "\n")
    bad = ("different", "failed", "not run")
    return any(states[state] for states in by_kind.values() for state in bad)


# Times.


def slices_of(driver, case, slices):
    """Objects of all slices, and where each begins; a copy that stays as it is."""
    sizes = [(len(before(item)) + 255) // 256 * 256 for item in case["objects"]]
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += size * slices
    pristine, used = driver.allocate(end), driver.allocate(end)
    for item, size, start in zip(case["objects"], sizes, starts):
        driver.write(pristine.value + start, before(item).ljust(size, b"\0"))
        done = 1
        while done < slices:
            more = min(done, slices - done)
            driver.copy(pristine.value + start + done * size, pristine.value + start, more * size)
            done += more
    return pristine, used, sizes, starts, end


def time_case(driver, case, seconds, rounds):
    slices = case["slices"]
    grid = [case["grid"][0], case["grid"][1], slices]
    pristine, used, sizes, starts, end = slices_of(driver, case, slices)
    places = [used.value + start for start in starts]
    args = list(arguments(case, places))
    variants, by_text = [], {}
    for variant in case["variants"]:
        if variant["text"] in by_text:
            variants.append((variant, by_text[variant["text"]]))
            continue
        try:
            module = driver.load(variant["text"])
        except Refused as reason:
            variants.append((variant, {"error": str(reason)[:300]}))
            continue
        function = driver.function(module, case["kernel"])
        measured = {"function": function, "module": module, "times": [], "way": variant["way"]}
        measured["registers"] = driver.attribute(function, 4)
        measured["local"] = driver.attribute(function, 3)
        by_text[variant["text"]] = measured
        variants.append((variant, measured))
    start, stop = driver.event(), driver.event()
    begun, done = time.monotonic(), 0
    while done < rounds and (done < 5 or time.monotonic() - begun < seconds):
        for measured in by_text.values():
            driver.copy(used.value, pristine.value, end)
            driver.record(start)
            driver.launch(measured["function"], grid, case["block"], case["shared"], args)
            driver.record(stop)
            measured["times"].append(driver.microseconds(start, stop))
            if done == 0:
                wrong = []
                for at in sorted({0, slices // 2, slices - 1}):
                    found = [
                        driver.read(place + at * size, len(before(item)))
                        for place, size, item in zip(places, sizes, case["objects"])
                    ]
                    wrong += compare_bytes(case, found)
                measured["wrong"] = wrong[:3]
        done += 1
    result = []
    for variant, measured in variants:
        times = measured.get("times")
        result.append(
            {
                "way": variant["way"],
                "same": measured.get("way") if measured.get("way") != variant["way"] else None,
                "cycles": variant["cycles"],
                "instructions": variant["instructions"],
                "error": measured.get("error"),
                "registers": measured.get("registers"),
                "local": measured.get("local"),
                "wrong": measured.get("wrong"),
                "median": statistics.median(times) if times else None,
                "least": min(times) if times else None,
                "rounds": len(times) if times else 0,
            }
        )
    for measured in by_text.values():
        driver.unload(measured["module"])
    driver.free(pristine)
    driver.free(used)
    return {"name": case["name"], "slices": slices, "variants": result}


def timer(path, seconds, rounds, skip):
    """Times the modules of a file; answers a line of JSON for each."""
    driver = Driver()
    for number, (_, module) in enumerate(modules(path)):
        if number < skip:
            continue
        for case in module["cases"]:
            answer = {"name": case["name"], "error": None, "kind": module["kind"]}
            try:
                answer.update(time_case(driver, case, seconds, rounds))
            except Fault as reason:
                answer["error"] = str(reason)
            print(json.dumps(answer), flush=True)
            if answer["error"]:
                return


def time_all(path, seconds, rounds, limit, most, out):
    """Starts timers until all modules are timed."""
    total = sum(1 for _ in modules(path))
    end = time.monotonic() + most
    done = []
    while len(done) < total and time.monotonic() < end:
        command = [sys.executable, __file__, path, "--timer", "--seconds", str(seconds), "--rounds", str(rounds), "--skip", str(len(done))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        had = len(done)
        while True:
            watch = threading.Timer(limit, process.kill)
            watch.start()
            line = process.stdout.readline()
            watch.cancel()
            if not line.strip() or time.monotonic() > end:
                break
            done.append(json.loads(line))
        process.kill()
        process.wait()
        if len(done) < total and (len(done) == had or not done[-1]["error"]):
            done.append({"name": f"number {len(done)}", "kind": "?", "error": "ended or too slow", "variants": []})
    if out:
        with open(os.path.join(out, "times.json"), "w") as file:
            json.dump(done, file)
    return report_times(done)


def ranks(numbers):
    order = sorted(range(len(numbers)), key=lambda index: numbers[index])
    found = [0.0] * len(numbers)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and numbers[order[end + 1]] == numbers[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2
        start = end + 1
    return found


def correlation(pairs):
    if len(pairs) < 3:
        return math.nan
    first, second = (ranks([pair[side] for pair in pairs]) for side in (0, 1))
    if len(set(first)) == 1 or len(set(second)) == 1:
        return math.nan
    return statistics.correlation(first, second)


def report_times(done):
    lines = ["kernel: microseconds without passes; way: gain measured (predicted), registers, local memory"]
    pairs, is_wrong = collections.defaultdict(list), False
    for answer in done:
        if answer["error"]:
            lines.append(f"{answer['name']}: {answer['error']}")
            is_wrong = True
            continue
        by_way = {variant["way"]: variant for variant in answer["variants"]}
        base = by_way.get("none")
        if not base or not base["median"]:
            lines.append(f"{answer['name']}: {base and base['error']}")
            continue
        text = f"{answer['name']} x{answer['slices']}: {base['median']:.1f} us, {base['registers']} registers"
        for way, variant in by_way.items():
            if variant["wrong"]:
                is_wrong = True
                text += f"; {way} WRONG {variant['wrong'][0]}"
            if way == "none":
                continue
            if variant["error"] or not variant["median"]:
                text += f"; {way} refused: {variant['error']}"
                continue
            gain, predicted = base["median"] / variant["median"], base["cycles"] / variant["cycles"]
            if variant["same"] is None:
                text += f"; {way} {gain:.3f} ({predicted:.3f}) {variant['registers']} {variant['local']}"
                pairs[(answer["kind"], way)].append((gain, predicted))
        lines.append(text)
    lines.append("\nkind, way: kernels whose text changes, geometric mean measured (predicted), least, rank correlation")
    for (kind, way), gains in sorted(pairs.items()):
        mean, predicted = (math.exp(statistics.fmean(math.log(pair[side]) for pair in gains)) for side in (0, 1))
        least = min(gain for gain, _ in gains)
        lines.append(f"{kind}, {way}: {len(gains)}, {mean:.3f} ({predicted:.3f}), {least:.3f}, {correlation(gains):.2f}")
    print("\n".join(lines))
    return is_wrong


# The assembler, where there is no GPU.


def assemble(path, ptxas):
    """Counts the cases that an assembler refuses, by instruction and reason."""
    refused, total = collections.Counter(), 0
    for _, module in modules(path):
        cases = list(module["cases"])
        total += len(cases)
        lost = []
        while cases:
            text, starts = text_of(module, cases)
            done = assemble_text(ptxas, text)
            if done.returncode == 0:
                break
            cases, lost = without_refused(cases, lost, starts, done.stderr)
        for case, reason in lost:
            name = case["name"] if module["kind"] in ("tables", "forms") else module["kind"]
            refused[(name, reason[:140])] += 1
    for (name, reason), count in sorted(refused.items()):
        print(f"{count} {name}: {reason}")
    print(f"{sum(refused.values())} of {total} refused")


def assemble_text(ptxas, text):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        command = [ptxas, "-O0", "-arch", "sm_90", "-o", "/dev/null", file.name]
        return subprocess.run(command, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="?")
    parser.add_argument("--out", help="folder for the reports")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 12))
    parser.add_argument("--limit", type=float, default=30, help="seconds for a module, its compilation included")
    parser.add_argument("--most", type=float, default=3600, help="seconds for all modules, and for all times")
    parser.add_argument("--timed", metavar="FILE", help="kernels to time afterwards")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds for each kernel to time")
    parser.add_argument("--rounds", type=int, default=40, help="times for each text of a kernel")
    parser.add_argument("--assemble", metavar="PTXAS", help="ask this assembler, and run nothing")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--timer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.cases)
    if options.timer:
        return timer(options.cases, options.seconds, options.rounds, options.skip)
    if options.assemble:
        return assemble(options.cases, options.assemble)
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        print("not run: no libcuda")
        return 0
    probe = "import gpu, json; print(json.dumps(gpu.Driver().about()))"
    folder = os.path.dirname(os.path.abspath(__file__))
    about = subprocess.run([sys.executable, "-c", probe], cwd=folder, capture_output=True, text=True)
    if about.returncode:
        print(f"not run: libcuda has no device: {(about.stderr.strip().splitlines() or [''])[-1]}")
        return 0
    print("on", ", ".join(f"{key} {value}" for key, value in json.loads(about.stdout).items()), flush=True)
    if options.out:
        os.makedirs(options.out, exist_ok=True)
    is_wrong = False
    if options.cases:
        pool = Pool(options.cases, options.jobs, options.limit, options.most)
        for offset, module in modules(options.cases):
            pool.add(module["kind"], offset, [case["name"] for case in module["cases"]])
        begun = time.monotonic()
        results = pool.run()
        print(f"{len(results)} cases in {time.monotonic() - begun:.0f} s\n", flush=True)
        is_wrong = report(results, options.out)
    if options.timed:
        begun = time.monotonic()
        is_wrong = time_all(options.timed, options.seconds, options.rounds, options.limit, options.most, options.out) or is_wrong
        print(f"times in {time.monotonic() - begun:.0f} s")
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
