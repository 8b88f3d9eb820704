"""A plugin of pytest that records tests and leaves out those with an outcome: `-p record_outcomes --outcomes FILE`.

A line of the file has a word and a test. The word is `start`, or an outcome: `passed`, `failed`, `skipped`, `xfailed`, `xpassed`, `error`.
Line breaks in names are written as `\\n`.
"""

from pathlib import Path

import pytest


def in_a_line(name):
    """The name of a test without line breaks."""
    return "\\n".join(name.splitlines())


def pytest_addoption(parser):
    """Adds the option."""
    parser.addoption("--outcomes", type=Path, required=True)


def pytest_configure(config):
    """Registers the recorder."""
    config.pluginmanager.register(Recorder(config.getoption("outcomes")))


class Recorder:
    """The file, and the outcome of the current test."""

    def __init__(self, path):
        lines = [line.split(" ", 1) for line in path.read_text().splitlines()] if path.exists() else []
        self.known = {test for word, test in lines if word != "start"}
        self.file = path.open("a", encoding="utf-8")
        self.outcome = None

    def write(self, word, test):
        """Writes a line; it is in the file even if the process ends by a signal."""
        self.file.write(f"{word} {in_a_line(test)}\n")
        self.file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, config, items):
        """Drops tests that have an outcome, after all other plugins have chosen."""
        result = yield
        done = [item for item in items if in_a_line(item.nodeid) in self.known]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if in_a_line(item.nodeid) not in self.known]
        return result

    def pytest_collectreport(self, report):
        """Records files that cannot be read."""
        if report.failed and in_a_line(report.nodeid) not in self.known:
            self.write("error", report.nodeid)

    def pytest_runtest_logstart(self, nodeid):
        """Records the start."""
        self.outcome = None
        self.write("start", nodeid)

    def pytest_runtest_logreport(self, report):
        """Keeps the outcome; one of a test's phases decides."""
        expected = hasattr(report, "wasxfail")
        if report.failed:
            self.outcome = "failed" if report.when == "call" else "error"
        elif report.skipped:
            self.outcome = "xfailed" if expected else "skipped"
        elif report.when == "call":
            self.outcome = "xpassed" if expected else "passed"

    def pytest_runtest_logfinish(self, nodeid):
        """Records the outcome."""
        self.write(self.outcome or "error", nodeid)
