"""Arrow keeps some value even where a cell is missing, often the one that was there before: a file
must not hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc


def without_hidden_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same records, with nothing in memory where a cell is missing.

    >>> ages = pa.Array.from_buffers(pa.int8(), 2, [pa.py_buffer(bytes([1])), pa.py_buffer(bytes([31, 47]))])
    >>> shown = without_hidden_values(pa.record_batch({"age": ages})).column(0)
    >>> ages.to_pylist(), bytes(ages.buffers()[1]), bytes(shown.buffers()[1])
    ([31, None], b'\\x1f/', b'\\x1f\\x00')
    """
    columns = [emptied(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def emptied(column: Any) -> pa.Array:
    """The same cells, zeros or nothing in memory where they are missing."""
    kind = column.type
    if pa.types.is_nested(kind):  # what is missing may have parts, at any depth
        return pa.array(column.to_pylist(), kind)
    if pa.types.is_dictionary(kind):
        indices, values = emptied(column.indices), emptied(column.dictionary)
        return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)
    if column.null_count == 0 or pa.types.is_null(kind):
        return column
    valid = pc.is_valid(column)
    if pa.types.is_boolean(kind):
        values = pc.fill_null(column, False).buffers()[1]
        return pa.Array.from_buffers(kind, len(column), [_bits(valid), values])
    if _is_of_fixed_width(kind):
        return pa.Array.from_buffers(
            kind, len(column), [_bits(valid), _values(column, valid.to_numpy(zero_copy_only=False))]
        )
    filled = pc.fill_null(column, pa.scalar("" if _is_text(kind) else b"", kind))
    return pa.Array.from_buffers(
        kind, len(column), [_bits(valid), *filled.buffers()[1:]], offset=filled.offset
    )


def _bits(valid: pa.BooleanArray) -> pa.Buffer:
    packed = np.packbits(valid.to_numpy(zero_copy_only=False), bitorder="little")
    return pa.py_buffer(packed.tobytes())


def _is_of_fixed_width(kind: pa.DataType) -> bool:
    return not (
        _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # of which each value has a length of its own


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _values(column: Any, valid: np.ndarray) -> pa.Buffer:
    """The bytes of a column's values, zeros where there is none."""
    width = column.type.bit_width // 8
    held = np.frombuffer(column.buffers()[1], np.uint8)
    rows = held[column.offset * width : (column.offset + len(column)) * width].reshape(
        len(column), width
    )
    return pa.py_buffer(np.where(valid[:, None], rows, 0).astype(np.uint8).tobytes())
