"""Statistics of columns, chunk by chunk, combined to those of the whole column.

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

from microagg.errors import OnlyInMemoryError
from microagg.files.identity import digest_of_chunk
from microagg.kernels import partial_sums, sums
from microagg.table.columns.categories import categories_in, joined
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
from microagg.table.columns.numbers import numbers_in
from microagg.table.columns.parsed_numbers import Codes
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
from microagg.table.reduction import Reduction, combine_named
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM


@dataclass
class NumberFacts(Reduction):
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

    @classmethod
    def of_chunk(cls, name: str, values: np.ndarray, kind: pa.DataType) -> NumberFacts:
        """Return the facts of the numbers of a chunk; NaN where a cell has none."""
        whole = pa.types.is_integer(kind)
        single = pa.types.is_floating(kind) and kind != pa.float64()
        facts = cls(name, whole, single, len(values))
        gaps = np.isnan(values)
        numbers = values[~gaps] if gaps.any() else values
        facts.counts = (
            PrecisionFacts.of_whole_numbers(len(numbers))
            if whole
            else PrecisionFacts.of_chunk(numbers, single=single)
        )
        if len(numbers):
            facts.least, facts.most = float(numbers.min()), float(numbers.max())
            facts.largest = max(abs(facts.least), abs(facts.most))
            facts.total = sums.column_sums(numbers.reshape(-1, 1))
        return facts

    def combine(self, more: NumberFacts) -> NumberFacts:
        """Take in what another chunk tells."""
        self.records += more.records
        self.nulls += more.nulls
        self.atoms = self.atoms + more.atoms
        self.least, self.most = min(self.least, more.least), max(self.most, more.most)
        self.largest = max(self.largest, more.largest)
        partial_sums.add_sums(self.total, more.total)
        self.counts.combine(more.counts)
        return self

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

    def precision(self, values_at: ValuesAt) -> Precision:
        """Return the precision of the whole column; `values_at` looks values up by position."""
        if self.known == 0 or self.finest is None:
            return Precision()
        return self.counts.precision(self.finest, self.known, values_at)


@dataclass
class LevelFacts(Reduction):
    """A nominal column, or one of strata: which values it has, and how often each; None is what is
    missing.
    """

    name: str
    records: int = 0
    counts: dict[Any, int] = field(default_factory=dict)
    ordered: tuple[Any, ...] | None = None
    """The values in another order than the ascending one."""

    @classmethod
    def of_chunk(cls, name: str, column: pa.ChunkedArray) -> LevelFacts:
        """Return the facts of a chunk of a column of strata."""
        values = distinct(column)
        counts = zip([*values.values, None], values.counts.tolist(), strict=True)
        return cls(name, len(column), {value: count for value, count in counts if count})

    def combine(self, more: LevelFacts) -> LevelFacts:
        """Take in what another chunk tells."""
        self.records += more.records
        for value, count in more.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > MOST_LEVELS:
            raise OnlyInMemoryError(
                f"column {self.name!r} has more than {MOST_LEVELS:,} different values, "
                f"too many for categories in large-table mode; "
                "give it more memory or another role."
            )
        return self

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values in their order, None last where cells are missing."""
        if self.ordered is not None:
            return self.ordered
        values = sorted(value for value in self.counts if value is not None)
        return (*values, None) if self.counts.get(None) else tuple(values)

    def frequency(self) -> np.ndarray:
        """(levels,): how often each occurs."""
        return np.array([self.counts[level] for level in self.levels], np.int64)


Facts = NumberFacts | LevelFacts


@dataclass
class ColumnScan(Reduction):
    """Statistics of a quasi-identifier or a weight from some chunks."""

    scan: ColumnStats
    numbers: NumberFacts | None = None
    """What its numbers come to, if they count from 0."""

    @classmethod
    def of_chunk(cls, table: pa.Table, request: ColumnRequest, first: int) -> ColumnScan:
        """Return the facts of a column in a chunk that begins with record `first`."""
        name, codes = request.column.name, replace(request.codes, first=first)
        scan, parsed = column_stats(
            request.column, table.schema.field(name), table.column(name), codes
        )
        if request.column.kind is not Kind.NUMERIC:
            return cls(scan)
        values = np.full(scan.records, np.nan)
        if parsed is not None:
            # the whole column decides how these are read
            if is_time(parsed.kind) or pa.types.is_decimal(parsed.kind):
                return cls(scan)
            values = numbers_in(parsed, {"origin": 0}, codes)
        facts = NumberFacts.of_chunk(name, values, scan.arrow_field.type)
        facts.nulls, facts.atoms = scan.nulls, scan.atoms
        return cls(scan, facts)

    def combine(self, more: ColumnScan) -> ColumnScan:
        """Take in what the next chunk tells."""
        self.scan.combine(more.scan)
        if self.numbers is not None and more.numbers is not None:
            self.numbers.combine(more.numbers)
        return self


@dataclass(frozen=True)
class ColumnRequest:
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
    ) -> ColumnRequest:
        """One of the columns of which these things were said."""
        codes = Codes(column.name, tuple(special.get(column.name, ())), tuple(na))
        return ColumnRequest(column, codes, hierarchies.get(column.name))


