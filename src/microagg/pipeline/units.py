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
from microagg.guarantees.units import LARGEST_SHARE, Units
from microagg.pipeline.strata_plan import StrataCodes
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.arrow import comparable, is_text
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.row_hashes import take_in
from microagg.table.confidential import missing_units, units_missing
from microagg.table.normalise import keys_of

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
        """What it is called."""
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
        told, missing = missing_units(column, self.field, self.na)
        told = comparable(told)
        lanes = np.zeros((len(told), 2), np.uint64)
        if not is_text(told.type):
            take_in(lanes, told)
            return lanes, missing
        encoded = pc.dictionary_encode(told, null_encoding="encode").combine_chunks()
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
class _Place:
    """What is known of the units of a stratum, or of the whole table."""

    records: int = 0
    some: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.uint64))
    """Different ones, up to as many as are asked for."""
    most: int = 0
    """How many records one of them has at most: the sum of what the most frequent one of each chunk
    has.
    """
    left: tuple[int, int] | None = None
    """What is left when different ones are struck out in pairs, and how often."""
    often: int = 0

    def combine(self, more: _Place, k: int) -> None:
        self.records += more.records
        self.most += more.most
        if len(self.some) < k:
            self.some = np.unique(np.concatenate([self.some, more.some]), axis=0)[:k]
        if self.left == more.left:
            self.often += more.often
        elif more.often > self.often:
            self.left, self.often = more.left, more.often - self.often
        else:
            self.often -= more.often


@dataclass
class UnitFacts:
    """What is known of the units of a table: by stratum, the whole behind them."""

    missing: int = 0
    first_missing: int | None = None
    places: dict[int, _Place] = field(default_factory=dict)

    def combine(self, more: UnitFacts, k: int) -> None:
        """Take in what another chunk tells."""
        self.missing += more.missing
        if self.first_missing is None:
            self.first_missing = more.first_missing
        for number, place in more.places.items():
            self.places.setdefault(number, _Place()).combine(place, k)


def units_chunk(
    source: Any, first: int, count: int, unit: UnitColumn, strata: StrataCodes | None, k: int
) -> UnitFacts:
    """A task: what a chunk tells of the units."""
    rows, own = _rows(source, first, count, unit, strata)
    hashes, missing = unit.hashes(rows.column(unit.name))
    found = UnitFacts(int(missing.sum()))
    if found.missing:
        found.first_missing = first + int(np.argmax(missing))
        return found
    whole = 0 if strata is None else len(strata.codes)
    _add_places(found, hashes, np.full(count, whole), k)
    if strata is not None:
        _add_places(found, hashes, own, k)
    return found


def _add_places(found: UnitFacts, hashes: np.ndarray, own: np.ndarray, k: int) -> None:
    """What the units of each stratum of a chunk come to."""
    order = np.lexsort((hashes[:, 1], hashes[:, 0], own))
    hashes, own = hashes[order], own[order]
    new = np.ones(len(own), bool)
    new[1:] = (own[1:] != own[:-1]) | (hashes[1:] != hashes[:-1]).any(axis=1)
    begins = np.flatnonzero(new)
    counts = np.diff(np.append(begins, len(own)))
    strata, firsts = np.unique(own[begins], return_index=True)
    for stratum, start, end in zip(
        strata.tolist(), firsts, np.append(firsts[1:], len(begins)), strict=True
    ):
        amounts, different = counts[start:end], hashes[begins[start:end]]
        records, most = int(amounts.sum()), int(amounts.max())
        first, second = different[int(np.argmax(amounts))].tolist()
        # struck out in pairs, an odd number leaves one
        often = max(2 * most - records, records % 2)
        found.places[stratum] = _Place(records, different[:k].copy(), most, (first, second), often)


def largest_chunk(
    source: Any,
    first: int,
    count: int,
    unit: UnitColumn,
    strata: StrataCodes | None,
    asked: dict[int, tuple[int, int]],
) -> dict[int, int]:
    """A task: how many records of a chunk belong to one unit of each stratum."""
    rows, own = _rows(source, first, count, unit, strata)
    hashes, _ = unit.hashes(rows.column(unit.name))
    whole, found = 0 if strata is None else len(strata.codes), {}
    for number, (one, two) in asked.items():
        there = (hashes[:, 0] == np.uint64(one)) & (hashes[:, 1] == np.uint64(two))
        found[number] = int((there if number == whole else there & (own == number)).sum())
    return found


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
        passes: ChunkMap, unit: UnitColumn, asked: Units, strata: StrataCodes | None
    ) -> CountedUnits:
        """Those of a table, refused where a record has none; one pass, or two."""
        facts = UnitFacts()
        for more in passes.map_chunks("measuring", units_chunk, unit, strata, asked.k):
            facts.combine(more, asked.k)
        if facts.first_missing is not None:
            raise InputError(
                units_missing(unit.name, facts.missing, passes.source.records, facts.first_missing)
            )
        places = [facts.places[each] for each in sorted(facts.places)]
        doubtful = {
            number: place.left
            for number, place in enumerate(places)
            if place.left is not None and place.often and place.most > LARGEST_SHARE * place.records
        }
        largest = np.zeros(len(places), np.int64)
        if doubtful:
            for counts in passes.map_chunks("measuring", largest_chunk, unit, strata, doubtful):
                for number, often in counts.items():
                    largest[number] += often
        records = np.array([each.records for each in places])
        different = np.array([len(each.some) for each in places])
        return CountedUnits(unit.name, records, different, largest)

    def check_impossible(self, asked: Units) -> None:
        """Raise if not even all records together have units enough."""
        check_too_few_units(
            asked, self.name, int(self.different[-1]), int(self.largest[-1]), int(self.records[-1])
        )

    def lacking(self, asked: Units) -> np.ndarray:
        """(strata,): above 0 where a stratum has too few units, or too large a one."""
        short = (self.different < asked.k) | (self.largest > LARGEST_SHARE * self.records)
        return short[:-1].astype(np.float64)
