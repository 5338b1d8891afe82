"""Numbers are written as the texts of their column are."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns.levels import ValueCounts
from microagg.table.columns.number_spelling import decimals_in, spelled, written
from microagg.table.variable import NO_ATOM, Variable


@pytest.mark.parametrize(
    ("number", "fixed", "text"),
    [
        (7.0, None, "7"),
        (7.25, None, "7.25"),
        (-0.0, None, "0"),
        (-0.0, 1, "0.0"),
        (7.0, 2, "7.00"),
        (7.256, 2, "7.26"),
        (999_999_999_999_999.0, None, "999999999999999"),
        (1e15, None, "1e+15" if repr(1e15) == "1e+15" else repr(1e15)),
        (-1e15, None, repr(-1e15)),
        (1e22, None, "1e+22"),
    ],
)
def test_a_number_as_text(number: float, fixed: int | None, text: str) -> None:
    assert written(number, fixed) == text


def test_decimals_of_texts() -> None:
    assert [decimals_in(text) for text in ("7", "7.", " 7.50 ", "-.5", "1e5", "1.5E-3")] == [
        0, 0, 2, 1, None, None,
    ]  # fmt: skip


def respelled(
    texts: dict[str, int], numbers: list[float], atoms: list[int] | None = None, **facts: Any
) -> list[str | None]:
    whole = facts.pop("whole", True)
    column = pa.chunked_array([pa.array([None] * len(numbers), pa.string())])
    series = nw.from_native(column, series_only=True)
    return spelled(
        series,
        column,
        Variable("x", **facts),
        np.array(numbers),
        None if atoms is None else np.array(atoms, np.int16),
        ValueCounts(texts),
        whole=whole,
    ).to_list()


def test_the_most_frequent_spelling_of_a_number_is_kept() -> None:
    assert respelled({"7.0": 1, "7.00": 3, "8": 1}, [7.0, 8.0, 9.5]) == ["7.00", "8", "9.5"]
    assert respelled({"7.0": 2, "7.00": 2}, [7.0]) == ["7.0"], "the first of two as frequent"


def test_others_have_the_decimals_of_the_column() -> None:
    assert respelled({"7.00": 1, "8.50": 1}, [7.0, 8.25, 9.0]) == ["7.00", "8.25", "9.00"]
    assert respelled({"7.00": 1, "8.50": 1}, [9.0], whole=False) == ["9"]
    assert respelled({"7.00": 1, "8.5": 1}, [9.0]) == ["9"]
    assert respelled({"7.00": 1, "NA": 1}, [9.0]) == ["9.00"], "texts that are no numbers"
    assert respelled({"7.00": 1, "1e5": 1}, [9.0]) == ["9"]


def test_gaps_and_special_codes_are_spelled_as_before() -> None:
    texts = {"7": 3, "NA": 1, " 97.0": 2}
    result = respelled(
        texts,
        [7.0, np.nan, np.nan, np.nan],
        [NO_ATOM, 1, 0, 2],
        marks=(97, None, 98),
        gap="NA",
    )
    assert result == ["7", "NA", " 97.0", "98"]
    assert respelled(texts, [7.0, np.nan]) == ["7", None]
