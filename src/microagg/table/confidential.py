"""The confidential columns of a table, as what guarantees and methods work on: numbers, or numbers
for categories.

What counts as one value: numbers go by their value, and so do texts that are numbers ("100" and
"100.0"); other texts by what is left of them after NFKC, case folding and collapsing of white space
("HIV", "hiv" and "HIV "). With `exact`, texts go by the letter. What is missing, and every code
that was declared special, is an atom: for t it has its place beside the values, for l it is no
value.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import comparable, is_text, means_numbers
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.field_metadata import markers_are_gaps
from microagg.table.normalise import merged, merged_by_spelling, outline_of
from microagg.table.ordering import ValueFrequencies, numbers_of, places_among, places_of_values
from microagg.table.schema import Kind
from microagg.table.special_values import as_times, set_apart
from microagg.table.variable import NO_ATOM

# columns with more texts than this hold no categories that somebody could have misspelled
MOST_COMPARED = 10_000


EMPTY = ("",)
"""No unit is called so."""


@dataclass(frozen=True)
class Attribute:
    """One confidential column.

    >>> Attribute("wage", Kind.NUMERIC, np.array([9.0, 7.0, 9.0])).codes.tolist()
    [1, 0, 1]
    >>> gap = Attribute(
    ...     "wage",
    ...     Kind.NUMERIC,
    ...     np.array([np.nan, 7.0, 9.0]),
    ...     atoms=np.array([0, -1, -1]),
    ...     marks=(None,),
    ... )
    >>> gap.codes.tolist(), gap.known
    ([2, 0, 1], 2)
    """

    name: str
    kind: Kind
    values: np.ndarray
    """(n,): float64 where numeric; else int64, in the order of the categories where they have one.
    An atom is NaN where numeric, else a number behind all categories.
    """
    spellings: int = 0
    """Number of texts that mean the same as another one of the column."""
    similar: int = 0
    """Number of values that differ from another one in accents, marks and blanks only."""
    atoms: np.ndarray | None = None
    """(n,) int16: the atom's place among the marks, -1 where there is a value; None where no record
    has an atom.
    """
    marks: tuple[Any, ...] = field(default=(), repr=False)
    """The atoms: special codes in the order given, then None for what is missing."""

    @functools.cached_property
    def _numbered(self) -> tuple[np.ndarray, int]:
        return numbered(self.values, self.atoms)

    @property
    def codes(self) -> np.ndarray:
        """(n,) int64: the number of each value among the distinct ones, in ascending order; atoms
        come behind all values.
        """
        return self._numbered[0]

    @property
    def known(self) -> int:
        """Number of distinct values, without atoms."""
        return self._numbered[1]

    @property
    def distinct(self) -> int:
        """Number of distinct values and atoms."""
        return int(self.codes.max(initial=-1)) + 1

    @property
    def missing(self) -> int:
        """In how many records the value is missing."""
        return 0 if self.atoms is None else int((self.atoms == len(self.marks) - 1).sum())

    def of_records(self, records: np.ndarray) -> Attribute:
        """The column of these records alone."""
        return replace(
            self,
            values=self.values[records],
            atoms=None if self.atoms is None else self.atoms[records],
        )


def numbered(values: np.ndarray, atoms: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """Distinct values numbered in ascending order, and atoms behind them; how many values there
    are. NaN is one atom.

    >>> codes, known = numbered(np.array([5.0, np.nan, 3.0]))
    >>> codes.tolist(), known
    ([1, 2, 0], 2)
    """
    if atoms is None and values.dtype.kind == "f" and np.isnan(values).any():
        atoms = np.where(np.isnan(values), 0, NO_ATOM)
    if atoms is None:
        unique, codes = np.unique(values, return_inverse=True)
        return codes.reshape(-1).astype(np.int64), len(unique)
    is_value, codes = atoms == NO_ATOM, np.empty(len(values), np.int64)
    unique, codes[is_value] = np.unique(values[is_value], return_inverse=True)
    codes[~is_value] = np.unique(atoms[~is_value], return_inverse=True)[1] + len(unique)
    return codes, len(unique)


def attributes_of(
    table: pa.Table,
    names: Sequence[str],
    *,
    exact: bool = False,
    kinds: Mapping[str, Kind] = {},
    ordinal: Mapping[str, Sequence[Any]] = {},
    special: Mapping[str, Sequence[Any]] = {},
    na: Sequence[Any] = (),
    standing: ValueFrequencies | None = None,
) -> tuple[Attribute, ...]:
    """Confidential columns from a table; `standing` says which records its rows stand for, where
    these are all different.

    `kinds` says what a column is, `ordinal` the order of its levels. Else it counts as numbers if
    its type is one of numbers, dates, times or durations, as ordered categories if its type says so
    (an ordered categorical), and as plain categories otherwise. What is missing (null, NaN and the
    markers `na`) is one atom, every code that `special` gives for the column another one. Texts
    that mean the same are one category, unless they are to be taken `exact`.

    >>> attributes_of(pa.table({"ill": ["no", "yes", "No "]}), ["ill"])[0].values.tolist()
    [0, 1, 0]
    >>> attributes_of(pa.table({"wage": [9, None, 97]}), ["wage"], special={"wage": [97]})[
    ...     0
    ... ].atoms.tolist()
    [-1, 1, 0]
    """
    attributes = []
    for name in names:
        column, levels = table.column(name), tuple(ordinal.get(name) or ())
        numbers = means_numbers(table.schema.field(name)) and is_text(column.type)
        kind = kinds.get(name) or (
            Kind.ORDINAL if name in ordinal else _suggested(column, numbers=numbers)
        )
        nested = pa.types.is_nested(column.type)
        if not (
            pa.types.is_floating(column.type) or (_is_ordered(column) and kind is Kind.ORDINAL)
        ):
            column = comparable(column)
        codes = tuple(special.get(name, ()))
        column, atoms = set_apart(
            column,
            codes,
            na,
            markers=numbers or kind is Kind.NUMERIC or markers_are_gaps(table.schema.field(name)),
        )
        attribute = _attribute(
            name, kind, column, levels, exact=exact or nested, numbers=numbers, standing=standing
        )
        attributes.append(_with_atoms(attribute, atoms, (*codes, None)))
    return tuple(attributes)


def units_of(table: pa.Table, name: str, *, na: Sequence[Any] = ()) -> Attribute:
    """The column that tells which unit (household, company, patient) a record belongs to; every
    record must have one.

    >>> units_of(pa.table({"household": ["A1", "a1", "B"]}), "household").codes.tolist()
    [0, 0, 1]
    """
    units = attributes_of(table, [name], kinds={name: Kind.NOMINAL}, na=(*EMPTY, *na))[0]
    if units.atoms is not None:
        first = int(np.argmax(units.atoms != NO_ATOM))
        raise InputError(units_missing(name, units.missing, len(units.values), first))
    return units


def units_missing(name: str, missing: int, records: int, first: int) -> str:
    """Return the message for records without a unit; `first` is the index of one of them."""
    return (
        f"column {name!r} names the unit of each record, but is missing in {missing:,} "
        f"of {records:,}, first in row {first + 1}; "
        "fill it in, or leave such records out."
    )


def missing_units(
    column: pa.ChunkedArray, field: pa.Field, na: Sequence[Any] = ()
) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Units with null where there is none, and (n,) where that is: what `units_of` refuses, for a
    part of a table.

    >>> missing_units(pa.chunked_array([["A1", ""]]), pa.field("home", pa.string()))[1].tolist()
    [False, True]
    """
    if not pa.types.is_floating(column.type):
        column = comparable(column)
    markers = (means_numbers(field) and is_text(column.type)) or markers_are_gaps(field)
    column, atoms = set_apart(column, (), (*EMPTY, *na), markers=markers)
    return column, np.zeros(len(column), bool) if atoms is None else atoms != NO_ATOM


