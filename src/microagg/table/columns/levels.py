"""Levels of ordinal and nominal columns, and the rank of each value, from counts of values.

The counts of a whole column (`ValueCounts`) may be combined from its parts, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import is_text, means_numbers
from microagg.table.columns.distinct import Distinct, Finder, number_of
from microagg.table.columns.parsed_numbers import Codes
from microagg.table.reduction import Reduction
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Variable


@dataclass
class ValueCounts(Reduction):
    """The different values of a column in the order in which they first appear, and how often each
    occurs.

    >>> from microagg.table.columns.distinct import distinct
    >>> found = ValueCounts.of_chunk(distinct(pa.chunked_array([["b", None]])))
    >>> found = found.combine(ValueCounts.of_chunk(distinct(pa.chunked_array([["a", "b"]]))))
    >>> found.counts, found.missing
    ({'b': 2, 'a': 1}, 1)
    """

    counts: dict[Any, int] = field(default_factory=dict)
    missing: int = 0
    order: list[Any] | None = None
    """All categories of an ordered type, in their order, whether they occur or not; None for other
    types.
    """

    @classmethod
    def of_chunk(cls, distinct: Distinct) -> ValueCounts:
        """Return the counts of a column or a part of one."""
        *counts, missing = distinct.counts.tolist()
        return ValueCounts(dict(zip(distinct.values, counts, strict=True)), missing, distinct.order)

    def combine(self, more: ValueCounts) -> ValueCounts:
        """Add the counts of the next part."""
        for value, count in more.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        self.missing += more.missing
        if self.order is not None and more.order is not None:
            self.order = list(dict.fromkeys([*self.order, *more.order]))
        return self

    @property
    def values(self) -> list[Any]:
        """Distinct values."""
        return list(self.counts)

    @property
    def all_counts(self) -> np.ndarray:
        """(values + 1,): count of each value; missing ones come last."""
        return np.array([*self.counts.values(), self.missing], np.int64)


@dataclass(frozen=True)
class Levels:
    """Ordinal or nominal column: its variable, and the rank of each of its values."""

    variable: Variable
    values: list[Any]
    places: np.ndarray
    """(values + 1,): the place of each value among the levels, NaN where it is an atom; what is
    missing comes last.
    """
    atoms: np.ndarray | None
    """(values + 1,) int16: which atom each value is, or -1; None where no cell is one."""

    def cells_of(self, distinct: Distinct) -> tuple[np.ndarray, np.ndarray | None]:
        """Return values and atoms of the column with these distinct values, in the same order."""
        return self.places[distinct.codes], None if self.atoms is None else self.atoms[
            distinct.codes
        ]


def levels_of(
    counts: ValueCounts, field: pa.Field, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    """Return the levels of a column; with `spelled` gaps are written as the column spells them."""
    order = counts.order
    if is_text(field.type) and means_numbers(field):  # 9 before 10
        order = sorted((text for text in counts.values if number_of(text) is not None), key=_number)
    make = _ordinal if column.kind is Kind.ORDINAL else _nominal
    return make(counts, order, column, codes, spelled=spelled)


def _number(text: str) -> Any:
    return number_of(text)


def with_gaps(
    special: Sequence[Any], held: np.ndarray | None, missing: np.ndarray
) -> tuple[tuple[Any, ...], np.ndarray | None]:
    """Return all marks (special codes, None for missing), and the atom of each cell."""
    marks = tuple(special)
    if not missing.any():
        return marks, held
    atoms = np.full(len(missing), NO_ATOM, np.int16) if held is None else held.copy()
    atoms[missing] = len(marks)
    return (*marks, None), atoms


def gap_among(spellings: ValueCounts) -> Any:
    """Return the most frequent spelling of missing cells."""
    counts = spellings.all_counts
    most = int(counts.argmax())
    return None if counts[most] == counts[-1] else spellings.values[most]


def _gap(counts: ValueCounts, missing: np.ndarray, *, spelled: bool) -> Any:
    if not spelled:
        return None
    gone = {
        value: count
        for (value, count), wanted in zip(counts.counts.items(), missing, strict=False)
        if wanted
    }
    return gap_among(ValueCounts(gone, counts.missing))


def _ordinal(
    counts: ValueCounts, order: list[Any] | None, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    missing, special = _atoms_among(counts.values, codes)
    is_value, occurs = ~missing & (special == NO_ATOM), counts.all_counts > 0
    if column.levels is not None:
        levels, places = _declared(column, counts, is_value)
    else:
        used = [value for value, kept in zip(counts.values, is_value, strict=False) if kept]
        apart = Finder([*codes.special, *codes.na])
        levels = (
            sorted(used) if order is None else [item for item in order if not apart.places(item)]
        )
        ranks = {level: rank for rank, level in enumerate(levels)}
        places = np.array([ranks.get(value, np.nan) for value in counts.values] + [np.nan])
    places[~is_value] = np.nan
    held = special if (special[occurs] != NO_ATOM).any() else None
    gone = missing & occurs
    marks, atoms = with_gaps(codes.special, held, gone)
    gap = _gap(counts, missing, spelled=spelled) if gone.any() else None
    return Levels(
        Variable(column.name, Kind.ORDINAL, tuple(levels), marks, gap=gap),
        counts.values,
        places,
        atoms,
    )


def _atoms_among(values: Sequence[Any], codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """Return the mask of missing values, and the special code of each value; null comes last."""
    finder = Finder(values)
    missing = np.zeros(len(values) + 1, bool)
    missing[-1] = True
    for text in codes.na:
        missing[finder.places(text)] = True
    special = np.full(len(missing), NO_ATOM, np.int16)
    for index, code in enumerate(codes.special):
        for position in finder.places(code):
            if not missing[position] and special[position] == NO_ATOM:
                special[position] = index
    return missing, special


def _declared(
    column: Column, counts: ValueCounts, is_value: np.ndarray
) -> tuple[list[Any], np.ndarray]:
    """Return the declared levels as the column spells them, and the rank of each value."""
    values = counts.values
    finder = Finder(values)
    levels: list[Any] = list(column.levels or ())
    places = np.full(len(values) + 1, np.nan)
    for rank, level in enumerate(levels):
        same = [index for index in finder.places(level) if _is_level(values[index], level)]
        for index in same:
            places[index] = rank
            levels[rank] = values[index]
    lacking = np.isnan(places) & is_value
    if lacking.any():
        records = int(counts.all_counts[lacking].sum())
        raise InputError(
            f"the order of column {column.name!r} lacks values that {records} of its "
            f"records {'has' if records == 1 else 'have'}; name all levels in ordinal, "
            "or declare them with special or na."
        )
    return levels, places


def _is_level(value: Any, level: Any) -> bool:
    """Check if a value is a level: text to the letter, others by value."""
    return value == level if isinstance(value, str) and isinstance(level, str) else True


def _nominal(
    counts: ValueCounts, order: list[Any] | None, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    if codes.special and column.kind is Kind.NOMINAL:
        raise InputError(
            f"column {column.name!r} is nominal, where a special code is a value like "
            f"any other; leave it out of special."
        )
    missing, _ = _atoms_among(counts.values, Codes(column.name, (), codes.na))
    used = {value for value, gone in zip(counts.values, missing, strict=False) if not gone}
    levels: list[Any] = (
        sorted(used) if order is None else [level for level in order if level in used]
    )
    ranks: dict[Any, float] = {level: float(rank) for rank, level in enumerate(levels)}
    places = np.array(
        [ranks.get(value, len(levels)) for value in counts.values] + [len(levels)], np.float64
    )
    gap = None
    if (missing & (counts.all_counts > 0)).any():
        levels.append(None)
        gap = _gap(counts, missing, spelled=spelled)
    return Levels(
        Variable(column.name, Kind.NOMINAL, tuple(levels), gap=gap), counts.values, places, None
    )
