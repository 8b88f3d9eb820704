"""Results of `heddle analyze` and `heddle profile` as objects."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ._errors import BuildError
from ._library import command_path
from ._report import as_html


class Analysis:
    """Report of the command: `text`, `data` (parsed JSON), and HTML in notebooks."""

    def __init__(self, title: str, text: str, data: Any) -> None:
        self.title = title
        self.text = text
        self.data = data

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return as_html(self.title, self.text)


def _run(arguments: list[str]) -> str:
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run([str(command_path()), *arguments], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise BuildError(done.stderr or done.stdout)
    return done.stdout


def _of_source(verb: str, source: str | os.PathLike[str], language: str, arguments: list[str], as_json: str) -> Analysis:
    if isinstance(source, os.PathLike):
        path, text = Path(source), None
    else:
        path, text = None, source
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
        if path is None:
            path = Path(folder) / f"source.{language}"
            path.write_text(text or "", encoding="utf-8")
        shown = _run([verb, str(path), *arguments])
        data = json.loads(_run([verb, str(path), *arguments, as_json]))
    return Analysis(f"heddle {verb} {path.name}", shown, data)


def analyze(source: str | os.PathLike[str], *arguments: str, language: str = "cl") -> Analysis:
    """Returns which values and branches of a program differ between lanes: `heddle analyze`.

    The source is text in `language` (`cl`, `ll`, `hed`, `ptx`, `c`), or a path. C needs clang 22 on the machine.
    """
    return _of_source("analyze", source, language, list(arguments), "--format=json")


def profile(source: str | os.PathLike[str], *arguments: str, language: str = "cl") -> Analysis:
    """Returns counts of active lanes, accesses and iterations of a run: `heddle profile` with these arguments."""
    return _of_source("profile", source, language, list(arguments), "--json")
