"""Blocks and commands of documents in Markdown, for the programs that run them."""

import re
from typing import NamedTuple


class Block(NamedTuple):
    """Part of a document between fences."""

    line: int
    info: str
    text: str

    @property
    def words(self):
        return self.info.split()

    def option(self, name):
        """Returns the rest of the info string after a word."""
        found = re.search(rf"\b{name}[=:]\s*(.*)$", self.info)
        return found[1] if found else None


def blocks(text):
    """Returns the blocks of a document; indentation as far as its fence goes."""
    found, lines, at = [], text.splitlines(), 0
    while at < len(lines):
        opened = re.match(r"( *)```(.*)", lines[at])
        if opened is None:
            # A block without fence has no info string.
            after_blank = at == 0 or not lines[at - 1].strip()
            if lines[at].startswith("    ") and after_blank and lines[at].strip():
                raise SystemExit(f"line {at + 1} begins a block without fence")
            at += 1
            continue
        start, indentation = at + 1, len(opened[1])
        while lines[start].strip() != "```":
            start += 1
        inside = [line[indentation:] for line in lines[at + 1 : start]]
        found.append(Block(at + 1, opened[2].strip(), "\n".join(inside) + "\n"))
        at = start + 1
    return found


def commands_in_text(text):
    """Returns commands in code spans outside of blocks, and the reasons of those that are not run."""
    outside = "\n".join(re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S).splitlines())
    skipped = dict(re.findall(r"<!-- not-run (.*?): (.*?) -->", outside))
    outside = re.sub(r"<!--.*?-->", "", outside, flags=re.S)
    found = []
    for span in re.findall(r"`([^`\n]+)`", outside):
        bare = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", span)
        is_command = re.match(r"(python3?|heddle|pip|clinfo|nvcc|cargo|clang-22) |\./\S", bare)
        if is_command and span not in found:
            found.append(span)
    return found, skipped
