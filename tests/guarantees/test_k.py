"""k-anonymity, against counting one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg as ma
import tables
from microagg.guarantees.k import verify

CELLS = {
    "whole": st.one_of(st.none(), st.integers(0, 3)),
    "float": st.one_of(st.none(), st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-17, 1.5])),
    "text": st.one_of(st.none(), st.sampled_from(["", "a", "A", "a ", "0", "é"])),
    "flag": st.one_of(st.none(), st.booleans()),
}
KINDS = {"whole": pa.int64(), "float": pa.float64(), "text": pa.string(), "flag": pa.bool_()}


@st.composite
def random_tables(draw: st.DrawFn) -> pa.Table:
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(1, 30))
    return pa.table(
        {
            name: pa.array(draw(st.lists(CELLS[name], min_size=rows, max_size=rows)), KINDS[name])
            for name in names
        }
    )


@pytest.mark.slow
@given(random_tables(), st.integers(2, 5))
@settings(max_examples=150, deadline=None)
def test_classes_are_those_of_brute_force(table: pa.Table, k: int) -> None:
    rows = [tuple(map(repr, row.values())) for row in table.to_pylist()]  # 0.0 and -0.0 are two
    sizes = tables.class_sizes(rows)
    result = ma.check(table, table.column_names, k)
    assert result.holds == (min(sizes.values()) >= k)
    seen = {
        rows[int(row) - 1]: int(size)
        for row, size in zip(result.first_rows, result.sizes, strict=True)
    }
    assert seen == sizes
    failing = [(int(result.sizes[i]), int(result.first_rows[i])) for i in result.failing]
    expected = sorted((size, rows.index(row) + 1) for row, size in sizes.items() if size < k)
    assert failing == expected


@given(random_tables(), st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_the_same_from_polars(table: pa.Table, k: int) -> None:
    expected = ma.check(table, table.column_names, k)
    result = ma.check(pl.from_arrow(table), table.column_names, k)
    assert sorted(result.sizes.tolist()) == sorted(expected.sizes.tolist())
    assert result.holds == expected.holds


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", "x", "y", "y"]).dictionary_encode(),
        pa.array([1, 1, 2, 2]).dictionary_encode(),
        pa.array([[1], [1], None, None]),
        pa.array([{"a": 1}, {"a": 1}, {"a": None}, {"a": None}]),
        pa.array([b"\xff", b"\xff", b"", b""]),
        pa.array([1, 1, 2, 2], pa.timestamp("us")),
        pa.array([1, 1, 2, 2], pa.duration("s")),
        pa.array(["1.50", "1.50", "2.00", "2.00"]).cast(pa.decimal128(10, 2)),
        pa.array(["x", "x", "y", "y"], pa.string_view()),
        pa.array(np.array([1, 1, 2, 2], np.float16)),
        pa.nulls(4),
    ],
    ids=lambda column: str(column.type).split("<")[0],
)
def test_columns_of_any_type(column: pa.Array) -> None:
    table = pa.table({"a": column})
    assert ma.check(table, ["a"], 2).holds
    assert not ma.check(table, ["a"], 5).holds
    assert not ma.check(table.slice(1), ["a"], 2).holds or column.type == pa.null()


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_nan_and_null_are_two_for_the_strictest_reader(kind: pa.DataType) -> None:
    gaps = pa.array(
        np.array([np.nan, 1.0, 1.0, 1.0], kind.to_pandas_dtype()), mask=np.array([0, 0, 0, 1], bool)
    )
    result = ma.check(pa.table({"a": gaps}), ["a"], 2)
    assert result.labels.tolist() == [0, 1, 1, 2]
    assert result.counted_by == "bits"
    categories = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), pa.array([np.nan, 1.0]))
    assert ma.check(pa.table({"a": categories}), ["a"], 2).labels.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("name", ["__row__", "row", "0", "row_count", ""])
def test_columns_of_any_name(name: str) -> None:
    assert ma.check(pa.table({name: [1, 1]}), [name], 2).holds
    assert not ma.check(pa.table({name: [1, 2]}), [name], 2).holds


def test_every_library_and_one_name() -> None:
    frame = pd.DataFrame({"age": [1, 1, 2], "odd": pd.Series([1, "x", None], dtype=object)})
    for table in (frame, pl.DataFrame({"age": [1, 1, 2]}), pa.table({"age": [1, 1, 2]})):
        result = ma.check(table, "age", 2)
        assert not result.holds
        assert result.first_rows[result.failing].tolist() == [3]
    assert ma.check(np.ones((3, 1)), "0", 3).holds
    assert ma.check(frame.head(2), ["age", "age"], 2).holds


@pytest.mark.parametrize(
    ("quasi", "k", "says"),
    [
        (["height"], 2, "there is no column 'height'"),
        ([], 2, "name at least one"),
        (["age"], 1, "k is 1"),
        (["age"], 0, "k is 0"),
        (["age"], 2.5, "whole number"),
        (["age"], "three", "whole number"),
        (["age"], True, "whole number"),
    ],
)
def test_what_cannot_be_checked(quasi: list[str], k: Any, says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        ma.check(pa.table({"age": [1, 1]}), quasi, k)
    with pytest.raises(ma.InputError, match="pandas, polars or Arrow"):
        ma.check([1, 2], ["age"], 2)


def test_verify_is_the_last_word() -> None:
    table = pa.table({"age": [1, 1, 2, 2]})
    assert verify(table, ["age"], 2, 4).holds
    with pytest.raises(ma.GuaranteeError, match="not 3-anonymous: 2 of its 2 classes"):
        verify(table, ["age"], 3, 4)
    with pytest.raises(ma.GuaranteeError, match="lost or gained"):
        verify(table, ["age"], 2, 5)


@pytest.mark.parametrize(
    "order", [["age", "sex"], ["sex", "age"], ["sex", "age", "one"], ["one", "sex", "age"]]
)
@pytest.mark.parametrize(
    "values", [(1, 2), ("f", "m"), (True, False), (None, 1), (0.0, float("nan"))], ids=str
)
def test_a_column_of_two_values_splits_classes(order: list[str], values: tuple[Any, Any]) -> None:
    """Three of each age; the third of each has another sex, and so stands alone."""
    sexes = [values[1] if number % 3 == 2 else values[0] for number in range(12)]
    table = pa.table({"age": np.repeat([30, 40, 50, 60], 3), "sex": sexes, "one": np.ones(12)})
    result = ma.check(table, order, k=2)
    assert not result.holds
    assert sorted(result.sizes.tolist()) == [1, 1, 1, 1, 2, 2, 2, 2]
    assert sorted(result.first_rows[result.failing].tolist()) == [3, 6, 9, 12]
    assert ma.check(table, ["age", "one"], k=3).holds


def test_many_columns_of_two_values_are_counted_as_python_counts_them() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({f"c{number}": rng.integers(0, 2, 200) for number in range(6)})
    rows = Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
    result = ma.check(table, table.column_names, k=4)
    assert sorted(result.sizes.tolist()) == sorted(rows.values())
    assert result.holds == (min(rows.values()) >= 4)
