"""Special codes and markers of missing values mean the same in every type of numbers."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns.numbers import Codes, extent_of, numbers_of, parse_column

CELLS = [30, 97, 99, None, 40, 98, 97]
TYPES = [
    pa.int8(), pa.int16(), pa.int64(), pa.uint8(), pa.float32(), pa.float64(),
    pa.decimal128(10, 2), pa.decimal128(38, 0), pa.decimal256(50, 3), pa.string(),
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_special_codes_are_kept_apart_from_missing_values(kind: pa.DataType) -> None:
    make = str if kind == pa.string() else Decimal if pa.types.is_decimal(kind) else int
    cells = [None if cell is None else make(cell) for cell in CELLS]
    column = pa.chunked_array([pa.array(cells, kind)])
    numbers = numbers_of(column, Codes("x", special=(98, 97), na=("99",)))
    assert numbers.special is not None
    assert numbers.special.tolist() == [-1, 1, -1, -1, -1, 0, 1]
    assert numbers.missing.tolist() == [cell in (99, None) for cell in CELLS]
    values = numbers.values + float(numbers.facts.get("origin", 0))
    assert values[[0, 4]].tolist() == [30.0, 40.0]
    assert np.isnan(values[[1, 2, 3, 5, 6]]).all()


@pytest.mark.parametrize("first", [0, 1000])
@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1])
def test_the_first_number_of_too_many_digits_is_named_by_its_record(first: int, large: int) -> None:
    """A part of a table counts on from the parts before it; missing values are no numbers."""
    codes = Codes("x", na=(str(9 * large),), first=first)
    column = pa.chunked_array([pa.array([5, None, 9 * large, 7, large, large], pa.int64())])
    extent = extent_of(parse_column(column, codes), codes)
    assert (extent.count, extent.long) == (4, first + 4)
    assert (extent.least, extent.most) == (min(5, large), max(7, large))
    usual = pa.chunked_array([pa.array([5, 2**53 - 1], pa.int64())])
    assert extent_of(parse_column(usual, codes), codes).long is None
