"""Fixtures of the tests of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from holding import Hold, holding


@pytest.fixture(params=["file", "memory"])
def hold(request: pytest.FixtureRequest, tmp_path: Path) -> Hold:
    """Content in a file, or in memory."""
    return holding(request.param, tmp_path)
