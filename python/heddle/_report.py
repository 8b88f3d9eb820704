"""Reports that display as text, and as HTML in notebooks."""

from __future__ import annotations

from html import escape


class KernelReport:
    """Report on a kernel as compiled: lanes, barriers, branches, accesses, costs, with the lines of the source."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text or f"<heddle.KernelReport {self.name}: not launched yet>"

    def _repr_html_(self) -> str:
        return as_html(f"kernel {self.name}", self.text or "not launched yet")


def as_html(title: str, text: str) -> str:
    """Returns a report as HTML: a heading per unindented line, its details below it."""
    parts = [f"<details open><summary><b>{escape(title)}</b></summary>"]
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        style = "font-weight:600" if indent == 0 else f"margin-left:{indent}ch"
        parts.append(f'<div style="font-family:monospace;white-space:pre-wrap;{style}">{escape(line.strip())}</div>')
    parts.append("</details>")
    return "".join(parts)
