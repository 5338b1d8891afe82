"""Restoring of the original type of a released column: dtype, categories, decimals, time unit,
text.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError
from microagg.table.columns import times
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.canonical import canonical
from microagg.table.columns.distinct import Finder, distinct, number_of
from microagg.table.columns.frames import LARGEST_WHOLE, arrow_column, column_like
from microagg.table.columns.levels import ValueCounts
from microagg.table.columns.number_spelling import spelled
from microagg.table.columns.numbers import DIGITS
from microagg.table.columns.series_like import series_like, with_index
from microagg.table.columns.used_categories import of_used_values
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Variable

LAST_COUNT = 2.0**64 - 2048  # the largest float64 that an integer of 64 bits holds


@dataclass(frozen=True)
class ColumnContext:
    """Facts of a whole column that are needed to restore a part of it."""

    nulls: bool
    """True if any cell is null."""
    examples: Any = None
    """Arrow array with the first cell of each value in the order of appearance, for columns of
    levels.
    """
    values: ValueCounts | None = None
    """Counts of spellings, for text that spells numbers."""


def restore_column(
    original: nw.Series[Any],
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    *,
    whole: bool,
    context: ColumnContext | None = None,
) -> nw.Series[Any]:
    """Return a released column with the type of the original; coarse columns become text.

    `values` and `atoms` are one column of `Cells`. With `whole`, numbers have the precision of the
    column. Without it, columns of whole numbers and Decimals become float64, which can hold exact
    means. Categories are those that occur, in their order. `context` is needed if the original is
    only a part of the column.

    >>> given = nw.from_native(pa.chunked_array([["b", "a", "b"]]), series_only=True).alias("town")
    >>> towns = Variable("town", Kind.NOMINAL, levels=("a", "b"))
    >>> restore_column(given, towns, np.array([1.0, 1.0, 0.0]), None, whole=True).to_list()
    ['b', 'b', 'a']
    """
    if variable.coarse:
        return _coarse(original, variable, values, atoms)
    if variable.kind is not Kind.NUMERIC:
        if context is not None and context.examples is not None:
            original = series_like(original, context.examples)
        return canonical_column(of_used_values(_levels(original, variable, values, atoms)))
    _, column = arrow_column(original.to_frame(), original.name)
    if is_text(column.type):
        spellings = (
            ValueCounts.of_chunk(distinct(column))
            if context is None or context.values is None
            else context.values
        )
        return spelled(original, column, variable, values, atoms, spellings, whole=whole)
    if times.is_time(column.type):
        return _times(original, column, variable, values, atoms)
    if pa.types.is_decimal(column.type) and whole:
        return _decimals(original, column, variable, values, atoms)
    nulls = column.null_count > 0 if context is None else context.nulls
    return _numbers(original, column, variable, values, atoms, whole=whole, nulls=nulls)


def canonical_column(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column with one zero and one missing value, of the same type (see `canonical`).

    >>> shares = nw.from_native(pa.chunked_array([[-0.0, 0.0, None]]), series_only=True).alias(
    ...     "share"
    ... )
    >>> [str(share) for share in canonical_column(shares)]
    ['0.0', '0.0', 'None']
    """
    if not (series.dtype.is_float() or series.dtype in (nw.Categorical, nw.Object, nw.Unknown)):
        return series
    native = series.to_native()
    if series.implementation.is_polars() and series.dtype in (nw.Categorical, nw.Object):
        return series  # the categories of polars are texts, and its objects are refused elsewhere
    if series.implementation.is_pandas_like() and hasattr(native, "cat"):
        return series  # the categories of pandas are different numbers, and never missing
    _, column = arrow_column(series.to_frame(), series.name)
    tidy = canonical(column)
    if tidy is column:
        return series
    whole = tidy.combine_chunks()
    return series_like(series, whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole)


