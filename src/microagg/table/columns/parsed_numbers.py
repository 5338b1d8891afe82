"""Parsed numbers of a column, with their special codes and their extent."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import is_text
from microagg.table.columns.frames import LARGEST_WHOLE
from microagg.table.reduction import Reduction

DIGITS = 100  # more than any Decimal of Arrow has


def extent_of(looked: ParsedNumbers, codes: Codes) -> Extent:
    """Return the extent of the values of a part."""
    kind, is_value = looked.kind, looked.is_value
    if is_text(kind):
        return _extent_of_text(looked, codes)
    if pa.types.is_floating(kind):
        return Extent(int(is_value.sum()))
    if pa.types.is_decimal(kind):
        amounts = looked.exact[is_value]
        if len(amounts) == 0:
            return Extent()
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            long = any(abs(value.scaleb(kind.scale)) >= LARGEST_WHOLE for value in amounts)
        return Extent(len(amounts), min(amounts), max(amounts), long=0 if long else None)
    values = looked.exact[is_value]
    if len(values) == 0:
        return Extent(wall=looked.local is not None)
    extent = Extent(len(values), int(values.min()), int(values.max()))
    if pa.types.is_integer(kind):
        if max(-extent.least, extent.most) >= LARGEST_WHOLE:
            wrong = (np.abs(looked.exact.astype(np.float64)) >= LARGEST_WHOLE) & is_value
            extent.long = codes.first + int(np.argmax(wrong))
        return extent
    extent.common, extent.wall = int(np.gcd.reduce(values)), looked.local is not None
    if looked.local is not None:
        wall_ticks = looked.local[is_value]
        extent.wall_least, extent.wall_common = (
            int(wall_ticks.min()),
            int(np.gcd.reduce(wall_ticks)),
        )
    return extent


def _extent_of_text(looked: ParsedNumbers, codes: Codes) -> Extent:
    long = (looked.is_value & (np.abs(looked.exact) >= LARGEST_WHOLE))[looked.index]
    first = codes.first + int(np.argmax(long)) if long.any() else None
    return Extent(int(looked.is_value.sum()), whole=looked.whole, long=first)


@dataclass(frozen=True)
class Codes:
    """Cells of one column that are no values: special codes in their order, and markers of missing
    values.
    """

    name: str
    special: Sequence[Any] = ()
    na: Sequence[str] = ()
    first: int = 0
    """The number of the first record that is looked at, where that is a part of a table: errors
    name rows.
    """

    def refuse(self, index: int, what: str) -> None:
        """Raise for a special code that can match no cell."""
        raise InputError(
            f"special code number {index + 1} of column {self.name!r} is no {what}, but "
            "the column holds nothing else; correct the code or leave it out."
        )


@dataclass(frozen=True)
class Numbers:
    """A numeric column: NaN where a cell is an atom, and what `Variable` has to know."""

    values: np.ndarray
    special: np.ndarray | None
    """(n,) int16: the place of the special code, -1 elsewhere; None where there is none."""
    missing: np.ndarray
    facts: dict[str, Any]


@dataclass(frozen=True)
class ParsedNumbers:
    """Part of a numeric column: its atoms, and its values before their origin is determined."""

    kind: pa.DataType
    exact: np.ndarray
    """(n,) float64, whole numbers or ticks; of Decimals and texts (different values + 1,), the last
    for what is missing.
    """
    special: np.ndarray | None
    """(n,) int16, see `Numbers`."""
    missing: np.ndarray
    is_value: np.ndarray
    """As long as `exact`: which of them are values."""
    index: np.ndarray | None = None
    """(n,): index of each record's value in `exact`, if that holds distinct values."""
    local: np.ndarray | None = None
    """Ticks in the local time of the zone, if these distinguish all moments."""
    whole: bool = False
    """True if all values of a text column are spelled as whole numbers."""


@dataclass
class Extent(Reduction):
    """Range of the values of a column, as far as it determines their origin. Parts are combined."""

    count: int = 0
    least: Any = None
    most: Any = None
    common: int = 0
    """Greatest common divisor of the ticks, of times."""
    long: int | None = None
    """First record that float64 cannot distinguish; any for Decimals."""
    wall: bool = True
    """True if local times distinguish all moments of a zone; then the following refer to local
    times.
    """
    wall_least: int | None = None
    wall_common: int = 0
    whole: bool = True
    """True if all values of a text column are spelled as whole numbers."""

    @classmethod
    def of_chunk(cls, parsed: ParsedNumbers, codes: Codes) -> Extent:
        """Return the extent of a part of a column."""
        return extent_of(parsed, codes)

    def combine(self, more: Extent) -> Extent:
        """Add the extent of the next part."""
        self.count += more.count
        self.least, self.most = _end(min, self.least, more.least), _end(max, self.most, more.most)
        self.wall_least = _end(min, self.wall_least, more.wall_least)
        self.common = math.gcd(self.common, more.common)
        self.wall_common = math.gcd(self.wall_common, more.wall_common)
        self.long = more.long if self.long is None else self.long
        self.wall, self.whole = self.wall and more.wall, self.whole and more.whole
        return self


def _end(which: Any, one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else which(one, other)
