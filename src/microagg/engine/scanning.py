"""What is found out about the columns of a table chunk by chunk, and put together to what a look at the whole would find.

Everything here is a count, an extreme or a sum that does not depend on the order of its terms, so any chunks give the same facts. The
oracle is the way in memory: `cells_of`, `Space.fit` and `decimals_of_variable` on the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError, OnlyInMemory
from microagg.kernels import partial_sums, sums
from microagg.table.io.arrow import compute as pc
from microagg.table.io.arrow import is_text
from microagg.table.io.digests import digests_of_runs
from microagg.table.io.distinct import distinct
from microagg.table.io.frames import LARGEST, LARGEST_WHOLE
from microagg.table.io.reading import refuse_value
from microagg.table.precision import FINEST
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

MOST_LEVELS = 100_000
"""Different values of a nominal column or of strata, beyond memory: they are counted in memory."""


@dataclass
class NumberFacts:
    """A numeric column: what is known of its values, and how many cells have none."""

    name: str
    whole: bool
    """Whether its type is one of whole numbers."""
    single: bool
    records: int = 0
    nulls: int = 0
    missing: int = 0
    """Cells without a value: null and NaN."""
    least: float = np.inf
    most: float = -np.inf
    largest: float = 0.0
    """The largest absolute value."""
    total: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """Their sum."""
    off: np.ndarray = field(default_factory=lambda: np.zeros(FINEST + 1))
    """For 0, 1, … decimals: how far a value is at most from one with so many, unless its own size excuses it; 0 where none is."""

    def plus(self, more: NumberFacts) -> None:
        """Take in what another chunk tells."""
        self.records += more.records
        self.nulls += more.nulls
        self.missing += more.missing
        self.least, self.most = min(self.least, more.least), max(self.most, more.most)
        self.largest = max(self.largest, more.largest)
        partial_sums.add_sums(self.total, more.total)
        self.off = np.maximum(self.off, more.off)

    @property
    def known(self) -> int:
        """Cells with a value."""
        return self.records - self.missing

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return sums.rounded(self.total, 0) / self.known

    def decimals(self, excused: np.ndarray | None = None) -> int | None:
        """What `decimals_of` finds in the whole column.

        What its usual (median) value would excuse is asked only where its largest one would: `excused` is what
        `excused_values` counted of all chunks, needed where `asks_for_usual`.
        """
        if self.known == 0:
            return None
        for places in range(FINEST + 1):
            if self.off[places] == 0.0:
                return places
            if excused is not None and self._may_pass(places):
                if excused[places] >= self.known - self.known // 2:
                    return places
        return None

    @property
    def asks_for_usual(self) -> bool:
        """Whether the extremes leave open how many decimals there are."""
        passing = np.flatnonzero(self.off == 0.0)
        last = int(passing[0]) if len(passing) else FINEST + 1
        return self.known > 0 and any(self._may_pass(places) for places in range(last))

    def _may_pass(self, places: int) -> bool:
        return bool(self.off[places] <= _slack(np.array([self.largest]), places, single=self.single)[0])


@dataclass
class LevelFacts:
    """A nominal column, or one of strata: which values it has, and how often each; None is what is missing."""

    name: str
    records: int = 0
    counts: dict[Any, int] = field(default_factory=dict)

    def plus(self, more: LevelFacts) -> None:
        """Take in what another chunk tells."""
        self.records += more.records
        for value, count in more.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > MOST_LEVELS:
            raise OnlyInMemory(
                f"column {self.name!r} has more than {MOST_LEVELS:,} different values, too many for categories beyond memory; "
                "give it more memory or another role."
            )

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values in ascending order, None last where cells are missing."""
        there = sorted(value for value in self.counts if value is not None)
        return (*there, None) if self.counts.get(None) else tuple(there)

    def frequency(self) -> np.ndarray:
        """(levels,): how often each occurs."""
        return np.array([self.counts[level] for level in self.levels], np.int64)


Facts = NumberFacts | LevelFacts


@dataclass
class ChunkFacts:
    """What one chunk tells."""

    runs: list[bytes]
    """The digests of its runs."""
    columns: dict[str, Facts]


def scan_chunk(source: Any, first: int, count: int, columns: Sequence[Column]) -> ChunkFacts:
    """A task: read a chunk, digest all of it, and find out about these columns."""
    table = source.read(first, count)
    found: dict[str, Facts] = {}
    for column in columns:
        values = table.column(column.name)
        read = facts_of_numbers if column.kind is Kind.NUMERIC else facts_of_levels
        found[column.name] = read(column.name, values, first)
    return ChunkFacts(digests_of_runs(table), found)


def numbers_in(name: str, column: pa.ChunkedArray, first: int) -> np.ndarray:
    """(n,) float64: the numbers of a chunk that begins with record `first`; NaN where there is none.

    Infinite and too large ones are refused, as they are in memory.
    """
    kind = column.type
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and max(-ends["min"], ends["max"]) >= LARGEST_WHOLE:
            raise InputError(
                f"column {name!r} holds whole numbers of more than 15 digits, which are not worked on beyond memory; make it text, "
                "or give it more memory."
            )
        if column.null_count == 0:
            return column.to_numpy().astype(np.float64)
    values = pc.fill_null(pc.cast(column, pa.float64()), np.nan).to_numpy().astype(np.float64)
    wrong = np.isinf(values)
    if wrong.any():
        refuse_value(name, first + int(np.argmax(wrong)), "infinite value")
    wrong = np.abs(values) > LARGEST
    if wrong.any():
        refuse_value(name, first + int(np.argmax(wrong)), f"a number beyond {LARGEST:g}")
    return values


