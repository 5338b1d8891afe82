"""Fixtures and hooks of all tests: the reference data, and the order (fast first, slow last)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import running

collect_ignore = ["support/made_up_setting_worker.py"]  # of a process of its own, which it changes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    yield
    running.end_all()


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of the CASC reference data; tests that need it are skipped where there is none."""
    folder = os.environ.get("MICROAGG_REFERENCE_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    reason = "needs the CASC reference data: set MICROAGG_REFERENCE_DATA to their folder"
    if os.environ.get("MICROAGG_REFERENCE_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def pycanon() -> str:
    """A python that has pycanon, which pins its dependencies so hard that it needs an environment
    of its own.
    """
    interpreter = os.environ.get("MICROAGG_PYCANON")
    if interpreter:
        return interpreter
    reason = "needs pycanon: `make pycanon`, and set MICROAGG_PYCANON to the python that it names"
    if os.environ.get("MICROAGG_PYCANON_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)
