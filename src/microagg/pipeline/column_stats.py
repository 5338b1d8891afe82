"""What is found out about the columns of a table chunk by chunk, and put together to what a look at
the whole would find.

Everything here is a count, an extreme or a sum that does not depend on the order of its terms, so
any chunks give the same facts. The oracle is the way in memory: `cells_of`, `Space.fit` and
`precision_of` on the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import OnlyInMemory
from microagg.files.identity import digest_of_chunk
from microagg.kernels import partial_sums, sums
from microagg.table.columns.categories import categories_in
from microagg.table.columns.column_encoding import (
    MOST_LEVELS,
    ColumnEncoding,
    ColumnStats,
    cells_in,
    column_stats,
    encode_column,
)
from microagg.table.columns.digests import digests_of_runs
from microagg.table.columns.distinct import distinct
from microagg.table.columns.numbers import Codes, numbers_in
from microagg.table.columns.row_sketch import sampled_rows
from microagg.table.columns.times import is_time
from microagg.table.hierarchy import Hierarchy
from microagg.table.precision import (
    Precision,
    PrecisionFacts,
    ValuesAt,
    decimals_of_origin,
    places_of_spread,
)
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM


@dataclass
class NumberFacts:
    """A numeric or ordinal column: what is known of its values, and how many cells have none."""

    name: str
    whole: bool
    """Whether its type is one of whole numbers."""
    single: bool
    records: int = 0
    nulls: int = 0
    atoms: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """(marks,): how often each atom occurs."""
    least: float = np.inf
    most: float = -np.inf
    largest: float = 0.0
    """The largest absolute value."""
    total: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """Their sum."""
    counts: PrecisionFacts = field(default_factory=PrecisionFacts)
    """Its values by their decimals."""
    finest: int | None = 0
    """How many decimals its origin has, which values have at least; None where decimals mean
    nothing: times, ordered levels.
    """
    levels: np.ndarray | None = None
    """Ordinal: how often each level occurs."""

    def combine(self, more: NumberFacts) -> None:
        """Take in what another chunk tells."""
        self.records += more.records
        self.nulls += more.nulls
        self.atoms = self.atoms + more.atoms
        self.least, self.most = min(self.least, more.least), max(self.most, more.most)
        self.largest = max(self.largest, more.largest)
        partial_sums.add_sums(self.total, more.total)
        self.counts.combine(more.counts)

    @property
    def missing(self) -> int:
        """Cells without a value: missing ones and special codes."""
        return int(self.atoms.sum())

    @property
    def known(self) -> int:
        """Cells with a value."""
        return self.records - self.missing

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return sums.rounded(self.total, 0) / self.known

    @property
    def places(self) -> tuple[int, ...]:
        """The places in the order of the values that `precision` asks for; none where counts
        decide.
        """
        if self.known == 0 or self.finest is None or self.counts.of_most is not None:
            return ()
        return places_of_spread(self.known)

    def precision(self, at: ValuesAt) -> Precision:
        """Return what `precision_of` finds in the whole column; `at` has the values at `places`."""
        if self.known == 0 or self.finest is None:
            return Precision()
        return self.counts.precision(self.finest, self.known, at)


@dataclass
class LevelFacts:
    """A nominal column, or one of strata: which values it has, and how often each; None is what is
    missing.
    """

    name: str
    records: int = 0
    counts: dict[Any, int] = field(default_factory=dict)
    ordered: tuple[Any, ...] | None = None
    """The values in another order than the ascending one."""

    def combine(self, more: LevelFacts) -> None:
        """Take in what another chunk tells."""
        self.records += more.records
        for value, count in more.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > MOST_LEVELS:
            raise OnlyInMemory(
                f"column {self.name!r} has more than {MOST_LEVELS:,} different values, "
                f"too many for categories beyond memory; "
                "give it more memory or another role."
            )

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values in their order, None last where cells are missing."""
        if self.ordered is not None:
            return self.ordered
        there = sorted(value for value in self.counts if value is not None)
        return (*there, None) if self.counts.get(None) else tuple(there)

    def frequency(self) -> np.ndarray:
        """(levels,): how often each occurs."""
        return np.array([self.counts[level] for level in self.levels], np.int64)


