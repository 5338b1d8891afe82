"""Frames of any library."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.columns.frames import (
    arrow_column,
    column_facts,
    column_like,
    open_frame,
    to_arrow,
)
from microagg.table.columns.matrix_values import values_of


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2], dtype="int8"),
        pd.Series([1, 2], dtype="UInt16"),
        pd.Series([1.0, 2.0], dtype="Float32"),
        pd.Series([1, 2], dtype="int64[pyarrow]"),
        pl.Series([1, 2], dtype=pl.UInt8),
        pl.Series([1.0, 2.0], dtype=pl.Float32),
        pl.Series(["1.00", "2.00"]).cast(pl.Decimal(10, 2)),
        pa.chunked_array([[1], [2]]),
        pa.chunked_array([pa.array(["1", "2"]).cast(pa.decimal128(9, 2))]),
    ],
    ids=lambda column: (
        f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', None) or column.type}"
    ),
)
def test_values_of_every_numeric_type(column: pd.Series | pl.Series | pa.ChunkedArray) -> None:
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    frame = open_frame(make[type(column).__module__.split(".")[0]]({"a": column}))
    values = values_of(frame, ["a"])
    assert values.tolist() == [[1.0], [2.0]]
    assert values.dtype == np.float64
    assert values.flags.c_contiguous


def test_whole_numbers_up_to_the_limit_of_float64() -> None:
    largest = 2**53 - 1
    frame = open_frame(pa.table({"a": [largest, -largest]}))
    assert values_of(frame, ["a"]).tolist() == [[float(largest)], [-float(largest)]]
    for beyond in (largest + 1, -largest - 1):
        with pytest.raises(ma.InputError, match=r"row 2 .*: a whole number of more than 15 digits"):
            values_of(open_frame(pa.table({"a": [0, beyond]})), ["a"])


def test_an_index_is_no_column() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who"))
    table = to_arrow(open_frame(frame))
    assert table.column_names == ["a"]
    assert table.schema.metadata is None


def test_facts() -> None:
    table = pa.table({"a": [1, 1, None], "b": ["x", "y", "z"], "c": [[1], [2], [2]]})
    assert [(fact.name, fact.numeric, fact.text) for fact in column_facts(open_frame(table))] == [
        ("a", True, False),
        ("b", False, True),
        ("c", False, False),
    ]


def test_a_column_like_another() -> None:
    series = nw.from_native(pd.Series([1, 2], name="age", dtype="Int8"), series_only=True)
    whole = column_like(series, np.array([3.0, 4.0]), whole=True)
    assert whole.name == "age"
    assert whole.to_native().dtype == "Int8"
    assert column_like(series, np.array([3.5, 4.0]), whole=False).to_native().tolist() == [3.5, 4.0]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3], np.int8),
        np.array([1, 2, 3], np.uint64),
        np.array([1.5, np.nan, -0.0]),
        np.array([1.5, np.inf, np.nan], np.float32),
        np.array([1.5, 2.5, np.nan], np.float16),
        np.arange(6.0)[::2],
    ],
    ids=str,
)
def test_numbers_of_pandas_are_those_of_a_whole_conversion(values: np.ndarray) -> None:
    frame = pd.DataFrame({"a": values, "b": values})
    field, column = arrow_column(nw.from_native(frame, eager_only=True), "b")
    expected = pa.Table.from_pandas(frame[["b"]], preserve_index=False)
    assert field.type == column.type == expected.schema.field("b").type
    assert column.null_count == expected["b"].null_count
    assert column.to_pylist() == expected["b"].to_pylist()
