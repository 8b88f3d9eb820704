"""Runs the commands and programs of documents: README.md, python/README.md and docs/howto.

usage: run_documents.py REPOSITORY TARGET FOLDER [DOCUMENT…]

Each document is one session of bash in an empty folder, in which the names that documents use stand for programs
(fixtures). The word after the fence says what is done with a block:

    sh           commands; none installs packages
    console      commands after `$ `, and the output that they have; a line `…` stands for any lines
    python       a program, with the names of the blocks before it
    rust run     a program that uses the library
    LANGUAGE file=NAME   the contents of a file, which a later command of the document reads

A block with `not-run: REASON` is not run: blocks and their reasons are printed. So are commands in a sentence or a table, after
`<!-- not-run COMMAND: REASON -->`. All others are run after the blocks of their document.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from document_blocks import blocks, commands_in_text

ROOT, TARGET, FOLDER = (Path(path).resolve() for path in sys.argv[1:4])
FIXTURES = Path(__file__).resolve().parent
RELEASE = TARGET / "release"
SECONDS = 120
# The library as it was built with this test.
RUST = (
    "rustc --edition 2024 {folder}/main.rs -o {folder}/main --extern heddle=target/release/libheddle_library.rlib "
    "-L dependency=target/release/deps -L native=$(llvm-config-22 --libdir) && {folder}/main"
)


class Session:
    """Script of a document, and what is compared after it."""

    def __init__(self, document, folder):
        self.document, self.folder = document, folder
        self.script, self.programs, self.outputs, self.skipped, self.files = [], [], [], [], []
        self.count = 0

    def add(self, block):
        words = block.words
        reason = block.option("not-run")
        if reason is not None:
            self.skipped.append((block.line, reason))
            return
        self.count += 1
        self.script.append(f"echo {self.document}:{block.line} >&3")
        if block.option("file"):
            name = block.option("file").split()[0]
            self.files.append(name)
            (self.folder / "work" / name).unlink(missing_ok=True)
            (self.folder / "work" / name).write_text(block.text, encoding="utf-8")
        elif words[:1] == ["sh"]:
            assert "pip install" not in block.text, f"{self.document}:{block.line}: a test installs no release"
            self.script.append(block.text)
        elif words[:1] == ["console"]:
            self.add_console(block)
        elif words[:2] == ["rust", "run"]:
            (self.folder / "main.rs").write_text(block.text, encoding="utf-8")
            self.script.append(RUST.format(folder=self.folder))
        elif words[:1] == ["python"]:
            self.programs.append(block.text)
            (self.folder / f"block{block.line}.py").write_text("\n".join(self.programs), encoding="utf-8")
            self.script.append(f"python {self.folder}/block{block.line}.py")
        else:
            raise SystemExit(f"{self.document}:{block.line}: a block of `{block.info}` is not run: give it file=NAME or not-run: REASON")

    def add_console(self, block):
        command, expected = None, []
        for line in [*block.text.splitlines(), "$ "]:
            if not line.startswith("$ "):
                expected.append(line)
                continue
            if command is not None:
                output = self.folder / f"output{block.line}-{len(self.outputs)}"
                self.script.append(f"{{ {command}\n}} >{output} 2>&1")
                self.outputs.append((block.line, command, expected, output))
            command, expected = line[2:], []

    def run(self, environment):
        place = self.folder / "place"
        script = "set -eo pipefail\n" + "\n".join(self.script)
        unused = [name for name in self.files if name not in script]
        assert not unused, f"{self.document}: no command reads {unused}"
        with open(place, "w", encoding="utf-8") as at:
            done = subprocess.run(
                ["timeout", str(SECONDS), "bash", "-c", script, "bash"],
                cwd=self.folder / "work", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False, pass_fds=[at.fileno()],
                preexec_fn=lambda: os.dup2(at.fileno(), 3),
            )  # fmt: skip
        if done.returncode:
            last = place.read_text(encoding="utf-8").splitlines()[-1:]
            raise SystemExit(f"{' '.join(last)} fails with {done.returncode}:\n{done.stdout[-3000:]}")
        for line, command, expected, output in self.outputs:
            found = output.read_text(encoding="utf-8")
            pattern = "".join(r"(?:.*\n)*" if it.strip() == "…" else re.escape(it) + r"\n" for it in expected)
            if not re.fullmatch(pattern, found):
                raise SystemExit(f"{self.document}:{line}: `{command}` prints\n{found}\ninstead of\n" + "\n".join(expected))


def prepare(folder):
    """Makes the folder of a document with the names that documents use; returns the variables of its session."""
    shutil.rmtree(folder, ignore_errors=True)
    work, home, tools = folder / "work", folder / "home", folder / "bin"
    for path in (work, home, tools):
        path.mkdir(parents=True)
    for name in ("examples", "include"):
        (work / name).symlink_to(ROOT / name)
    (work / "target").symlink_to(TARGET)
    # The tests run in what `./x build` has built.
    (work / "x").write_text(f'#!/bin/sh\nexec "{ROOT}/x" "$@"\n', encoding="utf-8")
    (work / "x").chmod(0o755)
    (tools / "heddle").symlink_to(RELEASE / "heddle")
    for path in FIXTURES.iterdir():
        if path.suffix in (".cl", ".c"):
            shutil.copy(path, work / path.name)
    for name in ("program.py", "script.py", "your_program.py", "your_numba_program.py", "your_numba_cuda_program.py", "your_pyopencl_program.py"):
        (work / name).symlink_to(FIXTURES / "program.py")
    for name in ("your-opencl-program", "your-program", "program"):
        (work / name).symlink_to(FOLDER / "opencl-program")
    variables = dict(os.environ)
    real = Path.home()
    variables.setdefault("CARGO_HOME", str(real / ".cargo"))
    variables.setdefault("RUSTUP_HOME", str(real / ".rustup"))
    path = [str(tools), str(Path(sys.executable).parent), variables["PATH"]]
    variables.update(
        HOME=str(home), PATH=":".join(path), HEDDLE_CACHE_DIR=str(FOLDER / "cache"), HEDDLE_X_BUILT="1", CARGO_TARGET_DIR=str(TARGET),
        PYTHONPATH=str(ROOT / "python"), HEDDLE_COMMAND=str(RELEASE / "heddle"), OCL_ICD_VENDORS=str(FOLDER / "vendors"),
        HEDDLE_LIBRARY=str(FOLDER / "lib/libheddle.so"),
    )  # fmt: skip
    for name in ("LD_LIBRARY_PATH", "HEDDLE_CPU", "HEDDLE_REPORT", "HEDDLE_TRIALS", "HEDDLE_THREADS", "HEDDLE_CACHE"):
        variables.pop(name, None)
    return variables


def run_document(path):
    """Runs a document; returns how much of it was run, and what was not, with reasons."""
    name = str(path.relative_to(ROOT))
    folder = FOLDER / name.replace("/", "-")
    environment = prepare(folder)
    session = Session(name, folder)
    text = path.read_text(encoding="utf-8")
    try:
        for block in blocks(text):
            session.add(block)
    except SystemExit as reason:
        raise SystemExit(f"{name}: {reason}") from None
    commands, skipped = commands_in_text(text)
    verbs = subprocess.run([ROOT / "x", "help"], capture_output=True, text=True, check=True).stdout
    for command in commands:
        if command in skipped:
            session.skipped.append((f"`{command}`", skipped.pop(command)))
        elif command.startswith("pip "):
            session.skipped.append((f"`{command}`", "installs a release; `./x wheel --test` installs the wheel"))
        elif command.startswith("./x "):
            # These take minutes, and `./x test` runs inside of one.
            verb = command.split()[1]
            assert re.search(rf"^  (.*\| )?{verb}\b", verbs, re.M), f"{name}: there is no `{command}`"
            session.skipped.append((f"`{command}`", "takes minutes; the verb exists"))
        else:
            session.count += 1
            # A verb by itself is run for its help.
            line = f"{command} --help" if len(command.split()) == 2 and command.startswith("heddle ") else command
            session.script.append(f"echo '{name}: `{command}`' >&3\n{line}")
    assert not skipped, f"{name} does not contain {skipped}"
    session.run(environment)
    return session.count, session.skipped


def main():
    """Runs documents, and prints what was not run."""
    vendors = FOLDER / "vendors"
    vendors.mkdir(parents=True, exist_ok=True)
    # The tree of a package, as the Python package has it.
    lib = FOLDER / "lib"
    shutil.rmtree(lib, ignore_errors=True)
    (lib / "heddle").mkdir(parents=True)
    (lib / "libheddle.so").symlink_to(Path(os.environ["HEDDLE_LIBRARY"]).resolve())
    (lib / "heddle/cuda").symlink_to(RELEASE / "cuda")
    # Documents that register the driver replace the variable that names this folder.
    (vendors / "heddle.icd").write_text(f"{RELEASE / 'libheddle_opencl.so'}\n", encoding="utf-8")
    subprocess.run(
        ["cc", "-O1", "-I", ROOT / "tests/opencl", ROOT / "tests/opencl/vector_add.c", "-lOpenCL", "-o", FOLDER / "opencl-program"],
        check=True,
    )
    documents = [ROOT / name for name in sys.argv[4:]]
    documents = documents or [ROOT / "README.md", ROOT / "python/README.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
    total, missing = 0, 0
    for path in documents:
        count, skipped = run_document(path)
        total, missing = total + count, missing + len(skipped)
        for place, reason in skipped:
            print(f"not run: {path.relative_to(ROOT)}:{place}: {reason}")
    print(f"{total} blocks and commands of {len(documents)} documents run, {missing} not run")


if __name__ == "__main__":
    main()
