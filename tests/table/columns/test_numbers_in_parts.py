"""Columns of numbers that are looked at part by part: put together, the parts tell what the whole
tells.
"""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.errors import InputError
from microagg.table.columns.numbers import extent_of, numbers_in, numbers_of, parse_column, terms_of
from microagg.table.columns.parsed_numbers import Codes, Extent

RNG = np.random.default_rng(5)
START = datetime.datetime(2024, 3, 30, 1)
COLUMNS: dict[str, pa.Array] = {
    "whole": pa.array(RNG.integers(-50, 50, 40)),
    "long in the first part only": pa.array(
        [2**53 + 7, *(2**53 - 50 + RNG.integers(0, 9, 39)).tolist()]
    ),
    "long in the last part only": pa.array(
        [*(2**53 - 50 + RNG.integers(0, 9, 39)).tolist(), 2**53 + 7]
    ),
    "unsigned": pa.array(np.uint64(2**63) + RNG.integers(0, 99, 40).astype(np.uint64)),
    "floats": pa.array(RNG.normal(size=40), mask=RNG.random(40) < 0.2),
    "single": pa.array(RNG.normal(size=40).astype(np.float32)),
    "decimals": pa.array(
        [Decimal(int(number)).scaleb(-2) for number in RNG.integers(0, 999, 40)],
        pa.decimal128(9, 2),
    ),
    "long decimals": pa.array(
        [Decimal(10**17 + int(number)).scaleb(-2) for number in RNG.integers(0, 99, 40)],
        pa.decimal128(20, 2),
    ),
    "days": pa.array(
        [START.date() + datetime.timedelta(int(number)) for number in RNG.integers(0, 900, 40)]
    ),
    "hours": pa.array(
        [START + datetime.timedelta(hours=int(number)) for number in RNG.integers(0, 99, 40)],
        pa.timestamp("us"),
    ),
    "one second late": pa.array(
        [
            *[START + datetime.timedelta(hours=number) for number in range(39)],
            START + datetime.timedelta(seconds=1),
        ],
        pa.timestamp("ms"),
    ),
    "zoned": pa.array(
        [START + datetime.timedelta(days=number) for number in range(40)],
        pa.timestamp("s", "Europe/Berlin"),
    ),
    "times": pa.array([datetime.time(number % 24, 30) for number in range(40)], pa.time32("s")),
    "texts": pa.array([f" {number}" if number % 7 else "NA" for number in range(40)]),
    "texts, the last one no whole number": pa.array([*map(str, range(39)), "4.5"]),
    "nothing": pa.array([None] * 40, pa.int64()),
}


@pytest.mark.parametrize("cuts", [(13,), (1, 2, 39), (10, 20, 30)], ids=str)
@pytest.mark.parametrize("name", COLUMNS)
def test_parts_come_to_the_whole(name: str, cuts: tuple[int, ...]) -> None:
    column, codes = pa.chunked_array([COLUMNS[name]]), Codes("x", special=[])
    whole = numbers_of(column, codes)
    edges = (0, *cuts, len(column))
    parts = [
        (column.slice(first, last - first), Codes("x", first=first))
        for first, last in itertools.pairwise(edges)
    ]
    extent = Extent()
    for part, part_codes in parts:
        extent.combine(extent_of(parse_column(part, part_codes), part_codes))
    facts = terms_of(column.type, extent, codes)
    assert facts == whole.facts
    values = np.concatenate(
        [
            numbers_in(parse_column(part, part_codes), facts, part_codes)
            for part, part_codes in parts
        ]
    )
    assert np.array_equal(values, whole.values, equal_nan=True)


def test_of_two_codes_that_are_one_value_the_first_counts() -> None:
    for column in (
        pa.array([97, 98, 5]),
        pa.array([97.0, 98.0, 5.0]),
        pa.array(["97", "98.0", "5"]),
    ):
        parsed = numbers_of(pa.chunked_array([column]), Codes("x", special=[98, "97.0", 97, "98"]))
        assert parsed.special is not None
        assert parsed.special.tolist() == [1, 0, -1]
        assert np.isnan(parsed.values).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("values", "refused"),
    [([0, 2**53 - 1], False), ([0, 2**53], True), ([-(2**53), 0], True),
     ([2**60, 2**60 + 2**53 - 1], False), ([2**60, 2**60 + 2**53], True)],
)  # fmt: skip
def test_whole_numbers_that_float64_cannot_tell_apart_are_refused(
    values: list[int], refused: bool
) -> None:
    column: Any = pa.chunked_array([pa.array(values, pa.int64())])
    if refused:
        with pytest.raises(InputError, match="a whole number of more than 15 digits"):
            numbers_of(column, Codes("x"))
    else:
        parsed = numbers_of(column, Codes("x"))
        assert [int(value) + parsed.facts["origin"] for value in parsed.values] == values
