"""Columns of a table that is never in memory as a whole: what they are in all, and how any part of
them is read in these terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError, OnlyInMemory
from microagg.table.columns import times
from microagg.table.columns.arrow import is_text, of_plain_type
from microagg.table.columns.cells import nothing_but_gaps
from microagg.table.columns.distinct import distinct
from microagg.table.columns.frames import LARGEST_WHOLE, UNKNOWN_TYPE, is_odd, values_of
from microagg.table.columns.levels import ValueCounts, gap_among, levels_of, with_gaps
from microagg.table.columns.numbers import (
    Codes,
    Extent,
    ParsedNumbers,
    extent_of,
    numbers_in,
    parse_column,
    terms_of,
)
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

MOST_LEVELS = 100_000
"""Different values of a column of categories or of text, beyond memory: they are counted in memory.
"""
TOLD_APART = LARGEST_WHOLE / 4
"""Differences that are less are exact in float64, so that nobody has to look up what they stood
for.
"""


@dataclass(frozen=True)
class ColumnEncoding(Variable):
    """What the cells of a column stand for, and what it takes to read any part of it."""

    special: tuple[Any, ...] = ()
    na: tuple[str, ...] = ()
    has_atoms: bool = False
    """Whether any cell of the column is an atom."""
    places: dict[Any, tuple[float, int]] = field(default_factory=dict, repr=False)
    """Of levels: for each value its place, and which atom it is."""
    absent: tuple[float, int] = (np.nan, NO_ATOM)
    """The same for what is missing."""

    @staticmethod
    def of(variable: Variable) -> ColumnEncoding:
        """One that is read as the variable alone says: special codes are its marks, levels are
        values to the letter.
        """
        if isinstance(variable, ColumnEncoding):
            return variable
        own = {each.name: getattr(variable, each.name) for each in fields(Variable)}
        last = float(len(variable.levels) - 1)
        places = {level: (float(rank), NO_ATOM) for rank, level in enumerate(variable.levels)}
        special = tuple(mark for mark in variable.marks if mark is not None)
        absent = (
            (last, NO_ATOM) if variable.kind is Kind.NOMINAL else (np.nan, len(variable.marks) - 1)
        )
        return ColumnEncoding(
            **own, special=special, has_atoms=bool(variable.marks), places=places, absent=absent
        )

    @property
    def variable(self) -> Variable:
        """What the cells stand for, and nothing else."""
        return Variable(**{each.name: getattr(self, each.name) for each in fields(Variable)})


@dataclass
class ColumnStats:
    """What a part of a column tells of the whole; what parts tell is put together in their
    order.
    """

    name: str
    told: pa.Field
    """Its name and type, and what it is marked with."""
    records: int = 0
    nulls: int = 0
    atoms: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    """Numeric: how many cells hold each special code, and how many are missing."""
    extent: Extent = field(default_factory=Extent)
    gaps: ValueCounts = field(default_factory=ValueCounts)
    """Numeric text: how missing cells are written."""
    values: ValueCounts | None = None
    """Of levels and of text: the different values."""
    examples: Any = None
    """A cell for each of these, in their order: the first that has it."""

    def combine(self, more: ColumnStats) -> None:
        """Take in what the next part tells."""
        self.records += more.records
        self.nulls += more.nulls
        self.atoms = self.atoms + more.atoms
        self.extent.combine(more.extent)
        self.gaps.combine(more.gaps)
        if self.values is not None and more.values is not None:
            new = [
                place
                for place, value in enumerate(more.values.counts)
                if value not in self.values.counts
            ]
            if new:
                added = more.examples.take(pa.array(new))
                self.examples = pa.concat_arrays([self.examples, added])
            self.values.combine(more.values)
            self._check_many()

    def _check_many(self) -> None:
        if self.values is not None and len(self.values.counts) > MOST_LEVELS:
            raise OnlyInMemory(
                f"column {self.name!r} has more than {MOST_LEVELS:,} different values, "
                f"too many for categories beyond memory; "
                "give it more memory or another role."
            )


def column_stats(
    column: Column, told: pa.Field, part: pa.ChunkedArray, codes: Codes
) -> tuple[ColumnStats, ParsedNumbers | None]:
    """What a part of a column tells; of a numeric one also what was found in it."""
    part = plain_column(part)
    if is_odd(part.type) or isinstance(told.type, pa.BaseExtensionType):
        raise InputError(f"column {column.name!r} {UNKNOWN_TYPE}")
    found = ColumnStats(
        column.name, told, len(part), part.null_count, np.zeros(len(codes.special) + 1, np.int64)
    )
    numeric = column.kind is Kind.NUMERIC
    if not numeric or is_text(part.type):
        own = distinct(part)
        found.values = ValueCounts.of(own)
        cells = part if not pa.types.is_dictionary(part.type) else part.cast(part.type.value_type)
        found.examples = _as_one(cells.take(pa.array(own.first_rows[:-1])))
        found._check_many()
    if not numeric:
        return found, None
    if part.null_count == len(part):
        found.atoms[-1] = found.gaps.missing = len(part)
        return found, None
    looked = parse_column(part, codes)
    found.extent = extent_of(looked, codes)
    found.atoms[-1] = int(looked.missing.sum())
    if looked.special is not None:
        held = looked.special[looked.special != NO_ATOM]
        found.atoms[:-1] = np.bincount(held, minlength=len(codes.special))
    if is_text(part.type):
        found.gaps = ValueCounts.of(distinct(part.filter(pa.array(looked.missing))))
    return found, looked


def encode_column(column: Column, scan: ColumnStats, codes: Codes) -> ColumnEncoding:
    """The column that all parts together are."""
    kind = of_plain_kind(scan.told.type)
    own = {"special": tuple(codes.special), "na": tuple(codes.na)}
    if column.kind is Kind.NUMERIC and scan.nulls < scan.records:
        terms = terms_of(kind, scan.extent, codes)
        _check_fine(column.name, kind, scan.extent, terms)
        gap = gap_among(scan.gaps) if is_text(kind) and scan.atoms[-1] else None
        marks = (*codes.special, None) if scan.atoms[-1] else tuple(codes.special)
        made = ColumnEncoding(
            column.name, marks=marks, gap=gap, **terms, **own, has_atoms=bool(scan.atoms.any()),
        )  # fmt: skip
        return _gone(made) if scan.atoms[-1] == scan.records else made
    values = scan.values if scan.values is not None else ValueCounts({}, scan.records)
    found = levels_of(values, scan.told.with_type(kind), column, codes, spelled=is_text(kind))
    held = np.full(len(found.places), NO_ATOM) if found.atoms is None else found.atoms
    each = list(zip(found.places.tolist(), held.tolist(), strict=True))
    made = ColumnEncoding(
        **{each.name: getattr(found.variable, each.name) for each in fields(Variable)},
        **own,
        has_atoms=found.atoms is not None,
        places=dict(zip(found.values, each[:-1], strict=True)),
        absent=each[-1],
    )
    marks = made.marks
    if marks and marks[-1] is None and values.each[held == len(marks) - 1].sum() == scan.records:
        return _gone(made)
    return made


def _gone(column: ColumnEncoding) -> ColumnEncoding:
    return replace(
        ColumnEncoding.of(nothing_but_gaps(column.variable)), special=column.special, na=column.na
    )


def _check_fine(name: str, kind: Any, extent: Extent, terms: dict[str, Any]) -> None:
    """Refuse numbers that float64 does not tell apart: what they stood for is looked up in the
    whole column.
    """
    span: Any = 0
    if times.is_time(kind) and extent.known:
        span = (extent.most - extent.least) * times.NANOSECONDS[times.unit_of(kind)]
        span //= times.NANOSECONDS[terms["unit"]]
    elif pa.types.is_decimal(kind) and terms["origin"]:
        span = (extent.most - extent.least).scaleb(kind.scale)
    if span >= TOLD_APART:
        raise OnlyInMemory(
            f"column {name!r} has values too fine for how far they reach to be worked on "
            f"beyond memory; round them, or give it more "
            "memory."
        )


def read_part(
    part: pa.ChunkedArray, column: ColumnEncoding, first: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values and atoms of a part of a column that begins with record `first`, in the terms of the
    whole.
    """
    part = plain_column(part)
    if column.kind is not Kind.NUMERIC:
        if column.levels == (None,):
            return np.zeros(len(part)), None
        found = distinct(part)
        each = [*(column.places[value] for value in found.values), column.absent]
        values = np.array([place for place, _ in each])[found.codes]
        atoms = np.array([atom for _, atom in each], np.int16)[found.codes]
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
    """A column without views: what most functions of Arrow can work on."""
    return of_plain_type(column)


def of_plain_kind(kind: pa.DataType) -> pa.DataType:
    """The type that such a column has."""
    return of_plain_type(pa.chunked_array([], kind)).type


def _as_one(column: Any) -> pa.Array:
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    return whole


def cells_in(table: pa.Table, variables: Sequence[Variable], first: int = 0) -> Cells:
    """The cells of a part of a table, in the terms of the whole: what `cells_of` has for these
    records.

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