Facts = NumberFacts | LevelFacts


@dataclass
class ColumnScan:
    """What chunks of a column tell: of any quasi-identifier, or of a weight."""

    scan: ColumnStats
    numbers: NumberFacts | None = None
    """What its numbers come to, if they count from 0."""

    def combine(self, more: ColumnScan) -> None:
        """Take in what the next chunk tells."""
        self.scan.combine(more.scan)
        if self.numbers is not None and more.numbers is not None:
            self.numbers.combine(more.numbers)


@dataclass(frozen=True)
class AskedColumn:
    """A column that is to be read, and what was said of it: codes that are no values, a tree over
    its values.
    """

    column: Column
    codes: Codes
    hierarchy: Hierarchy | None = None

    @staticmethod
    def of(
        column: Column,
        special: Mapping[str, tuple[Any, ...]] = {},
        na: Sequence[str] = (),
        hierarchies: Mapping[str, Hierarchy] = {},
    ) -> AskedColumn:
        """One of the columns of which these things were said."""
        codes = Codes(column.name, tuple(special.get(column.name, ())), tuple(na))
        return AskedColumn(column, codes, hierarchies.get(column.name))


@dataclass
class ChunkFacts:
    """What one chunk tells."""

    runs: list[bytes]
    """The digests of its runs."""
    columns: dict[str, ColumnScan]
    levels: dict[str, LevelFacts]
    """Of strata."""
    categories: dict[str, Any]
    """Of columns that have some: an Arrow array of them, in their order."""
    digest: str = ""
    """Of the columns that later passes compare."""
    sampled: np.ndarray | None = None
    """Hashes of the rows that the sketch of the table is made from."""


def scan_chunk(
    source: Any,
    first: int,
    count: int,
    asked: Sequence[AskedColumn],
    strata: Sequence[str] = (),
    compared: tuple[str, ...] = (),
) -> ChunkFacts:
    """A task: read a chunk, digest all of it, and find out about these columns."""
    table = source.read(first, count)
    columns = {each.column.name: _scanned(table, each, first) for each in asked}
    levels = {name: facts_of_levels(name, table.column(name)) for name in strata}
    digest = digest_of_chunk(table, compared)
    # digests are those of the table that was given
    as_read = table.rename_columns(source.original_names)
    sampled = sampled_rows(as_read, source.records)
    return ChunkFacts(
        digests_of_runs(as_read), columns, levels, categories_in(table), digest, sampled
    )


def _scanned(table: pa.Table, asked: AskedColumn, first: int) -> ColumnScan:
    name, codes = asked.column.name, replace(asked.codes, first=first)
    scan, looked = column_stats(asked.column, table.schema.field(name), table.column(name), codes)
    if asked.column.kind is not Kind.NUMERIC:
        return ColumnScan(scan)
    values = np.full(scan.records, np.nan)
    if looked is not None:
        # how these are read, the whole decides
        if is_time(looked.kind) or pa.types.is_decimal(looked.kind):
            return ColumnScan(scan)
        values = numbers_in(looked, {"origin": 0}, codes)
    found = facts_of_numbers(name, values, scan.told.type)
    found.nulls, found.atoms = scan.nulls, scan.atoms
    return ColumnScan(scan, found)


def facts_of_numbers(name: str, values: np.ndarray, kind: pa.DataType) -> NumberFacts:
    """What the numbers of a chunk come to; NaN where there is none."""
    whole = pa.types.is_integer(kind)
    single = pa.types.is_floating(kind) and kind != pa.float64()
    found = NumberFacts(name, whole, single, len(values))
    gaps = np.isnan(values)
    known = values[~gaps] if gaps.any() else values
    found.counts = (
        PrecisionFacts.of_whole_numbers(len(known))
        if whole
        else PrecisionFacts.of(known, single=single)
    )
    if len(known):
        found.least, found.most = float(known.min()), float(known.max())
        found.largest = max(abs(found.least), abs(found.most))
        found.total = sums.column_sums(known.reshape(-1, 1))
    return found


