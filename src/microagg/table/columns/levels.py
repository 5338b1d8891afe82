"""Ordinal and nominal columns: their levels, and the place of each value among them, from how often
each value occurs.

What is known of the values of a whole column (`ValueCounts`) may come from parts of it, put
together in their order.
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
from microagg.table.columns.numbers import Codes
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Variable


@dataclass
class ValueCounts:
    """The different values of a column in the order in which they first appear, and how often each
    occurs.

    >>> from microagg.table.columns.distinct import distinct
    >>> found = ValueCounts.of(distinct(pa.chunked_array([["b", None]])))
    >>> found.combine(ValueCounts.of(distinct(pa.chunked_array([["a", "b"]]))))
    >>> found.counts, found.missing
    ({'b': 2, 'a': 1}, 1)
    """

    counts: dict[Any, int] = field(default_factory=dict)
    missing: int = 0
    order: list[Any] | None = None
    """All categories of an ordered type, in their order, whether they occur or not; None for other
    types.
    """

    @staticmethod
    def of(found: Distinct) -> ValueCounts:
        """Those of a column or a part of one."""
        *counts, missing = found.counts.tolist()
        return ValueCounts(dict(zip(found.values, counts, strict=True)), missing, found.order)

    def combine(self, more: ValueCounts) -> None:
        """Take in what the next part tells."""
        for value, count in more.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        self.missing += more.missing
        if self.order is not None and more.order is not None:
            self.order = list(dict.fromkeys([*self.order, *more.order]))

    @property
    def values(self) -> list[Any]:
        """The different values."""
        return list(self.counts)

    @property
    def each(self) -> np.ndarray:
        """(values + 1,): how often each occurs; what is missing comes last."""
        return np.array([*self.counts.values(), self.missing], np.int64)


@dataclass(frozen=True)
class Levels:
    """An ordinal or nominal column: what its cells stand for, and what each of its values is."""

    variable: Variable
    values: list[Any]
    places: np.ndarray
    """(values + 1,): the place of each value among the levels, NaN where it is an atom; what is
    missing comes last.
    """
    atoms: np.ndarray | None
    """(values + 1,) int16: which atom each value is, or -1; None where no cell is one."""

    def cells_of(self, found: Distinct) -> tuple[np.ndarray, np.ndarray | None]:
        """Values and atoms of the column whose different values these are, in the same order."""
        return self.places[found.codes], None if self.atoms is None else self.atoms[found.codes]


def levels_of(
    found: ValueCounts, told: pa.Field, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    """The levels of a column; `spelled` says whether gaps are written as the column spells them."""
    order = found.order
    if is_text(told.type) and means_numbers(told):  # 9 before 10
        order = sorted((text for text in found.values if number_of(text) is not None), key=_number)
    make = _ordinal if column.kind is Kind.ORDINAL else _nominal
    return make(found, order, column, codes, spelled=spelled)


def _number(text: str) -> Any:
    return number_of(text)


def with_gaps(
    special: Sequence[Any], held: np.ndarray | None, missing: np.ndarray
) -> tuple[tuple[Any, ...], np.ndarray | None]:
    """All special codes, whether they occur or not, and None for what is missing; where they
    are.
    """
    marks = tuple(special)
    if not missing.any():
        return marks, held
    atoms = np.full(len(missing), NO_ATOM, np.int16) if held is None else held.copy()
    atoms[missing] = len(marks)
    return (*marks, None), atoms


def gap_among(spellings: ValueCounts) -> Any:
    """How a missing cell is written, by how often the missing cells of a column are written in
    which way: as they mostly are.
    """
    counts = spellings.each
    most = int(counts.argmax())
    return None if counts[most] == counts[-1] else spellings.values[most]


def _gap(found: ValueCounts, missing: np.ndarray, *, spelled: bool) -> Any:
    if not spelled:
        return None
    gone = {
        value: count
        for (value, count), wanted in zip(found.counts.items(), missing, strict=False)
        if wanted
    }
    return gap_among(ValueCounts(gone, found.missing))


def _ordinal(
    found: ValueCounts, order: list[Any] | None, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    missing, special = _atoms_among(found.values, codes)
    there, occurs = ~missing & (special == NO_ATOM), found.each > 0
    if column.levels is not None:
        levels, places = _declared(column, found, there)
    else:
        used = [value for value, kept in zip(found.values, there, strict=False) if kept]
        apart = Finder([*codes.special, *codes.na])
        levels = (
            sorted(used) if order is None else [each for each in order if not apart.places(each)]
        )
        place = {level: rank for rank, level in enumerate(levels)}
        places = np.array([place.get(value, np.nan) for value in found.values] + [np.nan])
    places[~there] = np.nan
    held = special if (special[occurs] != NO_ATOM).any() else None
    gone = missing & occurs
    marks, atoms = with_gaps(codes.special, held, gone)
    gap = _gap(found, missing, spelled=spelled) if gone.any() else None
    return Levels(
        Variable(column.name, Kind.ORDINAL, tuple(levels), marks, gap=gap),
        found.values,
        places,
        atoms,
    )


def _atoms_among(values: Sequence[Any], codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it means missing, and which special code it is; the last place is what
    is missing anyway.
    """
    finder = Finder(values)
    missing = np.zeros(len(values) + 1, bool)
    missing[-1] = True
    for text in codes.na:
        missing[finder.places(text)] = True
    special = np.full(len(missing), NO_ATOM, np.int16)
    for place, code in enumerate(codes.special):
        for at in finder.places(code):
            if not missing[at] and special[at] == NO_ATOM:
                special[at] = place
    return missing, special


