"""l and t beyond memory: confidential values as the numbers that they have in the whole table, and
what groups are measured against.

The different values of a column are counted chunk by chunk, in the order in which they first
appear; what they are (spellings of one text, kinds, orders, special codes, gaps) is found by the
very function that reads a whole column, on the list of them. Records carry the numbers along, and
blocks judge their groups by the whole table's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.declared import NO_CONFIDENTIAL
from microagg.guarantees.promise import AcceptanceTest, Guarantees, impossible
from microagg.guarantees.tally import tally_of_part
from microagg.kernels.guarantee_tables import GuaranteeTables, shortfall_of_counts
from microagg.pipeline.distinct_values import (
    DistinctValues,
    ValueCounting,
    different_chunk,
    distinct_values,
)
from microagg.pipeline.strata_plan import StrataCodes
from microagg.pipeline.units import UNIT, UnitColumn, unit_numbers
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.text_types import TextType, text_type_of
from microagg.table.confidential import Attribute
from microagg.table.ordering import ValueFrequencies
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM

UNKNOWN_CODE = -1
"""The number of a cell that the table did not have when it was counted."""


def code_column(number: int) -> str:
    """The column in which records carry the number of their confidential value along.

    >>> code_column(0)
    'microagg code 0'
    """
    return f"microagg code {number}"


@dataclass(frozen=True)
class EncodedColumn:
    """A confidential column: the number that each of its different cells has, in the ascending
    order of values, atoms behind them.
    """

    name: str
    kind: Kind
    type: pa.DataType
    keys: np.ndarray | pa.Array
    """The different cells but for null; ascending where they are numbers."""
    codes: np.ndarray
    """(cells,) int32: the number of each."""
    of_null: int
    known: int
    """How many values there are; numbers from there on are atoms."""
    counts: np.ndarray
    """(numbers,) int64: how often each occurs in the whole table."""
    text_type: TextType | None = None
    """Of texts: the values that they are where a file has types."""

    @staticmethod
    def of(
        attribute: Attribute, cells: DistinctValues, text_type: TextType | None = None
    ) -> EncodedColumn:
        """From what the different cells are, as a column of their own."""
        codes = attribute.codes.astype(np.int32)
        counts = np.zeros(attribute.distinct, np.int64)
        np.add.at(counts, codes, cells.counts)
        empty = np.asarray(cells.values.is_null())
        of_null = int(codes[empty][0]) if empty.any() else UNKNOWN_CODE
        keys: Any = cells.values.filter(pa.array(~empty)) if empty.any() else cells.values
        codes, kind = codes[~empty], cells.values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            keys = keys.to_numpy()
            order = np.argsort(keys, kind="stable")
            keys, codes = keys[order], codes[order]
        return EncodedColumn(
            attribute.name,
            attribute.kind,
            kind,
            keys,
            codes,
            of_null,
            attribute.known,
            counts,
            text_type,
        )

    def of_values(self) -> EncodedColumn:
        """Return the same by the values of its texts, as a file with types has them; what is no
        value is null there.
        """
        assert self.text_type is not None
        values = self.text_type.values(pa.chunked_array([self.keys])).combine_chunks()
        empty = np.asarray(values.is_null())
        keys: Any = values.filter(pa.array(~empty))
        codes = self.codes[~empty]
        of_null = int(self.codes[empty][0]) if empty.any() else self.of_null
        if not pa.types.is_boolean(values.type):
            keys = keys.to_numpy()
            order = np.argsort(keys, kind="stable")
            keys, codes = keys[order], codes[order]
        return replace(
            self, type=values.type, keys=keys, codes=codes, of_null=of_null, text_type=None
        )

    def numbers(self, column: pa.ChunkedArray) -> np.ndarray:
        """(n,) int32: the number of each cell; -1 for one that is none of them.

        >>> cells = DistinctValues.of_chunk(pa.chunked_array([["flu", "Flu", None, "cold"]]))
        >>> atoms = np.array([-1, -1, 0, -1])
        >>> ill = Attribute("ill", Kind.NOMINAL, np.array([0, 0, 9, 1]), atoms=atoms, marks=(None,))
        >>> column = pa.chunked_array([["cold", "Flu", None, "gout"]])
        >>> EncodedColumn.of(ill, cells).numbers(column).tolist()
        [1, 0, 2, -1]
        """
        if self.text_type is not None and not is_text(column.type):
            return self.of_values().numbers(column)
        column = distinct_values(column)
        if column.type != self.type:
            column = pc.cast(column, self.type)
        empty = np.asarray(column.is_null())
        codes = np.full(len(column), UNKNOWN_CODE, np.int32)
        if len(self.keys):
            codes = self._looked_up(column)
        codes[empty] = self.of_null
        return codes

    def _looked_up(self, column: pa.ChunkedArray) -> np.ndarray:
        if isinstance(self.keys, np.ndarray):
            cells = pc.fill_null(column, pa.scalar(0, self.type)).to_numpy()
            places = np.minimum(np.searchsorted(self.keys, cells), len(self.keys) - 1)
            return np.where(self.keys[places] == cells, self.codes[places], UNKNOWN_CODE).astype(
                np.int32
            )
        places = np.asarray(pc.fill_null(pc.index_in(column, value_set=self.keys), len(self.codes)))
        return np.append(self.codes, np.int32(UNKNOWN_CODE))[places]

    def attribute(self, codes: np.ndarray) -> Attribute:
        """The column of some records, by their numbers: all that groups are judged and formed by is
        which are equal, and their order.
        """
        values = codes.astype(np.float64 if self.kind is Kind.NUMERIC else np.int64)
        atoms = np.where(codes < self.known, NO_ATOM, codes - self.known).astype(np.int16)
        marks = tuple(range(len(self.counts) - self.known))
        return Attribute(self.name, self.kind, values, atoms=atoms if marks else None, marks=marks)


@dataclass(frozen=True)
class GuaranteeContext:
    """Guarantees, codes of confidential values, and tables of the whole that groups are tested
    against.
    """

    promise: Guarantees
    columns: tuple[EncodedColumn, ...]
    tables: GuaranteeTables
    """Of no records: the tables of the whole. The last column is that of units, where these are
    asked for; its numbers are those of a block.
    """
    unit: UnitColumn | None = None

    @staticmethod
    def of(
        promise: Guarantees, columns: tuple[EncodedColumn, ...], unit: UnitColumn | None = None
    ) -> GuaranteeContext:
        """The promise of a whole table."""
        units = unit is not None
        tables = promise.tables_of(
            np.zeros((0, len(columns) + units), np.int32),
            [*(column.kind for column in columns), *[Kind.NOMINAL] * units],
            [*(column.known for column in columns), *[0] * units],
            [*(column.counts for column in columns), *[np.zeros(0, np.int64)] * units],
            with_units=units,
        )
        return GuaranteeContext(promise, columns, tables, unit)

    @property
    def names(self) -> tuple[str, ...]:
        """The confidential columns."""
        return tuple(column.name for column in self.columns)

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns in which records carry numbers along."""
        return tuple(code_column(number) for number in range(len(self.columns)))

    @property
    def judged(self) -> tuple[str, ...]:
        """All columns that records are judged by, as they carry them along."""
        return (*self.carried, *(() if self.unit is None else UNIT))

    @property
    def withheld(self) -> tuple[str, ...]:
        """The columns that are read and not released."""
        return () if self.unit is None else (self.unit.name,)

    def with_numbers(self, rows: pa.Table) -> pa.Table:
        """Records of the table, and the numbers of their confidential values."""
        for column, name in zip(self.columns, self.carried, strict=True):
            codes = column.numbers(rows.column(column.name))
            if (codes == UNKNOWN_CODE).any():
                raise InputError("the table was changed while it was read; start again.")
            rows = rows.append_column(name, pa.array(codes))
        return rows if self.unit is None else self.unit.carried(rows)

    def acceptance(self, rows: pa.Table) -> AcceptanceTest:
        """Return a test of whether some of these records, by their indices, may be a group."""
        tables = self.tables
        codes = np.empty((rows.num_rows, tables.codes.shape[1]), np.int32)
        for number, name in enumerate(self.carried):
            codes[:, number] = rows.column(name).to_numpy()
        if self.unit is not None:
            codes[:, -1], units = unit_numbers(rows)
            known, begins = tables.known.copy(), tables.begins.copy()
            known[-1], begins[-1] = units, begins[-1] + units  # of units nothing else is looked up
            tables = tables._replace(known=known, begins=begins)
        return AcceptanceTest(self.promise, tables._replace(codes=codes))

    def attributes(self, rows: pa.Table) -> tuple[Attribute, ...]:
        """The confidential columns of these records."""
        return tuple(
            column.attribute(rows.column(name).to_numpy())
            for column, name in zip(self.columns, self.carried, strict=True)
        )

    def shortfall(self, number: int, values: np.ndarray, amounts: np.ndarray) -> float:
        """Return the distance of a group from its guarantee in one column, by ascending codes and
        their counts.
        """
        return float(
            shortfall_of_counts(
                np.ascontiguousarray(values, np.int64),
                np.ascontiguousarray(amounts, np.int64),
                number,
                *self.tables[1:],
            )
        )

    def check_impossible(self) -> None:
        """Raise if not even all records together are diverse enough."""
        diversity = self.promise.diversity
        if diversity is None:
            return
        alone = GuaranteeContext.of(Guarantees(diversity), self.columns)
        for number, column in enumerate(self.columns):
            every = np.arange(len(column.counts))
            if alone.shortfall(number, every, column.counts) > 0.0:
                labels = np.zeros(len(every), np.int64)
                whole = tally_of_part(every, labels, 1, column.counts, column.known)
                amounts = column.counts.astype(np.float64)
                raise impossible(
                    diversity,
                    column.name,
                    whole._replace(amounts=amounts, sizes=amounts.sum(keepdims=True)),
                )


