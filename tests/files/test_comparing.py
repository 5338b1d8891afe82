"""A file that was written is held to what it should hold: every value that changes is found, no
other type is taken for a change.
"""

from __future__ import annotations

import datetime
import math

import pyarrow as pa
import pytest

from microagg.errors import GuaranteeError
from microagg.files.columnar.parquet_format import PARQUET
from microagg.files.comparing import check_altered, same_values
from microagg.files.stats.spss_format import SAV
from microagg.table.columns.labels import Labels, with_labels

DAY = datetime.date(2024, 1, 31)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (pa.array([1, None]), pa.array([1.0, None]), True),
        (pa.array([1, None]), pa.array([1, 0]), False),
        (pa.array([[1, 2], None]), pa.array([[1, 2], None]), True),
        (pa.array([[1, 2], None]), pa.array([[1, 3], None]), False),
        (pa.array([[1.0, math.nan]]), pa.array([[1.0, math.nan]]), True),
        (pa.array([{"a": 1}]), pa.array([{"a": 2}]), False),
        (pa.array([1.0, math.nan]), pa.array([1.0, None]), True),
        (pa.array([0.1]), pa.array([0.1], pa.float32()), False),
        (pa.array([1, 0]), pa.array([True, False]), True),
        (pa.array([1, 1]), pa.array([True, False]), False),
        (pa.array([DAY]), pa.array([datetime.datetime(2024, 1, 31)], pa.timestamp("ms")), True),
        (pa.array([DAY]), pa.array([datetime.datetime(2024, 1, 31, 1)], pa.timestamp("ms")), False),
        (pa.array([7], pa.timestamp("ms")), pa.array([7000], pa.timestamp("us")), True),
        (pa.array(["a", "b"]), pa.array(["a", "b"]).dictionary_encode(), True),
        (pa.array(["a", "b"]), pa.array(["a", "c"]).dictionary_encode(), False),
        (pa.array([None, None], pa.string()), pa.nulls(2), True),
        (pa.array(["x", None]), pa.nulls(2), False),
        (pa.array([[math.nan]]), pa.array([[math.nan]]), True),
        (pa.array([[1.0]]), pa.array([[2.0]]), False),
        (pa.array(["1"]), pa.array([1]), True),
        (pa.array(["one"]), pa.array([1]), False),
    ],
)
def test_same_values(one: pa.Array, other: pa.Array, same: bool) -> None:
    assert same_values(pa.chunked_array([one]), pa.chunked_array([other])) == same


def test_an_altered_value_or_label_is_refused() -> None:
    table = with_labels(
        pa.table({"sex": [1, 2]}), {"sex": Labels("Sex", {1: "f", 2: "m"}, "nominal", (2,))}
    )
    check_altered(table, table.schema, table.column, SAV)
    other = with_labels(
        pa.table({"sex": [1, 1]}), {"sex": Labels("Sex", {1: "f", 2: "m"}, "nominal", (2,))}
    )
    with pytest.raises(GuaranteeError, match="the values of column 'sex'; nothing was written"):
        check_altered(other, table.schema, table.column, PARQUET)
    for labels in (
        Labels("Sx"),
        Labels("Sex", {1: "f"}, "nominal", (2,)),
        Labels("Sex", {1: "f", 2: "m"}, "nominal"),
    ):
        with pytest.raises(GuaranteeError, match="the labels of column 'sex'; nothing was written"):
            check_altered(with_labels(table, {"sex": labels}), table.schema, table.column, SAV)