def _declared(
    column: Column, found: ValueCounts, there: np.ndarray
) -> tuple[list[Any], np.ndarray]:
    """The declared levels, as the column spells them where they occur, and the place of each value
    of the column among them.
    """
    values = found.values
    finder = Finder(values)
    levels: list[Any] = list(column.levels or ())
    places = np.full(len(values) + 1, np.nan)
    for rank, level in enumerate(levels):
        same = [at for at in finder.places(level) if _is_level(values[at], level)]
        for at in same:
            places[at] = rank
            levels[rank] = values[at]
    lacking = np.isnan(places) & there
    if lacking.any():
        records = int(found.each[lacking].sum())
        raise InputError(
            f"the order of column {column.name!r} lacks values that {records} of its "
            f"records {'has' if records == 1 else 'have'}; name all levels in ordinal, "
            "or declare them with special or na."
        )
    return levels, places


def _is_level(value: Any, level: Any) -> bool:
    """Text is a level to the letter, all else by value."""
    return value == level if isinstance(value, str) and isinstance(level, str) else True


def _nominal(
    found: ValueCounts, order: list[Any] | None, column: Column, codes: Codes, *, spelled: bool
) -> Levels:
    if codes.special and column.kind is Kind.NOMINAL:
        raise InputError(
            f"column {column.name!r} is nominal, where a special code is a value like "
            f"any other; leave it out of special."
        )
    missing, _ = _atoms_among(found.values, Codes(column.name, (), codes.na))
    used = {value for value, gone in zip(found.values, missing, strict=False) if not gone}
    levels: list[Any] = (
        sorted(used) if order is None else [level for level in order if level in used]
    )
    place: dict[Any, float] = {level: float(rank) for rank, level in enumerate(levels)}
    places = np.array(
        [place.get(value, len(levels)) for value in found.values] + [len(levels)], np.float64
    )
    gap = None
    if (missing & (found.each > 0)).any():
        levels.append(None)
        gap = _gap(found, missing, spelled=spelled)
    return Levels(
        Variable(column.name, Kind.NOMINAL, tuple(levels), gap=gap), found.values, places, None
    )
