"""Columns on a scale: numbers, dates and times as float64, and ordered categories by their
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.formatting import counted
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.normalise import normalise

EXACT = 2**53
"""Whole numbers up to this are exact in float64."""
DIGITS = 15
"""Decimal numbers of so many digits stay apart in float64."""


class ValueFrequencies(NamedTuple):
    """Records of the cells of a column of distinct values, for messages on wrong cells."""

    counts: np.ndarray
    """(cells,): how many records each stands for."""
    rows: np.ndarray
    """(cells,): the number of the first of them, from 0."""


def numbers_of(
    column: pa.ChunkedArray, name: str, standing: ValueFrequencies | None = None
) -> np.ndarray:
    """A column without atoms (these are null) as float64, NaN where it is null.

    Dates, times, and numbers too long for float64 are exact differences from the least one.
    Infinite values are refused.

    >>> import datetime
    >>> numbers_of(
    ...     pa.chunked_array([[datetime.date(2024, 3, 1), None, datetime.date(2024, 2, 28)]]),
    ...     "born",
    ... ).tolist()
    [2.0, nan, 0.0]
    """
    kind = column.type
    if is_text(kind):
        column = _parsed(column, name, standing)
    elif pa.types.is_temporal(kind):
        column = pc.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64())
        return _differences(column)
    elif pa.types.is_decimal(kind) and kind.precision > DIGITS:
        return _decimal_differences(column)
    elif pa.types.is_integer(kind) and _is_long(column):
        return _differences(column)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise InputError(f"column {name!r} holds no numbers; make it nominal or ordinal.")
        column = pc.cast(pc.cast(column, pa.int8()), pa.float64())
    numbers = pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        row = (row if standing is None else int(standing.rows[row])) + 1
        raise InputError(
            f"column {name!r}, row {row} (header not counted): infinite value; correct it, "
            f"or declare it special."
        )
    return numbers


def _parsed(
    column: pa.ChunkedArray, name: str, standing: ValueFrequencies | None
) -> pa.ChunkedArray:
    """Text as numbers."""
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
    try:
        return pc.cast(trimmed, pa.float64())
    except pa.ArrowInvalid:
        number = pc.match_substring_regex(trimmed, r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
        wrong = _records(np.asarray(pc.fill_null(pc.invert(number), False)).astype(bool), standing)
        raise InputError(
            f"column {name!r} is declared numeric, but holds text in {counted(wrong, 'record')}; "
            "correct it, name the markers of missing values with na, or make the column nominal."
        ) from None


def _records(cells: np.ndarray, standing: ValueFrequencies | None) -> int:
    """Count the records that have one of these cells."""
    return int(cells.sum() if standing is None else standing.counts[cells].sum())


def _is_long(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is not None and max(-ends["min"], ends["max"]) > EXACT


def _differences(column: pa.ChunkedArray) -> np.ndarray:
    """Whole numbers less the least of them."""
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return np.full(len(column), np.nan)
    filled = pc.fill_null(column, pa.scalar(ends["min"], column.type)).to_numpy()
    # modulo 2^64 the difference of any two is right
    apart = filled.astype(np.int64 if filled.dtype.kind == "i" else np.uint64).view(
        np.uint64
    ) - np.uint64(ends["min"] % 2**64)
    return np.where(np.asarray(column.is_null()), np.nan, apart.astype(np.float64))


def _decimal_differences(column: pa.ChunkedArray) -> np.ndarray:
    """Decimal numbers less the least of them, each different one by itself."""
    encoded = pc.dictionary_encode(column).combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    levels, exactly = encoded.dictionary.to_pylist(), Context(prec=100)
    least = min(levels, default=0)
    apart = np.array([float(exactly.subtract(level, least)) for level in levels] + [np.nan])
    return apart[np.asarray(pc.fill_null(encoded.indices, -1))]


def places_among(
    levels: Sequence[Any],
    column: pa.ChunkedArray,
    name: str,
    *,
    exact: bool,
    standing: ValueFrequencies | None = None,
) -> tuple[np.ndarray, int]:
    """The place of each cell among declared levels, -1 where it is null; how many values are
    another spelling of a level.

    >>> places_among(
    ...     ["low", "high"], pa.chunked_array([["high", "Low", None]]), "risk", exact=False
    ... )[0].tolist()
    [1, 0, -1]
    """
    key = _by_letter if exact else _by_meaning
    ranks: dict[Any, int] = {}
    for rank, level in enumerate(levels):
        ranks.setdefault(key(level), rank)
    codes, values = _encoded(column)
    places = np.array([ranks.get(key(value), len(levels)) for value in values] + [-1], np.int64)
    lacking = _records(places[codes] == len(levels), standing)
    if lacking:
        raise InputError(
            f"the order given for column {name!r} lacks a level that occurs in "
            f"{counted(lacking, 'record')}; add all levels to it."
        )
    used = places[:-1]
    return places[codes], len(used) - len(np.unique(used))


def places_of_values(column: pa.ChunkedArray, *, exact: bool) -> tuple[np.ndarray, int]:
    """The place of each cell among the values that occur: numbers and times by size, text by code
    point; -1 where it is null.

    >>> places_of_values(pa.chunked_array([[7, None, 3]]), exact=False)[0].tolist()
    [1, -1, 0]
    """
    codes, values = _encoded(column)
    key = _by_letter if exact else _by_meaning
    try:
        order = sorted(range(len(values)), key=lambda index: values[index])
    except TypeError:  # values that know no order
        order = sorted(range(len(values)), key=lambda index: str(values[index]))
    ranks: dict[Any, int] = {}
    places = np.full(len(values) + 1, -1, np.int64)
    for index in order:
        places[index] = ranks.setdefault(key(values[index]), len(ranks))
    return places[codes], len(values) - len(ranks)


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """For each cell the place of its value among the different ones, -1 where it is null; and
    these.
    """
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    encoded = pc.dictionary_encode(column).combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(pc.fill_null(encoded.indices, -1)).astype(
        np.int64
    ), encoded.dictionary.to_pylist()


def _by_meaning(value: Any) -> Any:
    return normalise(str(value))


def _by_letter(value: Any) -> Any:
    """Text to the letter; numbers by their value all the same."""
    return value if isinstance(value, str) else normalise(str(value))
