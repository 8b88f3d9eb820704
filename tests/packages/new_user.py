"""Does what documents tell a new user, word by word: each document in an environment of its own, from `pip install` on.

usage: new_user.py WHEELS FOLDER DOCUMENT…, with fixtures and suites next to this program. Wheels are found by pip in the folder
WHEELS, Heddle's own in the current folder. Of a document (Markdown) all commands and programs run but those that a reason keeps
from it; of README.md, whose other commands build from source, those that install the wheel. Of a workflow (`.yml`) the steps run.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from document_blocks import blocks, commands_in_text

HERE = Path(__file__).resolve().parent
WHEELS, FOLDER = (Path(path).resolve() for path in sys.argv[1:3])
# The reason of blocks that this program runs.
INSTALLS = "`./x wheel --test`"
PROGRAMS = ("program.py", "script.py", "your_pyopencl_program.py", "your_numba_cuda_program.py")
SUITES = {"opencl": "opencl_suite.py", "cuda": "cuda_suite.py"}


def of_markdown(text, folder, only_installing):
    """Returns a script with the blocks and commands of a document."""
    script, programs = [], []
    for block in blocks(text):
        reason = block.option("not-run")
        installs = reason is not None and INSTALLS in reason
        if (reason is not None or only_installing) and not installs:
            continue
        if block.words[0] == "sh":
            script.append(block.text)
        elif block.words[0] == "python":
            programs.append(block.text)
            (folder / f"block{block.line}.py").write_text("\n".join(programs), encoding="utf-8")
            script.append(f"python block{block.line}.py")
    commands, _ = commands_in_text(text)
    # Programs in C are not here.
    commands = [] if only_installing else [command for command in commands if "./" not in command]
    # A verb by itself only prints its help.
    script += [f"{command} --help" if re.fullmatch(r"heddle \w+", command) else command for command in commands]
    return script


def of_workflow(text):
    """Returns a script with the steps of a workflow that need no compiler."""
    script = []
    for line in text.splitlines():
        step = re.match(r" *- run: (.*)", line)
        variable = re.match(r" {10}(\w+): '(.*)'", line)
        if step and "cmake" not in step[1]:
            script.append(step[1])
        elif variable and script:
            script[-1] = f"{variable[1]}={variable[2]} {script[-1]}"
    return script


def main():
    """Runs the documents."""
    for document in map(Path, sys.argv[3:]):
        folder = FOLDER / document.name.replace(".", "-") / document.parent.name
        shutil.rmtree(folder, ignore_errors=True)
        work = folder / "work"
        work.mkdir(parents=True)
        for fixture in (HERE / "documents").iterdir():
            shutil.copy(fixture, work / fixture.name)
        for name in PROGRAMS:
            shutil.copy(HERE / "documents/program.py", work / name)
        for name, suite in SUITES.items():
            (work / "tests" / name).mkdir(parents=True)
            shutil.copy(HERE / suite, work / "tests" / name / "test_suite.py")
        for wheel in WHEELS.glob("heddle_simd-*.whl"):
            (work / wheel.name).symlink_to(wheel)
        text = document.read_text(encoding="utf-8")
        only_installing = document.name == "README.md" and "From source" in text
        script = of_workflow(text) if document.suffix == ".yml" else of_markdown(text, work, only_installing)
        assert any("pip install" in line for line in script), f"{document} installs nothing"
        environment = {
            "HOME": str(folder / "home"),
            "PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(WHEELS),
            "PIP_QUIET": "1",
            "PYTEST_ADDOPTS": "-q -p no:cacheprovider",
        }
        (folder / "home").mkdir()
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        words = ["bash", "-exo", "pipefail", "-c", "\n".join(script)]
        done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{document} fails with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        print(f"{document.name} of {document.parent.name or '.'}: {len(script)} commands passed", flush=True)
        shutil.rmtree(folder)


main()
