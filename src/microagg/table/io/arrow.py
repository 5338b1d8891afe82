"""Arrow's compute functions, which are made at run time, where no type checker sees them: their one door; and what they compare."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute

compute: Any = pyarrow.compute


def give_back() -> None:
    """Return memory that Arrow has kept for its next need: after decoding a file or coding a column that is a lot."""
    pa.default_memory_pool().release_unused()


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that Arrow can group by, with equal values where the given one has them."""
    kind = column.type
    if pa.types.is_floating(kind):
        return compute.add(compute.cast(column, pa.float64()), 0.0)  # 0 and -0 are one number
    if pa.types.is_dictionary(kind):
        return comparable(compute.cast(column, kind.value_type))
    if pa.types.is_nested(kind):
        return pa.chunked_array(
            [[None if value is None else repr(value) for value in column.to_pylist()]], pa.string()
        )
    return compute.cast(column, pa.string()) if kind == pa.string_view() else column
