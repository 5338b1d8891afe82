"""Units beyond memory: 128 bits that spellings of one unit share tell units apart, in whatever
chunk or block they are.

What is asked of the whole table, and of each stratum, is found chunk by chunk: whether it has k
different units, and whether one of them has more than half of the records. That one survives if
different ones are struck out in pairs, and is counted in a second pass, if the most frequent ones
of all chunks together could be as many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.promise import check_too_few_units
from microagg.guarantees.units import Units
from microagg.pipeline.strata_plan import StrataCodes
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.arrow import comparable, is_text
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.row_hashes import take_in
from microagg.table.confidential import missing_units, units_missing
from microagg.table.normalise import keys_of
from microagg.table.reduction import Reduction, combine_chunks

UNIT = ("microagg unit 0", "microagg unit 1")
"""The columns in which records carry the hash of their unit along."""


@dataclass(frozen=True)
class UnitColumn:
    """The column that tells which unit a record belongs to."""

    field: pa.Field
    na: tuple[Any, ...]
    """Markers of missing values."""

    @property
    def name(self) -> str:
        """Return the name of the column."""
        return self.field.name

    def hashes(self, column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """(n, 2) uint64: a hash of each record's unit, one for all its spellings; and (n,) where
        there is none.

        >>> home = UnitColumn(pa.field("home", pa.string()), ())
        >>> hashes, missing = home.hashes(pa.chunked_array([["A1", "a1 ", "", "B"]]))
        >>> len(np.unique(hashes[~missing], axis=0)), missing.tolist()
        (2, [False, False, True, False])
        """
        nested = pa.types.is_nested(column.type)
        values, missing = missing_units(column, self.field, self.na)
        values = comparable(values)
        lanes = np.zeros((len(values), 2), np.uint64)
        if not is_text(values.type):
            take_in(lanes, values)
            return lanes, missing
        encoded = pc.dictionary_encode(values, null_encoding="encode").combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        texts = encoded.dictionary
        different = np.zeros((len(texts), 2), np.uint64)
        take_in(different, pa.chunked_array([texts if nested else keys_of(texts)]))
        return different[np.asarray(encoded.indices)], missing

    def carried(self, rows: pa.Table) -> pa.Table:
        """Records with the hashes of their units in place of these."""
        hashes, _ = self.hashes(rows.column(self.name))
        rows = rows.drop_columns([self.name])
        for lane, name in enumerate(UNIT):
            rows = rows.append_column(name, pa.array(hashes[:, lane]))
        return rows


def unit_numbers(table: pa.Table) -> tuple[np.ndarray, int]:
    """(n,): numbers that tell the units of some records apart, and how many there are."""
    pairs = np.column_stack([table.column(name).to_numpy() for name in UNIT])
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[order[1:]] != pairs[order[:-1]]).any(axis=1)
    numbers = np.empty(len(pairs), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers, int(new.sum())


@dataclass
class StratumUnits(Reduction):
    """Units of a stratum, or of the whole table, as far as guarantees depend on them."""

    records: int = 0
    some: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.uint64))
    """Hashes of different units, at most `k`."""
    most: int = 0
    """Upper bound on the records of one unit: the sum over chunks of their most frequent one."""
    left: tuple[int, int] | None = None
    """Unit that is left when different ones are struck out in pairs."""
    often: int = 0
    """How often it is left."""
    k: int = 0
    """Number of different units that are asked for."""

    @classmethod
    def of_chunk(cls, units: np.ndarray, counts: np.ndarray, k: int) -> StratumUnits:
        """Return the units of some records: different hashes in ascending order, and counts."""
        records, most = int(counts.sum()), int(counts.max())
        first, second = units[int(np.argmax(counts))].tolist()
        # struck out in pairs, an odd number leaves one
        often = max(2 * most - records, records % 2)
        return cls(records, units[:k].copy(), most, (first, second), often, k)

    def combine(self, other: StratumUnits) -> StratumUnits:
        """Add the units of other records of the stratum."""
        self.records += other.records
        self.most += other.most
        if len(self.some) < self.k:
            self.some = np.unique(np.concatenate([self.some, other.some]), axis=0)[: self.k]
        if self.left == other.left:
            self.often += other.often
        elif other.often > self.often:
            self.left, self.often = other.left, other.often - self.often
        else:
            self.often -= other.often
        return self


@dataclass
class UnitFacts(Reduction):
    """Units of a table: by stratum, those of the whole table after them."""

    missing: int = 0
    first_missing: int | None = None
    """First record without a unit."""
    strata: dict[int, StratumUnits] = field(default_factory=dict)

    @classmethod
    def of_chunk(
        cls, hashes: np.ndarray, missing: np.ndarray, strata: np.ndarray | None, whole: int, k: int
    ) -> UnitFacts:
        """Count the units of a chunk; `whole` is the number under which all records are counted."""
        facts = cls(int(missing.sum()))
        if facts.missing:
            facts.first_missing = int(np.argmax(missing))
            return facts
        facts._add(hashes, np.full(len(hashes), whole), k)
        if strata is not None:
            facts._add(hashes, strata, k)
        return facts

    def combine(self, other: UnitFacts) -> UnitFacts:
        """Add another chunk."""
        self.missing += other.missing
        if self.first_missing is None:
            self.first_missing = other.first_missing
        for number, units in other.strata.items():
            mine = self.strata.get(number)
            self.strata[number] = units if mine is None else mine.combine(units)
        return self

    def _add(self, hashes: np.ndarray, strata: np.ndarray, k: int) -> None:
        """Add the units of each stratum of a chunk."""
        order = np.lexsort((hashes[:, 1], hashes[:, 0], strata))
        hashes, strata = hashes[order], strata[order]
        new = np.ones(len(strata), bool)
        new[1:] = (strata[1:] != strata[:-1]) | (hashes[1:] != hashes[:-1]).any(axis=1)
        begins = np.flatnonzero(new)
        counts = np.diff(np.append(begins, len(strata)))
        numbers, firsts = np.unique(strata[begins], return_index=True)
        ends = np.append(firsts[1:], len(begins))
        for number, start, end in zip(numbers.tolist(), firsts, ends, strict=True):
            units = hashes[begins[start:end]]
            self.strata[number] = StratumUnits.of_chunk(units, counts[start:end], k)


def units_chunk(
    source: Any, first: int, count: int, unit: UnitColumn, strata: StrataCodes | None, k: int
) -> UnitFacts:
    """Count the units of a chunk: a task."""
    rows, numbers = _rows(source, first, count, unit, strata)
    whole = 0 if strata is None else len(strata.codes)
    hashes, missing = unit.hashes(rows.column(unit.name))
    facts = UnitFacts.of_chunk(hashes, missing, None if strata is None else numbers, whole, k)
    if facts.first_missing is not None:
        facts.first_missing += first
    return facts


def largest_chunk(
    source: Any,
    first: int,
    count: int,
    unit: UnitColumn,
    strata: StrataCodes | None,
    candidates: dict[int, tuple[int, int]],
) -> dict[int, int]:
    """A task: how many records of a chunk belong to one unit of each stratum."""
    rows, stratum_numbers = _rows(source, first, count, unit, strata)
    hashes, _ = unit.hashes(rows.column(unit.name))
    whole, counts = 0 if strata is None else len(strata.codes), {}
    for number, (one, two) in candidates.items():
        members = (hashes[:, 0] == np.uint64(one)) & (hashes[:, 1] == np.uint64(two))
        counts[number] = int(
            (members if number == whole else members & (stratum_numbers == number)).sum()
        )
    return counts


def _rows(
    source: Any, first: int, count: int, unit: UnitColumn, strata: StrataCodes | None
) -> tuple[pa.Table, np.ndarray]:
    names = [unit.name, *(() if strata is None else strata.names)]
    rows = source.read(first, count, names)
    return rows, np.zeros(count, np.int64) if strata is None else strata.of_records(rows)


@dataclass(frozen=True)
class CountedUnits:
    """The units of each stratum, and of the whole table behind them: how many there are, and how
    many records the largest has.
    """

    name: str
    records: np.ndarray
    different: np.ndarray
    """As far as that is below what is asked for."""
    largest: np.ndarray
    """Where it has more than half of the records; else it may be less."""

    @staticmethod
    def of(
        passes: ChunkMap, unit: UnitColumn, required: Units, strata: StrataCodes | None
    ) -> CountedUnits:
        """Those of a table, refused where a record has none; one pass, or two."""
        facts = combine_chunks(
            passes.map_chunks("measuring", units_chunk, unit, strata, required.k)
        )
        if facts.first_missing is not None:
            raise InputError(
                units_missing(unit.name, facts.missing, passes.source.records, facts.first_missing)
            )
        places = [facts.strata[number] for number in sorted(facts.strata)]
        doubtful = {
            number: stratum.left
            for number, stratum in enumerate(places)
            if stratum.left is not None
            and stratum.often
            and required.has_too_large(stratum.most, stratum.records)
        }
        largest = np.zeros(len(places), np.int64)
        if doubtful:
            for counts in passes.map_chunks("measuring", largest_chunk, unit, strata, doubtful):
                for number, often in counts.items():
                    largest[number] += often
        records = np.array([stratum.records for stratum in places])
        different = np.array([len(stratum.some) for stratum in places])
        return CountedUnits(unit.name, records, different, largest)

    def check_impossible(self, required: Units) -> None:
        """Raise if not even all records together have units enough."""
        check_too_few_units(
            required,
            self.name,
            int(self.different[-1]),
            int(self.largest[-1]),
            int(self.records[-1]),
        )

    def lacking(self, required: Units) -> np.ndarray:
        """(strata,): above 0 where a stratum has too few units, or too large a one."""
        short = required.has_too_few(self.different) | required.has_too_large(
            self.largest, self.records
        )
        return short[:-1].astype(np.float64)
