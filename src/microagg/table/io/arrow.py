"""Arrow's compute functions, which are made at run time, where no type checker sees them: their one door; and what they compare."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import pyarrow as pa
import pyarrow.compute

compute: Any = pyarrow.compute


def give_back() -> None:
    """Return memory that Arrow and the C library have kept for their next need: after work on whole columns that is a lot."""
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # there is such a call in GNU's C library only
        ctypes.CDLL(None).malloc_trim(0)


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
