"""The confidential columns of a table, as what guarantees and methods work on: numbers, or numbers for categories."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import comparable
from microagg.table.io.arrow import compute as pc
from microagg.table.schema import Kind


@dataclass(frozen=True)
class Attribute:
    """One confidential column.

    >>> Attribute("wage", Kind.NUMERIC, np.array([9.0, 7.0, 9.0])).codes.tolist()
    [1, 0, 1]
    """

    name: str
    kind: Kind
    values: np.ndarray
    """(n,): float64 where numeric; else int64, in the order of the categories where they have one."""

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """(n,) int64: the number of each value among the distinct ones, in ascending order."""
        return np.unique(self.values, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return int(self.codes.max(initial=-1)) + 1


def attributes_of(table: pa.Table, names: Sequence[str]) -> tuple[Attribute, ...]:
    """Confidential columns from a table.

    A column counts as numbers if it holds nothing else, as ordered categories if its type says so (an ordered
    categorical), and as plain categories otherwise; what is missing is a category of its own.

    >>> attributes_of(pa.table({"ill": ["no", "yes", "no"]}), ["ill"])[0].values.tolist()
    [0, 1, 0]
    """
    found = []
    for name in names:
        column = table.column(name)
        if _is_ordered(column):
            found.append(Attribute(name, Kind.ORDINAL, _ranks(column)))
        elif _is_numeric(column):
            found.append(Attribute(name, Kind.NUMERIC, _numbers(column)))
        else:
            found.append(Attribute(name, Kind.NOMINAL, codes_of(column)))
    return tuple(found)


def typed_like(written: pa.Table, table: pa.Table) -> pa.Table:
    """Columns of a file that may hold everything as text, with the types that those of this table have.

    >>> typed_like(pa.table({"wage": ["1.5", None]}), pa.table({"wage": [1.5, None]})).column("wage").to_pylist()
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
        elif pa.types.is_string(column.type) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            column = pc.cast(column, pa.float64())
        written = written.set_column(position, name, column)
    return written


def as_attributes(confidential: Any, records: int) -> tuple[Attribute, ...]:
    """Confidential columns from a matrix or a column of anything: floats are numbers, all else is categories.

    >>> [attribute.kind.value for attribute in as_attributes(np.array([["a"], ["b"]]), 2)]
    ['nominal']
    """
    matrix = np.asarray(confidential)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or len(matrix) != records or matrix.shape[1] == 0:
        raise InputError(f"confidential must hold one row for each of the {records} records.")
    found = []
    for j, column in enumerate(matrix.T):
        if matrix.dtype.kind == "f":
            if not np.isfinite(column).all():
                row = int(np.argmin(np.isfinite(column))) + 1
                raise InputError(f"confidential holds a missing or infinite value in row {row}.")
            found.append(Attribute(str(j), Kind.NUMERIC, np.ascontiguousarray(column, np.float64)))
        else:
            codes = codes_of(pa.chunked_array([pa.array(column.tolist())]))
            found.append(Attribute(str(j), Kind.NOMINAL, codes))
    return tuple(found)


def codes_of(column: pa.ChunkedArray) -> np.ndarray:
    """Whole numbers that tell the values of a column apart, in the order in which they first appear."""
    encoded = pc.dictionary_encode(comparable(column), null_encoding="encode").combine_chunks()
    return np.asarray(encoded.indices).astype(np.int64)


def _is_numeric(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return False
    return bool(np.isfinite(_numbers(column)).all())  # what is missing has become NaN


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)


def _is_ordered(column: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(column.type) and column.type.ordered and column.null_count == 0


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    whole = column.unify_dictionaries().combine_chunks()
    return np.asarray(whole.indices).astype(np.int64)
