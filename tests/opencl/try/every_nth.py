"""A plugin of pytest that keeps each nth test of what was collected: `-p every_nth --every N`."""

import pytest


def pytest_addoption(parser):
    """Adds the option."""
    parser.addoption("--every", type=int, default=1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Drops all other tests."""
    dropped = [item for number, item in enumerate(items) if number % config.getoption("every")]
    items[:] = items[:: config.getoption("every")]
    config.hook.pytest_deselected(items=dropped)
