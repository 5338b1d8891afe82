"""Number of different values of a column, estimated from the hashes that are low."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from microagg.pipeline.notes import estimate_distinct


@pytest.mark.parametrize(
    ("blocks", "values", "expected"),
    [
        # all hashes are low: exact, whatever the blocks
        ([([5], [60]), ([5], [40])], 100, 1),
        ([([5, 9], [60, 1]), ([5, 7], [38, 1])], 100, 3),
        # a tenth of the cells have a low hash, five values with two cells each
        ([([1, 2, 3, 4, 5], [2] * 5)], 100, 50),
        # none has one
        ([([], [])], 100, 1),
        ([([], [])], 0, 0),
    ],
)
def test_different_values_are_estimated(
    blocks: list[tuple[list[int], list[int]]], values: int, expected: int
) -> None:
    stats: Any = SimpleNamespace(name="wage", values=values)
    assert estimate_distinct([{"low": {"wage": low}} for low in blocks], stats) == expected
    assert estimate_distinct([{"low": {}}], stats) == min(1, values)
