"""Exceptions of the package."""


class HeddleError(Exception):
    """Error that Heddle reports; `log` holds all of its messages."""

    def __init__(self, log: str) -> None:
        super().__init__(log.rstrip())
        self.log = log


class BuildError(HeddleError):
    """A program or a kernel cannot be compiled; the log has the lines of the source."""


class LaunchError(HeddleError):
    """A kernel cannot be launched with these arguments, or its launch failed."""
