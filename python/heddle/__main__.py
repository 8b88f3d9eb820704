"""`python -m heddle` and the script `heddle`: the command, which also sets programs up in this environment."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _setup
from ._library import command_path

_HELP = """usage: python -m heddle VERB

  run PROGRAM ARGUMENT…      runs a Python script or a program on Heddle's drivers for OpenCL and CUDA
  install --user|--venv|--system
                             registers the OpenCL driver for loaders outside of this environment's PyOpenCL
  uninstall                  removes what `install` registered
  doctor                     reports drivers, loaders, CPU and cache, and what is missing
  …                          all verbs of the command `heddle`: analyze, clc, vectorize, cache, … (`heddle --help`)
"""


def main() -> NoReturn:
    """Runs the command with the arguments of the process."""
    arguments = sys.argv[1:]
    verb = arguments[0] if arguments else "--help"
    own = {
        "run": _setup.run,
        "install": _setup.install,
        "uninstall": _setup.uninstall,
        "doctor": _setup.doctor,
    }
    if verb in own:
        sys.exit(own[verb](arguments[1:]))
    if verb in ("-h", "--help", "help"):
        print(_HELP)
    command = str(command_path())
    os.execv(command, [command, *(arguments or ["--help"])])


if __name__ == "__main__":
    main()
