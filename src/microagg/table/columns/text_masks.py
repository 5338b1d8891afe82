"""Masks and patterns of texts."""

from __future__ import annotations

import pyarrow as pa

from microagg.table.columns.arrow import compute as pc

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


WHOLE = r"^\s*[+-]?\d{1,18}\s*$"


CODE = r"^\s*[+-]?0\d"


INFINITE = r"(?i)^\s*[+-]?inf(inity)?\s*$"


LIKE_MISSING = r"(?i)^(none|-|--|#n/a|\?)$"


DAY = r"^\d{4}-\d{2}-\d{2}$"


MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$"


TRUTH = r"^(?i:true|false)$"


ZONE = r"(Z|[+-]\d{2}:?\d{2})$"


def usual_texts(text: pa.ChunkedArray, apart: pa.ChunkedArray) -> str:
    """Return the most frequent text that means missing; of equally frequent ones the first in
    order.
    """
    counts = pc.value_counts(pc.fill_null(pc.filter(text, apart), "")).to_pylist()
    return min(((-entry["counts"], entry["values"]) for entry in counts), default=(0, ""))[1]


def floats_of(text: pa.ChunkedArray, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cells that are numbers as numbers, all others as missing."""
    plain = pc.replace_substring_regex(pc.if_else(numbers, text, None), r"^\+", "")
    return pc.cast(plain, pa.float64())


def without_cells(column: pa.ChunkedArray, apart: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with some of its cells missing."""
    return pc.if_else(apart, pa.scalar(None, column.type), column) if any_of(apart) else column


def matches(text: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Return which cells match a pattern; missing ones do not."""
    return pc.fill_null(pc.match_substring_regex(text, pattern), False)


def any_of(mask: pa.ChunkedArray) -> bool:
    """Return True if any cell of a mask is set."""
    return bool(pc.any(mask).as_py())


def first_of(mask: pa.ChunkedArray) -> int:
    """Return the first index that is set, or -1."""
    return pc.index(mask, True).as_py()


def both_of(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return where both masks are set."""
    return pc.and_(one, other)


def either_of(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return where one of two masks is set."""
    return pc.or_(one, other)
