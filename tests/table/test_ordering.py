"""Columns as numbers: what counts as one, and what is refused; places of ordered values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.errors import InputError
from microagg.table.ordering import (
    DIGITS,
    EXACT,
    ValueFrequencies,
    numbers_of,
    places_among,
    places_of_values,
)

FREQUENCIES = ValueFrequencies(np.array([5, 7, 11]), np.array([0, 3, 8]))


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """Values in two chunks."""
    whole = pa.array(values, kind)
    return pa.chunked_array([whole[:1], whole[1:]])


def test_truth_values_and_nothing_at_all_are_numbers() -> None:
    flags = pa.chunked_array([[True, None], [False]])
    np.testing.assert_array_equal(numbers_of(flags, "flag"), [1.0, np.nan, 0.0])
    nothing = pa.chunked_array([pa.nulls(2)])
    np.testing.assert_array_equal(numbers_of(nothing, "nothing"), [np.nan, np.nan])


@pytest.mark.parametrize("cells", [[b"1", b"2"], [[1], [2]]], ids=["bytes", "lists"])
def test_what_is_no_number_is_refused(cells: list[object]) -> None:
    with pytest.raises(InputError, match="column 'odd' holds no numbers"):
        numbers_of(pa.chunked_array([cells]), "odd")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, None, -4], pa.int16(), [3, np.nan, -4]),
        ([EXACT, None, -EXACT], None, [EXACT, np.nan, -EXACT]),
        ([EXACT + 1, None, EXACT + 3], None, [0, np.nan, 2]),
        ([-EXACT - 1, None, 4 - EXACT], None, [0, np.nan, 5]),
        ([2**63 - 1, -(2**63), None], None, [2.0**64, 0, np.nan]),
        ([2**64 - 1, 2**64 - 6, None], pa.uint64(), [5, 0, np.nan]),
        ([1.5, None, float("nan")], None, [1.5, np.nan, np.nan]),
        ([Decimal("1.5"), None], pa.decimal128(DIGITS, 1), [1.5, np.nan]),
        ([Decimal("1.5"), None, Decimal(4)], pa.decimal128(DIGITS + 1, 1), [0, np.nan, 2.5]),
        (["+1.5", None, " -2e1 "], None, [1.5, np.nan, -20.0]),
        ([datetime.time(1), None, datetime.time(0, 30)], pa.time32("s"), [1800, np.nan, 0]),
        ([datetime.timedelta(2), datetime.timedelta(-1)], pa.duration("s"), [3 * 86_400, 0]),
        ([None, None], pa.date32(), [np.nan, np.nan]),
        ([None, None], pa.decimal128(30, 2), [np.nan, np.nan]),
    ],
)
def test_numbers_of_every_type(
    values: list[Any], kind: pa.DataType | None, expected: list[float]
) -> None:
    """Too long for float64 are exact differences from the least."""
    np.testing.assert_array_equal(numbers_of(column(values, kind), "x"), expected)


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf")])
def test_the_first_infinite_value_is_named(infinite: float) -> None:
    cells = column([1.0, infinite, infinite])
    with pytest.raises(InputError, match="row 2 "):
        numbers_of(cells, "x")
    with pytest.raises(InputError, match="row 4 "):
        numbers_of(cells, "x", FREQUENCIES)


def test_records_with_text_that_is_no_number_are_counted() -> None:
    cells = column(["one", "2", "-"])
    with pytest.raises(InputError, match="in 2 records"):
        numbers_of(cells, "x")
    with pytest.raises(InputError, match="in 16 records"):
        numbers_of(cells, "x", FREQUENCIES)
    with pytest.raises(InputError, match="in 1 record;"):
        numbers_of(column(["1.", ".5", "1e5", None, "-3", "0x"]), "x")


def test_places_among_declared_levels() -> None:
    levels = ["low", "Mid", "high"]
    cells = column(["high", "low ", None, "LOW", "low"])
    places, others = places_among(levels, cells, "risk", exact=False)
    assert (places.tolist(), others) == ([2, 0, -1, 0, 0], 2)
    encoded = column(["high", "low", None]).dictionary_encode()
    assert places_among(levels, encoded, "risk", exact=True)[0].tolist() == [2, 0, -1]
    assert places_among([1, 2], column([2, 1]), "x", exact=True)[0].tolist() == [1, 0]
    assert places_among(["a", "A"], column(["A", "a"]), "x", exact=False)[0].tolist() == [0, 0]
    assert places_among(["a", "A"], column(["A", "a"]), "x", exact=True)[0].tolist() == [1, 0]
    with pytest.raises(InputError, match="'risk' lacks a level that occurs in 2 records"):
        places_among(levels, column(["LOW", "low", "high", "Low"]), "risk", exact=True)
    with pytest.raises(InputError, match="in 11 records"):
        places_among(levels, column(["low", "high", "none"]), "r", exact=True, standing=FREQUENCIES)


def test_places_of_values_are_in_their_order() -> None:
    places, others = places_of_values(column([10, 9, None, 10]), exact=False)
    assert (places.tolist(), others) == ([1, 0, -1, 1], 0)
    cells = column(["b", "B", None, "a", "C", "b"])
    assert places_of_values(cells, exact=True)[0].tolist() == [3, 0, -1, 2, 1, 3]
    places, others = places_of_values(cells, exact=False)
    assert (places.tolist(), others) == ([0, 0, -1, 2, 1, 0], 1)
