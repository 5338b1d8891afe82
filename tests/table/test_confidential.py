"""Confidential columns: numbers stay numbers, all else is told apart and put in order where it has
one.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.errors import InputError
from microagg.files.text.csv_format import read as read_csv
from microagg.files.text.csv_format import write as write_csv
from microagg.table.columns.arrow import NUMBERS_AS_TEXT
from microagg.table.confidential import Attribute, as_attributes, attributes_of, typed_like
from microagg.table.schema import Kind


def test_kinds_are_read_from_the_table():
    grades = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 1]), pa.array(["c", "b", "a"]), ordered=True
    )
    table = pa.table(
        {"wage": [3, 1, 3], "ill": ["x", None, "x"], "grade": grades, "gap": [1.0, None, 2.0]}
    )
    attributes = attributes_of(table, ["wage", "ill", "grade", "gap"])
    assert [attribute.kind for attribute in attributes] == [
        Kind.NUMERIC,
        Kind.NOMINAL,
        Kind.ORDINAL,
        Kind.NUMERIC,
    ]
    assert attributes[0].values.tolist() == [3.0, 1.0, 3.0]
    assert [attribute.distinct for attribute in attributes] == [2, 2, 3, 3]
    assert [attribute.known for attribute in attributes] == [2, 1, 3, 2]
    assert attributes[2].codes.tolist() == [2, 0, 1]
    assert attributes[3].codes.tolist() == [0, 2, 1]


def test_a_matrix_of_floats_is_numbers_and_all_else_categories():
    assert as_attributes(np.array([1.5, 0.5]), 2)[0].kind is Kind.NUMERIC
    numbers = as_attributes(np.array([[1, 2], [1, 3]]), 2)
    assert [(a.kind, a.distinct) for a in numbers] == [(Kind.NOMINAL, 1), (Kind.NOMINAL, 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3),
        np.zeros(5),
        np.zeros((4, 0)),
        np.zeros((4, 1, 1)),
        np.array(1.0),
        np.array([0.0, np.nan, 1.0, 2.0]),
    ],
)
def test_what_does_not_fit_the_records_is_refused(wrong):
    with pytest.raises(InputError, match="confidential"):
        ma.partition(np.arange(4.0), k=2, method="mdav", confidential=wrong)


def one(column: Any, **options: Any) -> Attribute:
    """The only column of a table."""
    about: dict[str, Any] = {
        word: value if word in ("na", "exact") else {"x": value} for word, value in options.items()
    }
    return attributes_of(pa.table({"x": column}), ["x"], **about)[0]


DAY = dt.date(2024, 2, 28)
NOON = dt.datetime(2024, 2, 28, 12)
ON_A_SCALE = {
    "int8": pa.array([3, 1, None, 2], pa.int8()),
    "uint64": pa.array([2**64 - 1, 2**64 - 3, None, 2**64 - 2], pa.uint64()),
    "int64": pa.array([2**62 + 2, 2**62, None, 2**62 + 1], pa.int64()),
    "float32": pa.array([0.3, 0.1, None, 0.2], pa.float32()),
    "nan": pa.array([0.3, 0.1, float("nan"), 0.2]),
    "decimal": pa.array([Decimal("3.10"), Decimal("1.20"), None, Decimal("2.00")]),
    "long decimal": pa.array(
        [Decimal(f"12345678901234567890.{tail}") for tail in (3, 1)]
        + [None, Decimal("12345678901234567890.2")]
    ),
    "date32": pa.array([DAY + dt.timedelta(2), DAY, None, DAY + dt.timedelta(1)]),
    "date64": pa.array([DAY + dt.timedelta(2), DAY, None, DAY + dt.timedelta(1)], pa.date64()),
    "ns": pa.array(
        [1_700_000_000_000_000_002, 1_700_000_000_000_000_000, None, 1_700_000_000_000_000_001],
        pa.timestamp("ns"),
    ),
    "zone": pa.array(
        [NOON + dt.timedelta(seconds=2), NOON, None, NOON + dt.timedelta(seconds=1)],
        pa.timestamp("us", "Europe/Berlin"),
    ),
    "duration": pa.array(
        [dt.timedelta(3), dt.timedelta(1), None, dt.timedelta(2)], pa.duration("ms")
    ),
    "time32": pa.array([dt.time(3), dt.time(1), None, dt.time(2)], pa.time32("s")),
    "time64": pa.array([dt.time(3), dt.time(1), None, dt.time(2)], pa.time64("ns")),
}


@pytest.mark.parametrize("sort", ON_A_SCALE)
def test_numbers_and_times_keep_their_order_and_their_gaps(sort, tmp_path: Path):
    table = pa.table({"x": ON_A_SCALE[sort], "y": ["a"] * 4})
    write_csv(table, tmp_path / "out.csv", ",")
    written = typed_like(read_csv(tmp_path / "out.csv", ","), table)
    for source in (table, written):
        attribute = attributes_of(source, ["x"])[0]
        assert attribute.kind is Kind.NUMERIC
        assert attribute.codes.tolist() == [2, 0, 3, 1]
        assert (attribute.known, attribute.missing) == (3, 1)
        assert attribute.atoms is not None
        assert attribute.atoms.tolist() == [-1, -1, 0, -1]
        assert attribute.marks == (None,)
        assert np.isnan(attribute.values).tolist() == [False, False, True, False]


def test_infinite_numbers_are_refused_by_their_place():
    with pytest.raises(InputError, match=r"'x', row 2 .*infinite"):
        one([1.0, float("inf")])
    attribute = one([1.0, float("inf")], special=["inf"])
    assert attribute.codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pa.array([97, 1, 97]), "97.0"),
        (pa.array([97.1, 1, 97.1], pa.float32()), 97.1),
        (pa.array([Decimal("97.10"), Decimal("1.00"), Decimal("97.10")]), "97.1"),
        (pa.array([DAY, dt.date(2000, 1, 1), DAY]), "2024-02-28"),
        (pa.array([DAY, dt.date(2000, 1, 1), DAY]), DAY),
        (
            pa.array([NOON, dt.datetime(2000, 1, 1), NOON], pa.timestamp("us")),
            "2024-02-28 12:00:00",
        ),
        (pa.array([dt.time(9), dt.time(1), dt.time(9)]), "09:00:00"),
        (pa.array(["Refused", "x", "refused "]), "refused"),
        (pa.array(["97", "x", "97.0"]), 97),
        (pa.array(["r", "x", "r"]).dictionary_encode(), "r"),
    ],
    ids=str,
)
def test_codes_are_matched_by_value(column, code):
    for options in ({"special": [code]}, {"na": [code]}):
        attribute = one(column, **options)
        assert attribute.atoms is not None
        assert attribute.atoms.tolist() == [0, -1, 0]
        assert attribute.known == 1
        assert attribute.missing == (2 if "na" in options else 0)
    assert one(column, special=["no such code", 10**30, dt.date(1900, 1, 1)]).atoms is None


def test_each_code_is_an_atom_and_all_that_is_missing_is_one():
    attribute = one(
        [1.0, None, 97.0, float("nan"), 98.0, -9.0], special=[98, 97, "98.0"], na=["-9"]
    )
    assert attribute.atoms is not None
    assert attribute.atoms.tolist() == [-1, 3, 1, 3, 0, 3]
    assert attribute.marks == (98, 97, "98.0", None)
    assert (attribute.known, attribute.distinct, attribute.missing) == (1, 4, 3)
    part = attribute.of_records(np.array([0, 2]))
    assert (part.codes.tolist(), part.known) == ([0, 1], 1)


def test_the_usual_markers_are_missing_where_text_means_numbers():
    texts = ["2.50", "NA", " n/a", ".", "NaN", "null", "1.50", "", None]
    field = pa.field("x", pa.string(), metadata=NUMBERS_AS_TEXT)
    attribute = attributes_of(
        pa.Table.from_arrays([pa.array(texts)], schema=pa.schema([field])), ["x"]
    )[0]
    assert attribute.kind is Kind.NUMERIC
    assert attribute.codes.tolist() == [1, 2, 2, 2, 2, 2, 0, 2, 2]
    assert one(["NA", "DE", None]).known == 2, "else Namibia vanishes"


def test_what_is_said_of_a_kind_wins():
    assert one([3, 1, 3], kinds=Kind.NOMINAL).kind is Kind.NOMINAL
    assert one([3, None, 1], kinds=Kind.NOMINAL).known == 2
    texts = one(["3.0", "10", "-", "2"], kinds=Kind.NUMERIC, na=["-"])
    assert texts.codes.tolist() == [1, 2, 3, 0]
    assert one([True, False], kinds=Kind.NUMERIC).values.tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="holds text in 2 records") as refused:
        one(["3", "secret", "hidden"], kinds=Kind.NUMERIC)
    assert "secret" not in str(refused.value)


def test_orders():
    attribute = one(
        ["S", "P", " ps", None, "refused"], ordinal=["P", "S", "PS"], special=["refused"]
    )
    assert (attribute.kind, attribute.codes.tolist(), attribute.known) == (
        Kind.ORDINAL,
        [1, 0, 2, 4, 3],
        3,
    )
    assert one([20, 5, 10], ordinal=[20, "10.0", 5]).codes.tolist() == [0, 2, 1]
    assert one([20, 5, 10], kinds=Kind.ORDINAL).codes.tolist() == [2, 0, 1]
    assert one(["b", "a", "B "], kinds=Kind.ORDINAL).codes.tolist() == [0, 1, 0]
    grades = pd.Categorical(["b", None, "a", "c"], categories=["c", "b", "a"], ordered=True)
    ordered = attributes_of(
        pa.Table.from_pandas(pd.DataFrame({"x": grades})), ["x"], special={"x": ["c"]}
    )[0]
    assert (ordered.kind, ordered.codes.tolist(), ordered.known) == (Kind.ORDINAL, [0, 3, 1, 2], 2)
    with pytest.raises(InputError, match="lacks a level that occurs in 2 records") as refused:
        one(["low", "secret", "secret", None], ordinal=["low", "high"])
    assert "secret" not in str(refused.value)


def test_to_the_letter_orders_are_too():
    with pytest.raises(InputError, match="in 1 record;"):
        one(["low", "Low"], ordinal=["low", "high"], exact=True)


def test_a_column_without_any_value():
    for column in (
        pa.array([None, None], pa.float64()),
        pa.array([None, None], pa.string()),
        pa.array([None, None], pa.date32()),
        pa.array([None, None], pa.decimal128(30, 2)),
        pa.nulls(2),
    ):
        attribute = one(column)
        assert (attribute.known, attribute.distinct, attribute.codes.tolist()) == (0, 1, [0, 0])
        assert one(column, kinds=Kind.ORDINAL).known == 0


def test_columns_of_objects_may_have_gaps():
    attribute = as_attributes(np.array(["a", None, "b"], object), 3)[0]
    assert (attribute.known, attribute.codes.tolist()) == (2, [0, 2, 1])