def _places(variable: Variable, values: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
    """Return the index of each cell among levels and, after them, marks."""
    if atoms is None:
        return values.astype(np.int64)
    is_level = atoms == NO_ATOM
    return np.where(
        is_level, np.where(is_level, values, 0).astype(np.int64), len(variable.levels) + atoms
    )


def _levels(
    original: nw.Series[Any], variable: Variable, values: np.ndarray, atoms: np.ndarray | None
) -> nw.Series[Any]:
    """Take each cell from a record with its level, so that it has the original type, whatever that
    is.
    """
    _, column = arrow_column(original.to_frame(), original.name)
    distinct_values = distinct(column)
    first, finder = distinct_values.first_rows, Finder(distinct_values.values)
    indices = {value: index for index, value in enumerate(distinct_values.values)}
    places = _places(variable, values, atoms)
    used = np.flatnonzero(np.bincount(places))
    rows = np.full(len(variable.levels) + len(variable.marks) + 1, -1, np.int64)
    for position in used:
        level = (*variable.levels, *variable.marks)[position]
        wanted = variable.gap if level is None else level
        if wanted is None:
            rows[position] = first[-1]
            continue
        index = indices.get(wanted, next(iter(finder.places(wanted)), None))
        if index is None:
            raise GuaranteeError(
                f"column {original.name!r} would get a value that it never had; nothing was "
                f"released. This is a bug: report it."
            )
        rows[position] = first[index]
    return _taken(original, rows[places])


def _taken(original: nw.Series[Any], rows: np.ndarray) -> nw.Series[Any]:
    """Return the cells of these records with their exact type; null for -1."""
    native = original.to_native()
    gone = rows < 0
    if original.implementation.is_pandas_like():
        array = native.array.take(rows, allow_fill=True) if gone.any() else native.array.take(rows)
        taken = original.__native_namespace__().Series(
            array, native.index, native.dtype, original.name
        )
        if original.__native_namespace__().api.types.is_object_dtype(native.dtype) and gone.any():
            taken[gone] = None
    elif original.implementation.is_polars():
        taken = native.gather(type(native)("rows", pa.array(rows, mask=gone)))
    else:
        indices = pa.array(rows, mask=gone)
        if native.type == pa.string_view():  # which Arrow cannot take from
            taken = pc.cast(pc.take(pc.cast(native, pa.large_string()), indices), native.type)
        else:
            taken = pc.take(native, indices)
    return nw.from_native(taken, series_only=True).alias(original.name)


def _coarse(
    original: nw.Series[Any], variable: Variable, values: np.ndarray, atoms: np.ndarray | None
) -> nw.Series[Any]:
    """Return ranges and ancestors as text, whatever the type of the original."""
    texts_or_marks = (*variable.levels, *variable.marks)
    gap = None if variable.gap is None else str(variable.gap)
    texts = pa.array(
        [gap if value is None else str(value) for value in texts_or_marks], pa.large_string()
    )
    text = pc.take(texts, pa.array(_places(variable, values, atoms)))
    native = original.to_native()
    if original.implementation.is_pyarrow():
        kind = native.type if is_text(native.type) else pa.string()
        return series_like(original, pc.cast(text, kind))
    backend: Any = original.implementation
    series = nw.new_series(original.name, text.to_pylist(), nw.String, backend=backend)
    return with_index(original, series.to_native())


def _numbers(
    original: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    *,
    whole: bool,
    nulls: bool,
) -> nw.Series[Any]:
    """Return whole numbers and floats as `column_like` does, with special codes and gaps."""
    numbers: np.ndarray = np.array(values, np.float64)
    if atoms is not None:
        numbers[atoms != NO_ATOM] = 0.0
    if pa.types.is_integer(column.type) and whole and (variable.origin or atoms is not None):
        dtype = column.type.to_pandas_dtype()  # codes may be longer than what float64 tells apart
        numbers = np.rint(numbers).astype(np.int64).astype(np.uint64)
        numbers = (numbers + np.uint64(int(variable.origin) % 2**64)).astype(
            dtype
        )  # wraps around as it should
    elif variable.origin:
        numbers = numbers + float(variable.origin)
    missing = None if atoms is None else _with_codes(numbers, variable, atoms)
    if missing is not None and pa.types.is_floating(column.type) and not nulls:
        numbers[missing], missing = np.nan, None  # the column writes gaps so
    if pa.types.is_float16(column.type) or original.dtype == nw.Object:
        return _odd_numbers(original, column.type, numbers, missing, whole=whole)
    made = with_index(original, column_like(original, numbers, whole=whole).to_native())
    return made if missing is None else _without(made, missing)


def _with_codes(numbers: np.ndarray, variable: Variable, atoms: np.ndarray) -> np.ndarray | None:
    """Insert special codes, and a marker for gaps if there is one; return the mask of nulls."""
    missing = np.zeros(len(numbers), bool)
    for index, mark in enumerate(variable.marks):
        here = atoms == index
        code = number_of(variable.gap if mark is None else mark)
        if code is None:
            missing |= here
        elif here.any():
            numbers[here] = int(code) if numbers.dtype.kind in "iu" else float(code)
    return missing if missing.any() else None


def _odd_numbers(
    original: nw.Series[Any],
    kind: Any,
    numbers: np.ndarray,
    missing: np.ndarray | None,
    *,
    whole: bool,
) -> nw.Series[Any]:
    """Return numbers of types that narwhals does not support: half precision, Python objects."""
    if not whole and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        kind = pa.float64()
    return series_like(
        original, pa.array(numbers.astype(kind.to_pandas_dtype()), kind, mask=missing)
    )


def _without(series: nw.Series[Any], missing: np.ndarray) -> nw.Series[Any]:
    """Return the column with null in these cells."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        cut = native.mask(missing)
    elif series.implementation.is_polars():
        cut = native.set(type(native)(missing), None)
    else:
        cut = pc.if_else(pa.array(missing), pa.scalar(None, native.type), native)
    return nw.from_native(cut, series_only=True).alias(series.name)


def _decimals(
    original: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
) -> nw.Series[Any]:
    kind: Any = column.type
    numbers, inverse = np.unique(values, return_inverse=True)
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        unit = Decimal(1).scaleb(-kind.scale)
        # what float64 cannot tell to the last digit is what the column has
        exact = (
            {float(number - variable.origin): number for number in distinct(column).values}
            if variable.origin
            else {}
        )
        decimals: list[Decimal | None] = [
            None
            if np.isnan(number)
            else exact.get(
                number, (Decimal(number) + variable.origin).quantize(unit, decimal.ROUND_HALF_EVEN)
            )
            for number in numbers.tolist()
        ]
        for index, mark in enumerate(variable.marks):
            code = number_of(variable.gap if mark is None else mark)
            # others may be too long for the type
            occurs = atoms is not None and (atoms == index).any()
            decimals.append(code.quantize(unit) if code is not None and occurs else None)
    places = inverse.reshape(-1)
    if atoms is not None:
        places = np.where(atoms == NO_ATOM, places, len(numbers) + atoms)
    return series_like(original, pc.take(pa.array(decimals, kind), pa.array(places)))


def _times(
    original: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
) -> nw.Series[Any]:
    """Return dates and times, rounded to the unit of their type."""
    kind: Any = column.type
    missing = np.isnan(values)
    filled = np.where(missing, 0.0, values)
    factor = times.NANOSECONDS[variable.unit] // times.NANOSECONDS[times.unit_of(kind)]
    whole = np.floor(filled)
    # exact where the product as a whole were not
    parts = np.rint((filled - whole) * factor).astype(np.int64)
    counts = np.clip(whole, 0.0, LAST_COUNT).astype(np.uint64)
    if filled.max(initial=0.0) >= LARGEST_WHOLE:
        _make_exact(counts, filled, _own_counts(column, variable, factor))
    ticks = (counts.view(np.int64) + int(variable.origin)) * factor + parts
    if variable.wall:
        local = times.of_ticks(ticks, pa.timestamp(kind.unit))
        ticks = times.ticks_of(pa.chunked_array([times.from_the_wall(local, kind)]))
    for index, mark in enumerate(variable.marks if atoms is not None else ()):
        tick = None if mark is None else times.tick_of(mark, kind)
        if tick is not None:
            here = atoms == index
            ticks[here], missing[here] = tick, False
    return series_like(original, times.of_ticks(ticks, kind, missing))


def _own_counts(column: pa.ChunkedArray, variable: Variable, factor: int) -> np.ndarray:
    """Return the exact numbers of a column of times."""
    present = column.drop_null()
    ticks = times.ticks_of(pc.local_timestamp(present) if variable.wall else present)
    return times.since(ticks // factor, int(variable.origin))


def _make_exact(counts: np.ndarray, numbers: np.ndarray, exact: np.ndarray) -> None:
    """Replace numbers too large for float64 by the least exact number that rounds to them."""
    exact = np.sort(exact)
    looks = exact.astype(np.float64)
    nearest = np.minimum(np.searchsorted(looks, numbers), len(looks) - 1)
    same = looks[nearest] == numbers
    counts[same] = exact[nearest[same]]
