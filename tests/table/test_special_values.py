"""Cells that are set apart from a column: gaps, markers and special codes, matched by value and
never by half of one.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.special_values import set_apart

DAY = datetime.date(2024, 2, 29)


def places(column: pa.Array, special: list[Any], na: list[Any] = [], **more: Any) -> list[int]:  # noqa: B006
    """The place of each cell's atom, -1 for a value; the column left over must have null exactly
    there.
    """
    left, atoms = set_apart(pa.chunked_array([column]), special, na, **more)
    positions = [-1] * len(column) if atoms is None else atoms.tolist()
    assert [value is None for value in left.to_pylist()] == [
        position >= 0 for position in positions
    ]
    kept = [
        value for value, position in zip(column.to_pylist(), positions, strict=True) if position < 0
    ]
    assert [value for value in left.to_pylist() if value is not None] == kept
    return positions


@pytest.mark.parametrize(
    ("column", "code", "same"),
    [
        (pa.array([97, 98]), 97, True),
        (pa.array([97, 98]), "97", True),
        (pa.array([97, 98]), " 97.0 ", True),
        (pa.array([97, 98]), "9.7e1", True),
        (pa.array([97, 98]), 97.5, False),
        (pa.array([97, 98]), "97.9", False),
        (pa.array([97, 98]), "ninety", False),
        (pa.array([97, 98], pa.int8()), 1e9, False),
        (pa.array([97.5, 98.0]), "97.5", True),
        (pa.array([97.5, 98.0]), 97, False),
        (pa.array([97.5, 98.0], pa.float16()), 97.5, True),
        (pa.array([Decimal("9.70"), Decimal("1.00")]), "9.7", True),
        (pa.array([Decimal("9.70"), Decimal("1.00")]), "9.701", False),
        (pa.array([DAY, None]), "2024-02-29", True),
        (pa.array([DAY, None]), DAY, True),
        (pa.array([DAY, None]), "2024-02-28", False),
        (pa.array([datetime.datetime(2024, 2, 29)], pa.timestamp("s")), DAY, True),
        (pa.array([datetime.datetime(2024, 2, 29, 1)], pa.timestamp("s")), DAY, False),
        (pa.array([datetime.time(12, 30)], pa.time32("s")), "12:30:00", True),
        (pa.array(["97", "x"]), 97, True),
        (pa.array(["97.0", "x"]), 97, True),
        (pa.array([" Refused", "x"]), "refused", True),
        (pa.array(["refused!", "x"]), "refused", False),
        (pa.array(["097", "x"]), 97, False),
        (pa.array(["a", "b"]).dictionary_encode(), "A", True),
        (pa.array([True, False]), "true", True),
    ],
)
def test_a_code_is_matched_by_its_value(column: pa.Array, code: Any, same: bool) -> None:
    assert (places(column, [code])[0] == 0) == same


def test_codes_come_in_their_order_and_gaps_behind_them() -> None:
    column = pa.array([30, 97, None, 98, 99, 97])
    assert places(column, [98, 97]) == [-1, 1, 2, 0, -1, 1]
    assert places(column, [98, 97], [99]) == [-1, 1, 2, 0, 2, 1]
    assert places(column, ["97", 97.0]) == [-1, 0, 2, -1, -1, 0], (
        "of two codes that are one value the first counts"
    )
    assert places(column, [97], [97]) == [-1, 0, 1, -1, -1, 0], (
        "a special code is more than a marker"
    )
    assert set_apart(pa.chunked_array([[1, 2]]), [97])[1] is None


def test_what_is_no_number_is_missing() -> None:
    assert places(pa.array([1.5, np.nan, None]), [7]) == [-1, 1, 1]


def test_usual_markers_are_missing_where_they_count_as_such() -> None:
    column = pa.array(["12", "NA", "", None, "n/a", "x"])
    assert places(column, []) == [-1, -1, -1, 0, -1, -1]
    result = places(column, [], markers=True)
    assert result[1:4] == [0, 0, 0]
    assert result[0] == result[5] == -1


@pytest.mark.parametrize(
    "kind", [pa.int16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.string()]
)
def test_by_chunks_as_by_the_whole(kind: pa.DataType) -> None:
    rng = np.random.default_rng(1)
    texts = [None if number == 5 else str(number) for number in rng.integers(0, 12, 60).tolist()]
    column = pa.array(texts).cast(kind) if kind != pa.string() else pa.array(texts)
    whole = set_apart(pa.chunked_array([column]), [3, "7.0"], [9])[1]
    chunks = set_apart(
        pa.chunked_array([column[:17], column[17:18], column[18:]]), [3, "7.0"], [9]
    )[1]
    expected = [
        {"3": 0, "7": 1, "9": 2, None: 2}.get(text, -1)  # as the numbers are, one by one
        for text in texts
    ]
    assert whole is not None
    assert chunks is not None
    assert whole.tolist() == chunks.tolist() == expected