@dataclass
class ChunkFacts(Reduction):
    """Facts of one chunk, or of all chunks so far."""

    runs: list[bytes]
    """Digests of its runs."""
    columns: dict[str, ColumnScan]
    levels: dict[str, LevelFacts]
    """Of strata."""
    categories: dict[str, Any]
    """Of columns that have some: an Arrow array of them, in their order."""
    digests: list[str] = field(default_factory=list)
    """Of each chunk: a digest of the columns that later passes compare."""
    sampled: list[np.ndarray] = field(default_factory=list)
    """Of each chunk: hashes of the rows from which the sketch of the table is made."""

    @classmethod
    def of_chunk(
        cls,
        table: pa.Table,
        as_read: pa.Table,
        first: int,
        records: int,
        requests: Sequence[ColumnRequest],
        strata: Sequence[str] = (),
        compared: tuple[str, ...] = (),
    ) -> ChunkFacts:
        """Digest a chunk that begins with record `first`, and find out about some columns.

        `as_read` is the same with the names of the input; `records` are those of the whole table.
        """
        return cls(
            digests_of_runs(as_read),
            {column.column.name: ColumnScan.of_chunk(table, column, first) for column in requests},
            {name: LevelFacts.of_chunk(name, table.column(name)) for name in strata},
            categories_in(table),
            [digest_of_chunk(table, compared)],
            [sampled_rows(as_read, records)],
        )

    def combine(self, other: ChunkFacts) -> ChunkFacts:
        """Add the chunk that follows."""
        self.runs += other.runs
        self.digests += other.digests
        self.sampled += other.sampled
        combine_named(self.columns, other.columns)
        combine_named(self.levels, other.levels)
        for name, values in other.categories.items():
            mine = self.categories.get(name)
            self.categories[name] = values if mine is None else joined(mine, values)
        return self


def scan_chunk(
    source: Any,
    first: int,
    count: int,
    requests: Sequence[ColumnRequest],
    strata: Sequence[str] = (),
    compared: tuple[str, ...] = (),
) -> ChunkFacts:
    """Read a chunk, digest all of it, and find out about some columns: a task."""
    table = source.read(first, count)
    as_read = table.rename_columns(source.original_names)
    return ChunkFacts.of_chunk(table, as_read, first, source.records, requests, strata, compared)


def settled(
    over: Over, requests: Sequence[ColumnRequest], scans: Mapping[str, ColumnScan]
) -> tuple[list[ColumnEncoding], list[Facts]]:
    """The columns of the whole table, and what is known of their values; one more pass where
    numbers count from another one than 0.
    """
    columns, facts = [], []
    for request in requests:
        column_scan = scans[request.column.name]
        column = encode_column(request.column, column_scan.scan, request.codes)
        columns.append(replace(column, hierarchy=request.hierarchy))
        facts.append(_facts_of(column, column_scan))
    late = [
        column for column, column_facts in zip(columns, facts, strict=True) if column_facts is None
    ]
    measured: dict[str, NumberFacts] = {}
    if late:
        for more in over("measuring", numbers_chunk, tuple(late)):
            combine_named(measured, {facts.name: facts for facts in more})
    for column in late:
        number_facts, scan = measured[column.name], scans[column.name].scan
        number_facts.nulls, number_facts.atoms = scan.nulls, scan.atoms[: len(column.marks)]
        number_facts.finest = None if column.unit else decimals_of_origin(column.variable)
    return columns, [
        measured[column.name] if column_facts is None else column_facts
        for column, column_facts in zip(columns, facts, strict=True)
    ]


Over = Callable[..., Iterator[Any]]
"""`over(what, task, *arguments)`: what a task returns for each chunk, in their order."""


def numbers_chunk(
    source: Any, first: int, count: int, columns: tuple[ColumnEncoding, ...]
) -> list[NumberFacts]:
    """A task: what the numbers of these columns come to, in the terms of the whole."""
    table = source.read(first, count, [column.name for column in columns])
    cells = cells_in(table, columns, first)
    return [
        NumberFacts.of_chunk(
            column.name,
            np.ascontiguousarray(cells.values[:, j]),
            table.schema.field(column.name).type,
        )
        for j, column in enumerate(columns)
    ]


def _facts_of(column: ColumnEncoding, column_scan: ColumnScan) -> Facts | None:
    """Return the facts of the values of a column; None where they need another pass."""
    scan, facts = column_scan.scan, column_scan.numbers
    if column.kind is Kind.NUMERIC:
        if facts is None or column.origin:
            return None
        facts.atoms = scan.atoms[: len(column.marks)]
        return facts
    if column.levels == (None,):
        return LevelFacts(column.name, scan.records, {None: scan.records})
    assert scan.values is not None
    of_levels, of_atoms = (
        np.zeros(len(column.levels), np.int64),
        np.zeros(len(column.marks), np.int64),
    )
    codes = [*column.places.values(), column.absent]
    for (level, atom), count in zip(codes, scan.values.all_counts.tolist(), strict=True):
        if atom != NO_ATOM:
            of_atoms[atom] += count
        elif count:
            of_levels[int(level)] += count
    if column.kind is Kind.NOMINAL:
        counts = dict(zip(column.levels, of_levels.tolist(), strict=True))
        return LevelFacts(column.name, scan.records, counts, column.levels)
    used = np.flatnonzero(of_levels)
    facts = NumberFacts(
        column.name, True, False, scan.records, scan.nulls, of_atoms, finest=None, levels=of_levels
    )
    if len(used):
        facts.least, facts.most = float(used[0]), float(used[-1])
        facts.largest = facts.most
        total = sum(int(level) * int(of_levels[level]) for level in used)
        facts.total = np.array([[float(total)], [float(total - int(float(total)))], [0.0]])
    return facts
