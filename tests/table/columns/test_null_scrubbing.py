"""Nothing is left in memory where a cell is missing, whatever the type, wherever the column was
cut.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns.null_scrubbing import emptied, without_hidden_values

DAY = datetime.date(2024, 2, 29)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bytes": (pa.int8(), [7, 8, 9, 7]),
    "whole": (pa.int64(), [4815162342, 5, 6, 4815162342]),
    "float": (pa.float64(), [1.5, 2.5, 3.5, 1.5]),
    "half": (pa.float16(), np.array([1.5, 2.5, 3.5, 1.5], np.float16).tolist()),
    "truth": (pa.bool_(), [True, True, False, True]),
    "text": (pa.string(), ["canary", "b", "", "canary"]),
    "large text": (pa.large_string(), ["canary", "b", "", "canary"]),
    "binary": (pa.binary(), [b"canary", b"b", b"", b"canary"]),
    "date": (pa.date32(), [DAY, DAY, DAY, DAY]),
    "decimal": (
        pa.decimal128(9, 2),
        [Decimal("1.25"), Decimal("2.00"), Decimal("3.10"), Decimal("1.25")],
    ),
    "list": (pa.list_(pa.int64()), [[4815162342], [1, 2], [], [4815162342]]),
}
MISSING = np.array([False, True, False, True])


def with_something_under_gaps(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Gaps in the second and the fourth cell, whose values are still there."""
    whole = pa.array(values, kind)
    bits = pa.py_buffer(np.packbits(~MISSING, bitorder="little").tobytes())
    if pa.types.is_nested(kind):
        return pa.ListArray.from_arrays(whole.offsets, whole.values, mask=pa.array(MISSING))
    return pa.Array.from_buffers(kind, len(whole), [bits, *whole.buffers()[1:]])


def bytes_of(column: pa.Array) -> bytes:
    return b"".join(bytes(buffer) for buffer in column.buffers()[1:] if buffer is not None)


@pytest.mark.parametrize("name", COLUMNS)
def test_what_was_there_is_gone(name: str) -> None:
    kind, values = COLUMNS[name]
    column = with_something_under_gaps(kind, values)
    shown = without_hidden_values(pa.record_batch({"x": column})).column(0)
    assert shown.type == kind
    assert shown.to_pylist() == column.to_pylist() == [values[0], None, values[2], None]
    for first, count in ((0, 4), (1, 3), (2, 2), (1, 1)):
        cut = emptied(column.slice(first, count))
        assert cut.to_pylist() == column.to_pylist()[first : first + count]
    alone = emptied(column.slice(3, 1))  # one gap, and nothing but that
    assert not any(bytes_of(alone)), "zeros or nothing"


def test_gaps_of_categories_name_none_of_them() -> None:
    """The place of the category that a missing cell had lies beside those of the others."""
    bits = pa.py_buffer(np.packbits(~MISSING, bitorder="little").tobytes())
    indices = pa.Array.from_buffers(pa.int8(), 4, [bits, pa.py_buffer(bytes([0, 2, 1, 2]))])
    towns = pa.array(["Bonn", "Ulm", "Kiel"])
    column = pa.DictionaryArray.from_arrays(indices, towns)
    assert bytes(column.indices.buffers()[1])[:4] == bytes([0, 2, 1, 2])
    shown: Any = emptied(column)
    assert shown.to_pylist() == ["Bonn", None, "Ulm", None]
    assert bytes(shown.indices.buffers()[1])[:4] == bytes([0, 0, 1, 0])
    hidden = with_something_under_gaps(pa.string(), ["Bonn", "canary", "Ulm", "canary"])
    within: Any = emptied(pa.DictionaryArray.from_arrays(pa.array([0, 2]), hidden))
    assert b"canary" not in bytes_of(within.dictionary)
