"""Atoms of a column, the cells that are not on its scale: what is missing, and codes declared
special, matched by value.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY
from microagg.table.normalise import normalise
from microagg.table.variable import NO_ATOM


def set_apart(
    column: pa.ChunkedArray,
    special: Sequence[Any] = (),
    na: Sequence[Any] = (),
    *,
    markers: bool = False,
) -> tuple[pa.ChunkedArray, np.ndarray | None]:
    """A column with null for every atom, and (n,) int16: the place of the atom, special codes in
    the order given and then what is missing, -1 where there is a value; None where no cell is an
    atom. With `markers` the usual markers count as missing.

    >>> ages, atoms = set_apart(pa.chunked_array([[30, 97, None]]), special=["97.0"])
    >>> ages.to_pylist(), atoms.tolist()
    ([30, None, None], [-1, 0, 1])
    """
    if pa.types.is_float16(column.type):  # which Arrow cannot compare
        column = pc.cast(column, pa.float32())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    atoms = np.full(len(column), NO_ATOM, np.int16)
    atoms[_mask(pc.is_null(column))] = len(special)
    if markers and is_text(column.type):
        atoms[_mask(pc.match_substring_regex(column, MARKER_OR_EMPTY))] = len(special)
    for code in na:
        atoms[_holds(column, code)] = len(special)
    for index in reversed(range(len(special))):  # of two codes that are one value the first counts
        atoms[_holds(column, special[index])] = index
    is_special = atoms != NO_ATOM
    if not is_special.any():
        return column, None
    if int(is_special.sum()) > column.null_count:
        column = _without(column, is_special)
    return column, atoms


def as_times(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Texts as dates, times or durations of a type, the way they are written to files without
    types.

    >>> as_times(pa.chunked_array([["12:30:00"]]), pa.time32("s")).to_pylist()
    [datetime.time(12, 30)]
    """
    if pa.types.is_time(kind):  # Arrow reads them behind a date only
        stamps = pc.cast(
            pc.binary_join_element_wise("1970-01-01", texts, " "), pa.timestamp(kind.unit)
        )
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pc.cast(pc.cast(pc.cast(stamps, pa.int64()), whole), kind)
    if pa.types.is_duration(kind):
        return pc.cast(pc.cast(texts, pa.int64()), kind)
    return pc.cast(texts, kind)


def _without(column: pa.ChunkedArray, mask: np.ndarray) -> pa.ChunkedArray:
    """The column with null in some places."""
    places = pa.array(np.arange(len(column)), pa.int64(), mask=mask)
    return column.take(places)


def _mask(condition: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.fill_null(condition, False)).astype(bool)


def _holds(column: pa.ChunkedArray, code: Any) -> np.ndarray:
    """(n,): which cells have this value."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _equal(column, _number(code, kind))
    if pa.types.is_temporal(kind):
        return _equal(column, _time(code, kind))
    encoded = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
    meant, equal = normalise(str(code)), np.zeros(len(column), bool)
    begin = 0
    for chunk in encoded.chunks:
        levels = [
            None if level is None else normalise(str(level))
            for level in chunk.dictionary.to_pylist()
        ]
        same = np.array([level is not None and level == meant for level in levels] + [False])
        places = np.asarray(pc.fill_null(pc.cast(chunk.indices, pa.int64()), len(levels)))
        equal[begin : begin + len(chunk)] = same[places]
        begin += len(chunk)
    return equal


def _equal(column: pa.ChunkedArray, value: pa.Scalar | None) -> np.ndarray:
    return np.zeros(len(column), bool) if value is None else _mask(pc.equal(column, value))


def _number(code: Any, kind: pa.DataType) -> pa.Scalar | None:
    """A code as a number of this type; None where there is no such number."""
    try:
        exact = Decimal(str(code).strip())
        if pa.types.is_floating(kind):
            return pa.scalar(float(exact), kind)
        if pa.types.is_integer(kind):
            return pa.scalar(int(exact), kind) if exact == int(exact) else None
        return pa.scalar(exact, kind)
    except (InvalidOperation, ArithmeticError, ValueError, pa.ArrowException):
        return None


def _time(code: Any, kind: pa.DataType) -> pa.Scalar | None:
    """A code as a date, time or duration of this type; None where there is none."""
    try:
        if isinstance(code, str):
            return as_times(pa.chunked_array([[code.strip()]]), kind)[0]
        if pa.types.is_timestamp(kind) and type(code) is datetime.date:
            code = datetime.datetime(code.year, code.month, code.day)
        return pa.scalar(code, kind)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        return None