def _attribute(
    name: str,
    kind: Kind,
    column: pa.ChunkedArray,
    levels: tuple[Any, ...],
    *,
    exact: bool,
    numbers: bool,
    standing: ValueFrequencies | None,
) -> Attribute:
    """A column whose atoms are null; `numbers` if it is text that means such."""
    if kind is Kind.NUMERIC:
        return Attribute(name, kind, numbers_of(column, name, standing))
    if kind is Kind.NOMINAL:
        return _nominal(name, column, exact=exact)
    if levels:
        return Attribute(
            name, kind, *places_among(levels, column, name, exact=exact, standing=standing)
        )
    if _is_ordered(column):
        return _ordered(name, column, exact=exact)
    if numbers:
        column = pa.chunked_array([pa.array(numbers_of(column, name, standing), from_pandas=True)])
    return Attribute(name, kind, *places_of_values(column, exact=exact))


def _with_atoms(
    attribute: Attribute, atoms: np.ndarray | None, marks: tuple[Any, ...]
) -> Attribute:
    """The column with its atoms, which get numbers behind those of all categories."""
    if atoms is None:
        return attribute
    is_value, values = atoms == NO_ATOM, attribute.values
    if attribute.kind is not Kind.NUMERIC:
        values = np.where(is_value, values, values[is_value].max(initial=-1) + 1 + atoms)
    return replace(attribute, values=values, atoms=atoms, marks=marks)