def settled(
    over: Over, asked: Sequence[AskedColumn], found: Mapping[str, ColumnScan]
) -> tuple[list[ColumnEncoding], list[Facts]]:
    """The columns of the whole table, and what is known of their values; one more pass where
    numbers count from another one than 0.
    """
    columns, facts = [], []
    for each in asked:
        own = found[each.column.name]
        column = encode_column(each.column, own.scan, each.codes)
        columns.append(replace(column, hierarchy=each.hierarchy))
        facts.append(_facts_of(column, own))
    late = [column for column, own in zip(columns, facts, strict=True) if own is None]
    measured: dict[str, NumberFacts] = {}
    if late:
        for more in over("measuring", numbers_chunk, tuple(late)):
            for own in more:
                if own.name in measured:
                    measured[own.name].combine(own)
                else:
                    measured[own.name] = own
    for column in late:
        own, scan = measured[column.name], found[column.name].scan
        own.nulls, own.atoms = scan.nulls, scan.atoms[: len(column.marks)]
        own.finest = None if column.unit else decimals_of_origin(column.variable)
    return columns, [
        measured[column.name] if own is None else own
        for column, own in zip(columns, facts, strict=True)
    ]


Over = Callable[..., Iterator[Any]]
"""`over(what, task, *arguments)`: what a task returns for each chunk, in their order."""


def numbers_chunk(
    source: Any, first: int, count: int, columns: tuple[ColumnEncoding, ...]
) -> list[NumberFacts]:
    """A task: what the numbers of these columns come to, in the terms of the whole."""
    table = source.read(first, count, [each.name for each in columns])
    cells = cells_in(table, columns, first)
    return [
        facts_of_numbers(
            each.name, np.ascontiguousarray(cells.values[:, j]), table.schema.field(each.name).type
        )
        for j, each in enumerate(columns)
    ]


def _facts_of(column: ColumnEncoding, found: ColumnScan) -> Facts | None:
    """What is known of the values of a column; None where another pass has to tell."""
    scan, own = found.scan, found.numbers
    if column.kind is Kind.NUMERIC:
        if own is None or column.origin:
            return None
        own.atoms = scan.atoms[: len(column.marks)]
        return own
    if column.levels == (None,):
        return LevelFacts(column.name, scan.records, {None: scan.records})
    assert scan.values is not None
    of_levels, of_atoms = (
        np.zeros(len(column.levels), np.int64),
        np.zeros(len(column.marks), np.int64),
    )
    each = [*column.places.values(), column.absent]
    for (place, atom), count in zip(each, scan.values.each.tolist(), strict=True):
        if atom != NO_ATOM:
            of_atoms[atom] += count
        elif count:
            of_levels[int(place)] += count
    if column.kind is Kind.NOMINAL:
        counts = dict(zip(column.levels, of_levels.tolist(), strict=True))
        return LevelFacts(column.name, scan.records, counts, column.levels)
    used = np.flatnonzero(of_levels)
    own = NumberFacts(
        column.name, True, False, scan.records, scan.nulls, of_atoms, finest=None, levels=of_levels
    )
    if len(used):
        own.least, own.most = float(used[0]), float(used[-1])
        own.largest = own.most
        total = sum(int(place) * int(of_levels[place]) for place in used)
        own.total = np.array([[float(total)], [float(total - int(float(total)))], [0.0]])
    return own


def facts_of_levels(name: str, column: pa.ChunkedArray) -> LevelFacts:
    """What a chunk of a column of strata tells."""
    found = distinct(column)
    counts = dict(zip([*found.values, None], found.counts.tolist(), strict=True))
    return LevelFacts(name, len(column), {value: count for value, count in counts.items() if count})


def merged(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put the facts of two chunks together."""
    for name, facts in more.items():
        if name in into:
            into[name].combine(facts)
        else:
            into[name] = facts
