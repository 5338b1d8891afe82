"""The groups that every method forms stay what they are: see `cases.py`."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from golden.cases import DIGESTS, SOLVED, cases

CASES = dict(cases())
KNOWN = json.loads(DIGESTS.read_text("utf-8"))
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
LONG = ("balanced", "thorough", "prove")
DECIDING = ("highspy", "numpy", "numba", "llvmlite")


def _tested_versions() -> bool:
    wanted = dict(line.split("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line)
    return all(importlib.metadata.version(name) == wanted[name] for name in DECIDING)


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """The words for much effort take their time, and so does a release, which means balanced."""
    return (
        [pytest.mark.slow]
        if name.startswith("release") or any(word in name for word in LONG)
        else []
    )


@pytest.mark.parametrize(
    ("name", "digest"),
    [pytest.param(*case, id=case[0], marks=_marks(case[0])) for case in CASES.items()],
)
def test_same_groups_as_ever(name: str, digest: Callable[[], str]) -> None:
    if name.startswith(SOLVED) and not _tested_versions():
        pytest.skip("a solver decides this one: needs the versions of constraints.txt")
    assert digest() == KNOWN[name]


def test_no_digest_without_its_case() -> None:
    assert set(KNOWN) == set(CASES)