def _suggested(column: pa.ChunkedArray, *, numbers: bool) -> Kind:
    """Return the kind that the type of a column suggests."""
    kind = column.type
    if _is_ordered(column):
        return Kind.ORDINAL
    of_numbers = (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
    of_time = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    return Kind.NUMERIC if numbers or of_numbers or of_time else Kind.NOMINAL


def _nominal(name: str, column: pa.ChunkedArray, *, exact: bool) -> Attribute:
    codes, texts = _encoded(column)
    if texts is None:
        return Attribute(name, Kind.NOMINAL, codes)
    same, spellings = merged_by_spelling(texts)
    few = len(texts) <= MOST_COMPARED
    similar = merged(texts.to_pylist(), outline_of)[1] - (0 if exact else spellings) if few else 0
    if exact:
        return Attribute(name, Kind.NOMINAL, codes, 0, similar)
    return Attribute(name, Kind.NOMINAL, same[codes], spellings, similar)


def _ordered(name: str, column: pa.ChunkedArray, *, exact: bool) -> Attribute:
    """Ordered categories by their places; one that means the same as an earlier one has its
    place.
    """
    whole = column.unify_dictionaries().combine_chunks()
    indices = pc.cast(whole.indices, pa.int64())
    ranks = np.asarray(pc.fill_null(indices, -1))
    if exact or not is_text(whole.dictionary.type):
        return Attribute(name, Kind.ORDINAL, ranks)
    first = merged_by_spelling(whole.dictionary)[0]
    used = np.unique(ranks[ranks >= 0])
    places = np.append(first, -1)[ranks]  # -1 takes the last: a gap stays one
    return Attribute(name, Kind.ORDINAL, places, len(used) - len(np.unique(first[used])))


def typed_like(written: pa.Table, table: pa.Table) -> pa.Table:
    """Columns of a file that may hold everything as text, with the types that those of this
    table have.

    >>> typed_like(pa.table({"wage": ["1.5", None]}), pa.table({"wage": [1.5, None]})).column(
    ...     "wage"
    ... ).to_pylist()
    [1.5, None]
    """
    for position, name in enumerate(written.column_names):
        column, kind = written.column(name), table.schema.field(name).type
        if _is_ordered(table.column(name)):
            values = table.column(name).unify_dictionaries().chunk(0).dictionary
            places = pc.index_in(pc.cast(column, values.type), value_set=values)
            column = pa.chunked_array(
                [pa.DictionaryArray.from_arrays(places.combine_chunks(), values, ordered=True)]
            )
        elif pa.types.is_string(column.type) and pa.types.is_temporal(kind):
            column = as_times(column, kind)
        elif pa.types.is_string(column.type) and (
            pa.types.is_integer(kind) or pa.types.is_decimal(kind)
        ):
            column = pc.cast(column, kind)
        elif pa.types.is_string(column.type) and pa.types.is_floating(kind):
            column = pc.cast(column, pa.float64())
        elif (
            not pa.types.is_string(column.type)
            and not pa.types.is_dictionary(kind)
            and column.type != kind
        ):
            # yes and no are numbers in some files, moments of another unit
            column = pc.cast(column, kind)
        field = pa.field(name, column.type, metadata=table.schema.field(name).metadata)
        written = written.set_column(position, field, column)
    return written


def as_attributes(confidential: Any, records: int) -> tuple[Attribute, ...]:
    """Confidential columns from a matrix or a column of anything: floats are numbers, all else is
    categories.

    >>> [attribute.kind.value for attribute in as_attributes(np.array([["a"], ["b"]]), 2)]
    ['nominal']
    """
    matrix = np.asarray(confidential)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or len(matrix) != records or matrix.shape[1] == 0:
        raise InputError(f"confidential must hold one row for each of the {records} records.")
    attributes = []
    for j, column in enumerate(matrix.T):
        if matrix.dtype.kind == "f":
            if not np.isfinite(column).all():
                row = int(np.argmin(np.isfinite(column))) + 1
                raise InputError(f"confidential holds a missing or infinite value in row {row}.")
            attributes.append(
                Attribute(str(j), Kind.NUMERIC, np.ascontiguousarray(column, np.float64))
            )
        else:
            values, atoms = set_apart(comparable(_as_column(column)))
            attributes.append(_with_atoms(_nominal(str(j), values, exact=False), atoms, (None,)))
    return tuple(attributes)


def _as_column(values: np.ndarray) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(values.tolist())])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise InputError(
            "confidential mixes values of several types, or of a type that cannot be measured; "
            "make them one type."
        ) from None


def codes_of(column: pa.ChunkedArray) -> np.ndarray:
    """Whole numbers that tell the values of a column apart to the letter, in the order in which
    they first appear.
    """
    return _encoded(column)[0]


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array | None]:
    """Codes to the letter and, if the column holds texts, what each of them stands for."""
    plain = comparable(column)
    encoded = pc.dictionary_encode(plain, null_encoding="encode").combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = np.asarray(encoded.indices).astype(np.int64)
    holds_text = is_text(plain.type) and not pa.types.is_nested(column.type)
    return codes, encoded.dictionary if holds_text else None


def _is_ordered(column: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(column.type) and column.type.ordered
