"""Encoding of columns over all chunks, and reading of any chunk in this encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError, OnlyInMemoryError
from microagg.table.columns import times
from microagg.table.columns.arrow import is_text, of_plain_type
from microagg.table.columns.cells import nothing_but_gaps
from microagg.table.columns.distinct import distinct
from microagg.table.columns.frames import LARGEST_WHOLE, UNKNOWN_TYPE, is_odd
from microagg.table.columns.levels import ValueCounts, gap_among, levels_of, with_gaps
from microagg.table.columns.matrix_values import values_of
from microagg.table.columns.numbers import extent_of, numbers_in, parse_column, terms_of
from microagg.table.columns.parsed_numbers import Codes, Extent, ParsedNumbers
from microagg.table.reduction import Reduction
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

MOST_LEVELS = 100_000
"""Largest number of distinct values of a column of categories or text out of core: they are counted
in memory.
"""
MANY_LEVELS = (
    f"column {{!r}} has more than {MOST_LEVELS:,} different values, too many for categories in "
    "large-table mode; give it more memory or another role."
)
TOLD_APART = LARGEST_WHOLE / 4
"""Largest difference that is exact in float64, so that no value needs to be looked up."""


@dataclass(frozen=True)
class ColumnEncoding(Variable):
    """Encoding of a column: its variable, and what is needed to read any part of it."""

    special: tuple[Any, ...] = ()
    na: tuple[str, ...] = ()
    has_atoms: bool = False
    """True if any cell of the column is an atom."""
    places: dict[Any, tuple[float, int]] = field(default_factory=dict, repr=False)
    """Rank and atom of each value, for columns of levels."""
    absent: tuple[float, int] = (np.nan, NO_ATOM)
    """The same for what is missing."""

    @staticmethod
    def of(variable: Variable) -> ColumnEncoding:
        """Return the encoding that follows from a variable alone.

        Special codes are its marks, and levels are values to the letter.
        """
        if isinstance(variable, ColumnEncoding):
            return variable
        attributes = {
            attribute.name: getattr(variable, attribute.name) for attribute in fields(Variable)
        }
        last = float(len(variable.levels) - 1)
        places = {level: (float(rank), NO_ATOM) for rank, level in enumerate(variable.levels)}
        special = tuple(mark for mark in variable.marks if mark is not None)
        absent = (
            (last, NO_ATOM) if variable.kind is Kind.NOMINAL else (np.nan, len(variable.marks) - 1)
        )
        return ColumnEncoding(
            **attributes,
            special=special,
            has_atoms=bool(variable.marks),
            places=places,
            absent=absent,
        )

    @property
    def variable(self) -> Variable:
        """Variable of the column, without the encoding."""
        return Variable(
            **{attribute.name: getattr(self, attribute.name) for attribute in fields(Variable)}
        )


@dataclass
class ColumnStats(Reduction):
    """Statistics of a part of a column; parts are combined in their order."""

    name: str
    arrow_field: pa.Field
    """Its name and type, and what it is marked with."""
    records: int = 0
    nulls: int = 0
    atoms: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    """Numeric: how many cells hold each special code, and how many are missing."""
    extent: Extent = field(default_factory=Extent)
    gaps: ValueCounts = field(default_factory=ValueCounts)
    """Numeric text: how missing cells are written."""
    values: ValueCounts | None = None
    """Distinct values, of levels and of text."""
    examples: Any = None
    """A cell for each of these, in their order: the first that has it."""

    @classmethod
    def of_chunk(
        cls, column: Column, metadata: pa.Field, part: pa.ChunkedArray, codes: Codes
    ) -> ColumnStats:
        """Return the statistics of a part of a column."""
        return column_stats(column, metadata, part, codes)[0]

    def combine(self, more: ColumnStats) -> ColumnStats:
        """Add the statistics of the next part."""
        self.records += more.records
        self.nulls += more.nulls
        self.atoms = self.atoms + more.atoms
        self.extent.combine(more.extent)
        self.gaps.combine(more.gaps)
        if self.values is not None and more.values is not None:
            new = [
                index
                for index, value in enumerate(more.values.counts)
                if value not in self.values.counts
            ]
            if new:
                added = more.examples.take(pa.array(new))
                self.examples = pa.concat_arrays([self.examples, added])
            self.values.combine(more.values)
            self._check_many()
        return self

    def _check_many(self) -> None:
        if self.values is not None and len(self.values.counts) > MOST_LEVELS:
            raise OnlyInMemoryError(MANY_LEVELS.format(self.name))


def column_stats(
    column: Column, field: pa.Field, part: pa.ChunkedArray, codes: Codes
) -> tuple[ColumnStats, ParsedNumbers | None]:
    """Return the statistics of a part of a column; of a numeric one also its parsed numbers."""
    part = plain_column(part)
    if is_odd(part.type) or isinstance(field.type, pa.BaseExtensionType):
        raise InputError(f"column {column.name!r} {UNKNOWN_TYPE}")
    stats = ColumnStats(
        column.name, field, len(part), part.null_count, np.zeros(len(codes.special) + 1, np.int64)
    )
    numeric = column.kind is Kind.NUMERIC
    if not numeric or is_text(part.type):
        distinct_values = distinct(part)
        stats.values = ValueCounts.of_chunk(distinct_values)
        cells = part if not pa.types.is_dictionary(part.type) else part.cast(part.type.value_type)
        stats.examples = _as_one(cells.take(pa.array(distinct_values.first_rows[:-1])))
        stats._check_many()
    if not numeric:
        return stats, None
    if part.null_count == len(part):
        stats.atoms[-1] = stats.gaps.missing = len(part)
        return stats, None
    looked = parse_column(part, codes)
    stats.extent = extent_of(looked, codes)
    stats.atoms[-1] = int(looked.missing.sum())
    if looked.special is not None:
        held = looked.special[looked.special != NO_ATOM]
        stats.atoms[:-1] = np.bincount(held, minlength=len(codes.special))
    if is_text(part.type):
        stats.gaps = ValueCounts.of_chunk(distinct(part.filter(pa.array(looked.missing))))
    return stats, looked


def encode_column(column: Column, scan: ColumnStats, codes: Codes) -> ColumnEncoding:
    """Return the encoding of the whole column."""
    kind = of_plain_kind(scan.arrow_field.type)
    markers = {"special": tuple(codes.special), "na": tuple(codes.na)}
    if column.kind is Kind.NUMERIC and scan.nulls < scan.records:
        terms = terms_of(kind, scan.extent, codes)
        _check_fine(column.name, kind, scan.extent, terms)
        gap = gap_among(scan.gaps) if is_text(kind) and scan.atoms[-1] else None
        marks = (*codes.special, None) if scan.atoms[-1] else tuple(codes.special)
        made = ColumnEncoding(
            column.name, marks=marks, gap=gap, **terms, **markers, has_atoms=bool(scan.atoms.any()),
        )  # fmt: skip
        return _gone(made) if scan.atoms[-1] == scan.records else made
    values = scan.values if scan.values is not None else ValueCounts({}, scan.records)
    levels = levels_of(
        values, scan.arrow_field.with_type(kind), column, codes, spelled=is_text(kind)
    )
    held = np.full(len(levels.places), NO_ATOM) if levels.atoms is None else levels.atoms
    entries = list(zip(levels.places.tolist(), held.tolist(), strict=True))
    made = ColumnEncoding(
        **{item.name: getattr(levels.variable, item.name) for item in fields(Variable)},
        **markers,
        has_atoms=levels.atoms is not None,
        places=dict(zip(levels.values, entries[:-1], strict=True)),
        absent=entries[-1],
    )
    marks = made.marks
    if (
        marks
        and marks[-1] is None
        and values.all_counts[held == len(marks) - 1].sum() == scan.records
    ):
        return _gone(made)
    return made


def _gone(column: ColumnEncoding) -> ColumnEncoding:
    return replace(
        ColumnEncoding.of(nothing_but_gaps(column.variable)), special=column.special, na=column.na
    )


def _check_fine(name: str, kind: Any, extent: Extent, terms: dict[str, Any]) -> None:
    """Refuse numbers that float64 cannot distinguish: restoring them needs the whole column."""
    span: Any = 0
    if times.is_time(kind) and extent.count:
        span = (extent.most - extent.least) * times.NANOSECONDS[times.unit_of(kind)]
        span //= times.NANOSECONDS[terms["unit"]]
    elif pa.types.is_decimal(kind) and terms["origin"]:
        span = (extent.most - extent.least).scaleb(kind.scale)
    if span >= TOLD_APART:
        raise OnlyInMemoryError(
            f"column {name!r} has values with too many digits for large-table mode; round them, "
            "or give it more memory."
        )


def read_part(
    part: pa.ChunkedArray, column: ColumnEncoding, first: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return values and atoms of a part that begins with record `first`, in the encoding of the
    whole.
    """
    part = plain_column(part)
    if column.kind is not Kind.NUMERIC:
        if column.levels == (None,):
            return np.zeros(len(part)), None
        distinct_values = distinct(part)
        entries = [*(column.places[value] for value in distinct_values.values), column.absent]
        values = np.array([position for position, _ in entries])[distinct_values.codes]
        atoms = np.array([atom for _, atom in entries], np.int16)[distinct_values.codes]
        return values, atoms if column.has_atoms else None
    codes = Codes(column.name, column.special, column.na, first)
    if part.null_count == len(part):
        return np.full(len(part), np.nan), np.full(len(part), len(column.marks) - 1, np.int16)
    if pa.types.is_decimal(part.type) and not column.has_atoms and not column.origin:
        frame = nw.from_native(pa.table({column.name: part}), eager_only=True)
        if isinstance(frame[column.name].dtype, nw.Decimal):
            return values_of(frame, [column.name])[:, 0], None
    looked = parse_column(part, codes)
    terms = {name: getattr(column, name) for name in ("origin", "unit", "wall")}
    _, atoms = with_gaps(column.special, looked.special, looked.missing)
    return numbers_in(looked, terms, codes), atoms


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without views, which most functions of Arrow do not support."""
    return of_plain_type(column)


def of_plain_kind(kind: pa.DataType) -> pa.DataType:
    """Return the type of such a column."""
    return of_plain_type(pa.chunked_array([], kind)).type


def _as_one(column: Any) -> pa.Array:
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    return whole


def cells_in(table: pa.Table, variables: Sequence[Variable], first: int = 0) -> Cells:
    """Return the cells of a part of a table as `cells_of` has them for the whole.

    >>> cells = cells_in(pa.table({"age": [30, None]}), [Variable("age", marks=(None,))])
    >>> cells.values[:, 0].tolist(), cells.atoms[:, 0].tolist()
    ([30.0, nan], [-1, 0])
    """
    columns = [ColumnEncoding.of(variable) for variable in variables]
    values = np.empty((table.num_rows, len(columns)))
    atoms = None
    if any(column.has_atoms for column in columns):
        atoms = np.full(values.shape, NO_ATOM, np.int16)
    for j, column in enumerate(columns):
        values[:, j], held = read_part(table.column(column.name), column, first)
        if held is not None and atoms is not None:
            atoms[:, j] = held
    return Cells(tuple(column.variable for column in columns), values, atoms)