def numbers_in_strata(
    source: Any, first: int, count: int, strata: StrataCodes, promised: GuaranteeContext
) -> list[DistinctValues]:
    """A task: of each confidential column how often each number occurs in each stratum of a chunk;
    both as one number.
    """
    rows = source.read(first, count, list(dict.fromkeys([*strata.names, *promised.names])))
    stratum_numbers, counts_by_column = strata.of_records(rows), []
    for column in promised.columns:
        pairs = stratum_numbers * len(column.counts) + column.numbers(rows.column(column.name))
        values, counts = np.unique(pairs, return_counts=True)
        counts_by_column.append(
            DistinctValues(pa.array(values), counts, np.zeros(len(values), np.int64))
        )
    return counts_by_column


def lacking_in_strata(
    passes: ChunkMap, strata: StrataCodes, promised: GuaranteeContext, memory: int
) -> np.ndarray:
    """(strata,): how far each stratum, as one group, is from keeping what is promised of values."""
    if not promised.columns:
        return np.zeros(len(strata.codes))
    countings = [ValueCounting(name, memory // 4) for name in promised.names]
    for chunk in passes.map_chunks("measuring", numbers_in_strata, strata, promised):
        for counting, more in zip(countings, chunk, strict=True):
            counting.add(more)
    lacking = np.zeros(len(strata.codes))
    for number, (column, counting) in enumerate(zip(promised.columns, countings, strict=True)):
        pairs = counting.result()
        values = pairs.values.to_numpy()
        order = np.argsort(values, kind="stable")
        values, counts, width = values[order], pairs.counts[order], len(column.counts)
        ends = np.searchsorted(values, np.arange(1, len(lacking) + 1) * width)
        for stratum, (begin, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            lacking[stratum] += promised.shortfall(
                number, values[begin:end] % width, counts[begin:end]
            )
    return lacking


def guarantee_context(
    passes: ChunkMap,
    promise: Guarantees,
    names: Sequence[str],
    read: Callable[[pa.Table, ValueFrequencies], tuple[Attribute, ...]],
    memory: int,
    unit: UnitColumn | None = None,
) -> GuaranteeContext:
    """Count the confidential values of a table, and number them; `read` finds what the cells of
    these columns are.
    """
    if not promise.is_about_values:
        return GuaranteeContext.of(promise, (), unit)
    if not names:
        raise InputError(NO_CONFIDENTIAL)
    countings = [ValueCounting(name, memory // 4) for name in names]
    for chunk in passes.map_chunks("measuring", different_chunk, tuple(names)):
        for counting, more in zip(countings, chunk, strict=True):
            counting.add(more)
    columns = []
    for counting in countings:
        cells = counting.result()
        mark = passes.source.schema.field(counting.name)
        schema = pa.schema([pa.field(counting.name, cells.values.type, metadata=mark.metadata)])
        (attribute,) = read(
            pa.table([cells.values], schema=schema), ValueFrequencies(cells.counts, cells.rows)
        )
        columns.append(EncodedColumn.of(attribute, cells, text_type_of(schema.field(0))))
    return GuaranteeContext.of(promise, tuple(columns), unit)
