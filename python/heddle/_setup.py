"""Registers the drivers with loaders, runs programs on them, and reports what is found."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Callable

from ._library import command_path, library_path, version

_ICD = "heddle.icd"
_SYSTEM = Path("/etc/OpenCL/vendors")
# Packages with the libraries that Numba's CUDA compiler calls.
_NVIDIA = "nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12"
# Seconds that the drivers of other loaders have to list their devices.
_SECONDS = 60


def cuda_folder() -> Path:
    """Returns the folder with `libcuda.so.1`, CUDA's runtime library and the stand-in for `ptxas`."""
    return library_path().parent / "heddle" / "cuda"


def _user_folder() -> Path:
    return Path.home() / ".local" / "etc" / "OpenCL" / "vendors"


def _environment_folder() -> Path:
    return Path(sys.prefix) / "etc" / "OpenCL" / "vendors"


def _pyopencl_folder() -> Path | None:
    """Returns the folder in which PyOpenCL's own loader looks for drivers, if PyOpenCL is a wheel with a loader."""
    for entry in map(Path, sys.path):
        folder = entry / "pyopencl" / ".libs"
        if any(folder.glob("libOpenCL*")):
            return folder
    return None


def _register(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _ICD
    path.write_text(f"{library_path()}\n", encoding="utf-8")
    return path


def run(arguments: list[str]) -> int:
    """Replaces the process by a program whose loaders find Heddle."""
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        print("usage: python -m heddle run [--] PROGRAM ARGUMENT…", file=sys.stderr)
        return 2
    program = arguments
    if arguments[0].endswith(".py") or arguments[0] in ("-m", "-c"):
        program = [sys.executable, *arguments]
    command = str(command_path())
    os.execv(command, [command, "run", "--", *program])


def install(arguments: list[str]) -> int:
    """Writes a file for OpenCL's loaders."""
    folders: dict[str, Callable[[], Path]] = {"--user": _user_folder, "--venv": _environment_folder, "--system": lambda: _SYSTEM}
    if len(arguments) != 1 or arguments[0] not in folders:
        print("usage: python -m heddle install --user|--venv|--system", file=sys.stderr)
        return 2
    folder = folders[arguments[0]]()
    written = [_register(folder)]
    pyopencl = _pyopencl_folder()
    if pyopencl is not None and not (pyopencl / _ICD).exists():
        written.append(_register(pyopencl))
    for path in written:
        print(f"wrote {path}")
    if folder != _SYSTEM:
        print(f"programs outside of PyOpenCL find it by: export OCL_ICD_VENDORS={folder}")
    print(f"CUDA programs find Heddle by: export LD_LIBRARY_PATH={cuda_folder()}")
    return 0


def uninstall(arguments: list[str]) -> int:
    """Removes the files that `install` wrote. The package itself is removed by pip."""
    if arguments:
        print("usage: python -m heddle uninstall", file=sys.stderr)
        return 2
    # Folders that `install` may have created below others are removed, too.
    places = [(_user_folder(), Path.home()), (_environment_folder(), Path(sys.prefix)), (_SYSTEM, _SYSTEM)]
    pyopencl = _pyopencl_folder()
    if pyopencl is not None:
        places.append((pyopencl, pyopencl))
    for folder, base in places:
        path = folder / _ICD
        try:
            is_own = path.read_text(encoding="utf-8").strip() == str(library_path())
        except OSError:
            continue
        if not is_own:
            continue
        path.unlink()
        print(f"removed {path}")
        for parent in path.parents:
            if parent == base or any(parent.iterdir()):
                break
            parent.rmdir()
    kept = _cache_folder()
    if kept is not None:
        print(f"kept {kept} with compiled kernels; help: rm -r {kept}")
    return 0


def _cache_folder() -> Path | None:
    """Returns the folder of the cache if it is there."""
    done = subprocess.run([str(command_path()), "cache", "info"], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        return None
    # Objects are one of several folders in it.
    folder = Path(done.stdout.splitlines()[0]).parent
    return folder if folder.exists() and any(folder.iterdir()) else None


def _loader_report() -> str:
    """Returns the platforms that PyOpenCL finds, in a process of its own: a broken driver ends only that one."""
    code = (
        "import pyopencl as cl\n"
        "for p in cl.get_platforms():\n"
        "    for d in p.get_devices(): print(f'{p.name}: {d.name.strip()} ({p.version})')\n"
    )
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"fails: no answer within {_SECONDS} s"
    if done.returncode:
        return f"fails: {(done.stderr.strip().splitlines() or [f'signal {-done.returncode}'])[-1]}"
    return done.stdout.strip().replace("\n", "; ") or "no platforms"


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _pyopencl_report() -> tuple[bool, str]:
    found = _version_of("pyopencl")
    if found is None:
        return True, "not installed (pip install pyopencl)"
    shown = _loader_report()
    help_text = "" if "Heddle" in shown else "; help: python -m heddle install --venv"
    return not help_text, f"{found}: {shown}{help_text}"


def _system_loader_report() -> tuple[bool, str]:
    try:
        ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return True, "no libOpenCL.so.1: programs in C and C++ need one (Debian: ocl-icd-libopencl1)"
    folders = [Path(os.environ["OCL_ICD_VENDORS"])] if os.environ.get("OCL_ICD_VENDORS") else [_SYSTEM]
    listed = [path.name for folder in folders for path in sorted(folder.glob("*.icd"))]
    if _ICD in listed:
        return True, f"{folders[0]}: {', '.join(listed)}"
    names = ", ".join(listed) or "nothing"
    return True, f"{folders[0]}: {names}; help: python -m heddle run -- PROGRAM, or python -m heddle install --system"


def _numba_report() -> tuple[bool, str]:
    """Returns the version of Numba's CUDA compiler, and which other packages it needs or must not find."""
    found = _version_of("numba-cuda")
    if found is None:
        return True, "not installed"
    linker = next(filter(_version_of, ("nvidia-nvjitlink-cu12", "nvidia-nvjitlink")), None)
    if linker is not None:
        return False, f"{found}; its linker makes machine code of GPUs; help: pip uninstall {linker}, so that Numba links by the driver"
    if not any(map(_version_of, ("nvidia-cuda-nvcc-cu12", "nvidia-nvvm"))):
        return False, f"{found}; NVVM is missing; help: pip install {_NVIDIA}"
    return True, found


def _cuda_report() -> tuple[bool, str]:
    try:
        driver = ctypes.CDLL(str(cuda_folder() / "libcuda.so.1"))
    except OSError as error:
        return False, f"cannot be loaded: {error}"
    number = ctypes.c_int()
    code = driver.cuInit(0) or driver.cuDriverGetVersion(ctypes.byref(number))
    if code:
        return False, f"cuInit returns {code}"
    first = os.environ.get("LD_LIBRARY_PATH", "").split(":")[0]
    hint = "" if first == str(cuda_folder()) else "; help: python -m heddle run PROGRAM"
    return True, f"CUDA {number.value // 1000}.{number.value % 1000 // 10}{hint}"


def doctor(arguments: list[str]) -> int:
    """Prints a line per component; returns 1 if one does not work."""
    if arguments:
        print("usage: python -m heddle doctor", file=sys.stderr)
        return 2
    print(f"package: heddle {version()} in {Path(__file__).parent}, Python {platform.python_version()}")
    command = subprocess.run([str(command_path()), "doctor"], capture_output=True, text=True, check=False)
    print((command.stdout or command.stderr).rstrip())
    works = command.returncode == 0
    # A package of others on PyPI, whose `heddle/__init__.py` replaces this one's.
    namesake = _version_of("heddle")
    if namesake is not None:
        works = False
        print(
            f"PyPI's package `heddle` {namesake} is installed, which is another project and replaces files of this package; "
            "help: pip uninstall heddle, then install the wheel of heddle-simd again with --force-reinstall"
        )
    checks: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        ("PyOpenCL", _pyopencl_report),
        ("OpenCL loader", _system_loader_report),
        ("CUDA driver", _cuda_report),
        ("Numba CUDA", _numba_report),
    ]
    for name, check in checks:
        is_good, text = check()
        works &= is_good
        print(f"{name}: {text}")
    return 0 if works else 1
