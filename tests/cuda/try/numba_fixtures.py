"""Fixtures that the tests of numba-cuda expect of their `conftest.py`, which is not in the package."""

import pytest


@pytest.fixture
def initialize_from_pytest_config(request):
    """Sets the option that tests of generated code read."""
    request.instance._dump_failed_filechecks = False
