"""Conversion of a table of any library to cells: numbers, atoms, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.distinct import distinct, number_of
from microagg.table.columns.frames import LARGEST_WHOLE, arrow_column
from microagg.table.columns.levels import ValueCounts, gap_among, levels_of, with_gaps
from microagg.table.columns.matrix_values import plain_numbers, values_of
from microagg.table.columns.numbers import numbers_of
from microagg.table.columns.parsed_numbers import Codes
from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

_Read = tuple[Variable, np.ndarray, "np.ndarray | None"]


def cells_of(
    frame: nw.DataFrame[Any],
    columns: Sequence[Column],
    *,
    special: Mapping[str, tuple[Any, ...]] = {},
    na: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] = {},
) -> Cells:
    """Return the cells of these columns.

    Null, NaN, NaT, None and the `na` markers are one atom; each special code is another. Both are
    matched by value. Levels of ordinal columns are those declared, else the categories of an
    ordered type, else the values that occur: numbers by value, text by code point. Levels of
    nominal columns are the values that occur, in the order of their type, else sorted in the same
    way. None comes last if cells are missing. A column of missing cells only has that one level.

    >>> frame = nw.from_native(pa.table({"age": [30, None, 97]}), eager_only=True)
    >>> from microagg.table.schema import Role
    >>> cells = cells_of(frame, [Column("age", Role.QUASI, Kind.NUMERIC)], special={"age": (97,)})
    >>> cells.variables[0].marks, cells.atoms[:, 0].tolist()
    ((97, None), [-1, 1, 0])
    """
    values = np.empty((len(frame), len(columns)))
    atoms: np.ndarray | None = None
    variables = []
    for j, column in enumerate(columns):
        codes = Codes(column.name, tuple(special.get(column.name, ())), na)
        variable, values[:, j], held = _read(frame, column, codes)
        variables.append(replace(variable, hierarchy=hierarchies.get(column.name)))
        if held is not None:
            atoms = np.full(values.shape, NO_ATOM, np.int16) if atoms is None else atoms
            atoms[:, j] = held
    return Cells(tuple(variables), values, atoms)


def _read(frame: nw.DataFrame[Any], column: Column, codes: Codes) -> _Read:
    if (
        column.kind is Kind.NUMERIC
        and not codes.special
        and _is_plain(frame, column.name, codes.na)
    ):
        return (
            Variable(column.name, single=_is_single(frame, column.name)),
            values_of(frame, [column.name])[:, 0],
            None,
        )
    field, arrow = arrow_column(frame, column.name)
    spelled = is_text(arrow.type) or not _can_be_null(frame[column.name])
    if column.kind is Kind.NUMERIC and arrow.null_count < len(arrow):
        read = _numeric(arrow, codes, spelled=spelled)
        if (
            isinstance(frame[column.name].dtype, nw.Decimal)
            and read[2] is None
            and not read[0].origin
        ):
            # to the last bit what it always was
            return read[0], values_of(frame, [column.name])[:, 0], None
    else:
        values = distinct(arrow)
        levels = levels_of(ValueCounts.of_chunk(values), field, column, codes, spelled=spelled)
        read = levels.variable, *levels.cells_of(values)
    variable, _, atoms = read
    if variable.marks and variable.marks[-1] is None and atoms is not None:
        if (atoms == len(variable.marks) - 1).all():  # nothing but gaps is one category
            return nothing_but_gaps(variable), np.zeros(len(frame)), None
    return read


def nothing_but_gaps(variable: Variable) -> Variable:
    """Return the variable of a column without values and special codes: one category."""
    return Variable(variable.name, Kind.NOMINAL, (None,), gap=variable.gap)


def _is_plain(frame: nw.DataFrame[Any], name: str, na: Sequence[str]) -> bool:
    """Check if a column holds complete numbers exact in float64, which `values_of` reads."""
    if any(number_of(text) is not None for text in na):
        return False
    if isinstance(native := frame.to_native(), pa.Table):
        return _is_plain_arrow(native.column(name))
    if (numbers := plain_numbers(native, name)) is not None and len(numbers):
        if numbers.dtype.kind == "f":
            return not np.isnan(numbers).any()
        return _is_short(int(numbers.min()), int(numbers.max()))
    series = frame[name]
    kind = series.dtype
    if kind in (nw.Float32, nw.Float64):
        return not (series.is_null().any() or series.is_nan().any())
    if not kind.is_integer() or kind in (nw.Int128, nw.UInt128):
        return False
    if series.is_null().any():
        return False
    least, most = int(series.min()), int(series.max())
    return _is_short(least, most)


def _is_plain_arrow(column: pa.ChunkedArray) -> bool:
    """Check the same for Arrow without narwhals, which is slow for thousands of columns."""
    if column.null_count:
        return False
    if column.type in (pa.float32(), pa.float64()):
        return not pc.any(pc.is_nan(column)).as_py()
    return pa.types.is_integer(column.type) and _is_short(*pc.min_max(column).as_py().values())


def _is_single(frame: nw.DataFrame[Any], name: str) -> bool:
    if isinstance(native := frame.to_native(), pa.Table):
        return native.schema.field(name).type == pa.float32()
    return frame[name].dtype == nw.Float32


def _is_short(least: int, most: int) -> bool:
    """Check if whole numbers are exact in float64; of longer ones differences may be."""
    return max(-least, most) < LARGEST_WHOLE or most - least >= LARGEST_WHOLE


def _numeric(column: pa.ChunkedArray, codes: Codes, *, spelled: bool) -> _Read:
    read = numbers_of(column, codes)
    marks, atoms = with_gaps(codes.special, read.special, read.missing)
    gap = None
    if spelled and read.missing.any():
        gap = gap_among(ValueCounts.of_chunk(distinct(column.filter(pa.array(read.missing)))))
    return Variable(codes.name, marks=marks, gap=gap, **read.facts), read.values, atoms


def _can_be_null(series: nw.Series[Any]) -> bool:
    if not series.implementation.is_pandas_like():
        return True
    return getattr(series.to_native().dtype, "kind", "O") not in "iub" or not isinstance(
        series.to_native().dtype, np.dtype
    )