def facts_of_numbers(name: str, column: pa.ChunkedArray, first: int = 0) -> NumberFacts:
    """What a chunk of a numeric column tells."""
    whole = pa.types.is_integer(column.type)
    found = NumberFacts(name, whole, column.type == pa.float32(), len(column), column.null_count)
    values = numbers_in(name, column, first)
    gaps = np.isnan(values)
    found.missing = int(gaps.sum())
    known = values[~gaps] if found.missing else values
    if len(known):
        found.least, found.most = float(known.min()), float(known.max())
        found.largest = max(abs(found.least), abs(found.most))
        found.total = sums.column_sums(known.reshape(-1, 1))
        if not whole:
            found.off = _off(known, single=found.single)
    return found


def _slack(sizes: np.ndarray, decimals: int, *, single: bool) -> np.ndarray:
    """What `decimals_of` lets rounding leave over, beside values of these sizes."""
    return (1e-7 if single else 2e-15) * sizes * 10.0**decimals


def _off(known: np.ndarray, *, single: bool) -> np.ndarray:
    off = np.zeros(FINEST + 1)
    if (known == np.rint(known)).all():
        return off
    sizes = np.abs(known)
    for decimals in range(FINEST + 1):
        scaled = known * 10.0**decimals
        left = np.abs(scaled - np.rint(scaled))
        inexcusable = left > _slack(sizes, decimals, single=single)
        off[decimals] = left[inexcusable].max(initial=0.0)
    return off


def excused_values(known: np.ndarray, facts: NumberFacts) -> np.ndarray:
    """(decimals,): how many values of a chunk would excuse what the column is off, if they were its usual one."""
    sizes = np.abs(known)
    return np.array(
        [
            int((facts.off[places] <= _slack(sizes, places, single=facts.single)).sum())
            for places in range(FINEST + 1)
        ]
    )


def facts_of_levels(name: str, column: pa.ChunkedArray, first: int = 0) -> LevelFacts:
    """What a chunk of a nominal column tells."""
    found = distinct(column)
    counts = dict(zip([*found.values, None], found.counts.tolist(), strict=True))
    return LevelFacts(name, len(column), {value: count for value, count in counts.items() if count})


def merged(into: dict[str, Facts], more: dict[str, Facts]) -> None:
    """Put the facts of two chunks together."""
    for name, facts in more.items():
        if name in into:
            into[name].plus(facts)  # pyright: ignore[reportArgumentType]  of one column, so of one kind
        else:
            into[name] = facts


def refuse_type(column: Column, kind: pa.DataType) -> None:
    """Refuse what a plan does not work on beyond memory: dates, decimals, text that means numbers, ordered levels, other types."""
    number = pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())
    if column.kind is Kind.NUMERIC and number:
        return
    if column.kind is Kind.NOMINAL and (
        number or pa.types.is_boolean(kind) or (is_text(kind) and kind != pa.string_view())
    ):
        return
    what = "ordered levels" if column.kind is Kind.ORDINAL else f"{column.kind} values of the type {kind}"
    raise OnlyInMemory(
        f"column {column.name!r} holds {what}, which are not worked on beyond memory yet; give it more memory, or make it plain "
        "numbers or text."
    )


def variable_of(column: Column, facts: Facts) -> Variable:
    """What the cells of a column stand for, from the facts of the whole."""
    if isinstance(facts, LevelFacts):
        return Variable(column.name, Kind.NOMINAL, facts.levels)
    if facts.known == 0:  # nothing but gaps is one category
        return Variable(column.name, Kind.NOMINAL, (None,))
    return Variable(column.name, marks=(None,) if facts.missing else (), single=facts.single)


def cells_in(table: pa.Table, variables: Sequence[Variable], first: int = 0) -> Cells:
    """The cells of a part of a table, in the terms of the whole: what `cells_of` has for these records.

    >>> cells = cells_in(pa.table({"age": [30, None]}), [Variable("age", marks=(None,))])
    >>> cells.values[:, 0].tolist(), cells.atoms[:, 0].tolist()
    ([30.0, nan], [-1, 0])
    """
    values = np.empty((table.num_rows, len(variables)))
    atoms = None
    if any(variable.marks for variable in variables):
        atoms = np.full(values.shape, NO_ATOM, np.int16)
    for j, variable in enumerate(variables):
        column = table.column(variable.name)
        if variable.kind is Kind.NOMINAL:
            values[:, j] = _places(column, variable)
            continue
        values[:, j] = numbers_in(variable.name, column, first)
        if variable.marks and atoms is not None:
            atoms[np.isnan(values[:, j]), j] = 0
    return Cells(tuple(variables), values, atoms)


def _places(column: pa.ChunkedArray, variable: Variable) -> np.ndarray:
    """(n,): the place of each value among the levels; what is missing is the last."""
    place = {level: float(rank) for rank, level in enumerate(variable.levels)}
    found = distinct(column)
    return np.array([*(place[value] for value in found.values), float(len(variable.levels) - 1)])[found.codes]
