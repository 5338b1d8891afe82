"""The different values of a column, of whatever type, as what Python has for them; and when two of
them are one value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import comparable
from microagg.table.columns.arrow import compute as pc

MISSING = -1
# "007" is a code, no number
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(frozen=True)
class Distinct:
    """The different values of a column, in the order in which they first appear."""

    codes: np.ndarray
    """(n,) int32: the place of each record's value; -1 where it is missing."""
    values: list[Any]
    order: list[Any] | None
    """All categories of an ordered type, in their order, whether they occur or not; None for other
    types.
    """

    @property
    def counts(self) -> np.ndarray:
        """How often each value occurs; what is missing comes last."""
        return np.bincount(self.codes % (len(self.values) + 1), minlength=len(self.values) + 1)

    @property
    def first_rows(self) -> np.ndarray:
        """The first record with each value; what is missing comes last, with -1 where nothing
        is.
        """
        rows = np.full(len(self.values) + 1, -1, np.int64)
        rows[self.codes[::-1]] = np.arange(len(self.codes) - 1, -1, -1)
        return rows


def distinct(column: pa.ChunkedArray) -> Distinct:
    """The different values of a column.

    >>> found = distinct(pa.chunked_array([["b", None, "a", "b"]]))
    >>> found.codes.tolist(), found.values, found.first_rows.tolist()
    ([0, -1, 1, 0], ['b', 'a'], [0, 2, 1])
    """
    order = None
    if pa.types.is_dictionary(column.type):
        if column.type.ordered:
            categories = column.unify_dictionaries().chunk(0).dictionary
            order = [value for value in python_values(categories) if value is not None]
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_null(column.type):
        return Distinct(np.full(len(column), MISSING, np.int32), [], order)
    encoded = pc.dictionary_encode(comparable(column)).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = np.asarray(pc.fill_null(encoded.indices, MISSING)).astype(np.int32, copy=False)
    return Distinct(codes, python_values(encoded.dictionary), order)


def python_values(array: pa.Array) -> list[Any]:
    """Python's own values; stamps and times of day as text and durations as counts, for Python has
    no nanoseconds.
    """
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        try:
            return pc.cast(array, pa.string()).to_pylist()
        except pa.ArrowInvalid:  # a zone that this machine does not know
            return pc.cast(pc.cast(array, pa.timestamp(kind.unit)), pa.string()).to_pylist()
    if pa.types.is_duration(kind):
        return pc.cast(array, pa.int64()).to_pylist()
    return array.to_pylist()


def number_of(value: Any) -> Decimal | None:
    """The number that a value is, or that a text spells; None if there is none.

    >>> number_of(97.0) == number_of("97") == number_of(" 97.00"), number_of("007"), number_of(True)
    (True, None, None)
    """
    if isinstance(value, str):
        plain = value.strip()
        return Decimal(plain) if _NUMBER.fullmatch(plain) else None
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, int | np.integer):
        return Decimal(int(value))
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return Decimal(repr(float(value)))
    return None


class Finder:
    """Finds values by what they are, not by how they are spelled: 97, 97.0 and "97" are one.

    >>> Finder(["a", "97", "1.50"]).places(97), Finder(["a", "97"]).places("b")
    ([1], [])
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._places: dict[Any, list[int]] = {}
        for place, value in enumerate(values):
            for key in _keys(value):
                self._places.setdefault(key, []).append(place)

    def places(self, wanted: Any) -> list[int]:
        """The places of the values that are the wanted one."""
        return sorted({place for key in _keys(wanted) for place in self._places.get(key, ())})


def _keys(value: Any) -> list[Any]:
    number = number_of(value)
    text = str(value)
    return [text] if number is None else [text, number]
