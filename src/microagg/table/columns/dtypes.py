"""A released column as the type that was given: dtype, categories, decimals, time unit and zone,
text to the letter.
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
from microagg.table.columns.frames import LARGEST_WHOLE, arrow_column, column_like, of_used_values
from microagg.table.columns.levels import ValueCounts
from microagg.table.columns.numbers import DIGITS, spelled_numbers
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Variable

LAST_COUNT = 2.0**64 - 2048  # the largest float64 that an integer of 64 bits holds


@dataclass(frozen=True)
class ColumnContext:
    """What has to be known of a whole column to give cells back where only a part of it is
    there.
    """

    nulls: bool
    """Whether any cell is null."""
    examples: Any = None
    """Of levels: an Arrow array with one cell of each value, the first that has it, in the order in
    which they appear.
    """
    values: ValueCounts | None = None
    """Of text that spells numbers: how often it is spelled in which way."""


def restore_column(
    given: nw.Series[Any],
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    *,
    whole: bool,
    known: ColumnContext | None = None,
) -> nw.Series[Any]:
    """A released column as the type of the `given` one, whose cells the variable tells; coarse ones
    become text.

    `values` and `atoms` are one column of `Cells`. With `whole`, numbers have the precision of the
    column; without, columns of whole numbers and Decimals become float64, which can hold exact
    means. Categories are those that occur, in their order. `known` is needed where the given column
    is a part of one.

    >>> given = nw.from_native(pa.chunked_array([["b", "a", "b"]]), series_only=True).alias("town")
    >>> towns = Variable("town", Kind.NOMINAL, levels=("a", "b"))
    >>> restore_column(given, towns, np.array([1.0, 1.0, 0.0]), None, whole=True).to_list()
    ['b', 'b', 'a']
    """
    if variable.coarse:
        return _coarse(given, variable, values, atoms)
    if variable.kind is not Kind.NUMERIC:
        if known is not None and known.examples is not None:
            given = _series(given, known.examples)
        return canonical_column(of_used_values(_levels(given, variable, values, atoms)))
    _, column = arrow_column(given.to_frame(), given.name)
    if is_text(column.type):
        found = (
            ValueCounts.of(distinct(column))
            if known is None or known.values is None
            else known.values
        )
        return _spelled(given, column, variable, values, atoms, found, whole=whole)
    if times.is_time(column.type):
        return _times(given, column, variable, values, atoms)
    if pa.types.is_decimal(column.type) and whole:
        return _decimals(given, column, variable, values, atoms)
    nulls = column.null_count > 0 if known is None else known.nulls
    return _numbers(given, column, variable, values, atoms, whole=whole, nulls=nulls)


def canonical_column(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column with one zero and one missing value, of the same type: see `canonical`.

    >>> shares = nw.from_native(pa.chunked_array([[-0.0, 0.0, None]]), series_only=True).alias("share")
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
    return _series(series, whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole)


def _places(variable: Variable, values: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
    """Where each cell lies among levels and, after them, marks."""
    if atoms is None:
        return values.astype(np.int64)
    there = atoms == NO_ATOM
    return np.where(
        there, np.where(there, values, 0).astype(np.int64), len(variable.levels) + atoms
    )


def _levels(
    given: nw.Series[Any], variable: Variable, values: np.ndarray, atoms: np.ndarray | None
) -> nw.Series[Any]:
    """Each cell is taken from a record that has its level: so it is of the type that was given,
    whatever that is.
    """
    _, column = arrow_column(given.to_frame(), given.name)
    found = distinct(column)
    first, finder = found.first_rows, Finder(found.values)
    own = {value: at for at, value in enumerate(found.values)}
    places = _places(variable, values, atoms)
    used = np.flatnonzero(np.bincount(places))
    rows = np.full(len(variable.levels) + len(variable.marks) + 1, -1, np.int64)
    for place in used:
        level = (*variable.levels, *variable.marks)[place]
        wanted = variable.gap if level is None else level
        if wanted is None:
            rows[place] = first[-1]
            continue
        at = own.get(wanted, next(iter(finder.places(wanted)), None))
        if at is None:
            raise GuaranteeError(
                f"column {given.name!r} would get a value that it never had; nothing was "
                f"released. This is a bug: report it."
            )
        rows[place] = first[at]
    return _taken(given, rows[places])


def _taken(given: nw.Series[Any], rows: np.ndarray) -> nw.Series[Any]:
    """The cells of these records, of the very type; null for -1."""
    native = given.to_native()
    gone = rows < 0
    if given.implementation.is_pandas_like():
        array = native.array.take(rows, allow_fill=True) if gone.any() else native.array.take(rows)
        taken = given.__native_namespace__().Series(array, native.index, native.dtype, given.name)
        if given.__native_namespace__().api.types.is_object_dtype(native.dtype) and gone.any():
            taken[gone] = None
    elif given.implementation.is_polars():
        taken = native.gather(type(native)("rows", pa.array(rows, mask=gone)))
    else:
        indices = pa.array(rows, mask=gone)
        if native.type == pa.string_view():  # which Arrow cannot take from
            taken = pc.cast(pc.take(pc.cast(native, pa.large_string()), indices), native.type)
        else:
            taken = pc.take(native, indices)
    return nw.from_native(taken, series_only=True).alias(given.name)


def _coarse(
    given: nw.Series[Any], variable: Variable, values: np.ndarray, atoms: np.ndarray | None
) -> nw.Series[Any]:
    """Ranges and ancestors are text, whatever the column was."""
    told = (*variable.levels, *variable.marks)
    gap = None if variable.gap is None else str(variable.gap)
    texts = pa.array([gap if each is None else str(each) for each in told], pa.large_string())
    text = pc.take(texts, pa.array(_places(variable, values, atoms)))
    native = given.to_native()
    if given.implementation.is_pyarrow():
        kind = native.type if is_text(native.type) else pa.string()
        return _series(given, pc.cast(text, kind))
    backend: Any = given.implementation
    series = nw.new_series(given.name, text.to_pylist(), nw.String, backend=backend)
    return _with_index(given, series.to_native())


def _series(given: nw.Series[Any], array: pa.Array) -> nw.Series[Any]:
    """An Arrow array as a column of the library, and the type, of the given one."""
    native = given.to_native()
    if given.implementation.is_pyarrow():
        return nw.from_native(pa.chunked_array([array]), series_only=True).alias(given.name)
    library: Any = given.__native_namespace__()
    if given.implementation.is_polars():
        return nw.from_native(
            library.Series(given.name, array).cast(native.dtype), series_only=True
        )
    if isinstance(native.dtype, library.ArrowDtype):
        made = library.Series(library.arrays.ArrowExtensionArray(pa.chunked_array([array])))
    elif native.dtype == object:
        few = pc.dictionary_encode(array)  # objects of Python for different values only
        objects = np.array([*few.dictionary.to_pylist(), None], object)
        made = library.Series(objects[np.asarray(pc.fill_null(few.indices, -1))], dtype=object)
    else:
        made = library.Series(array.to_pandas())
    return _with_index(given, made.astype(native.dtype))


def _with_index(given: nw.Series[Any], made: Any) -> nw.Series[Any]:
    if given.implementation.is_pandas_like():
        made.index = given.to_native().index
    return nw.from_native(made, series_only=True).alias(given.name)


def _numbers(
    given: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    *,
    whole: bool,
    nulls: bool,
) -> nw.Series[Any]:
    """Whole numbers and floats: what `column_like` does, with what stands for the atoms."""
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
    if pa.types.is_float16(column.type) or given.dtype == nw.Object:
        return _odd_numbers(given, column.type, numbers, missing, whole=whole)
    made = _with_index(given, column_like(given, numbers, whole=whole).to_native())
    return made if missing is None else _without(made, missing)


def _with_codes(numbers: np.ndarray, variable: Variable, atoms: np.ndarray) -> np.ndarray | None:
    """Put the special codes, and a marker where gaps have one, in their places; which cells become
    null, if any.
    """
    missing = np.zeros(len(numbers), bool)
    for place, mark in enumerate(variable.marks):
        here = atoms == place
        code = number_of(variable.gap if mark is None else mark)
        if code is None:
            missing |= here
        elif here.any():
            numbers[here] = int(code) if numbers.dtype.kind in "iu" else float(code)
    return missing if missing.any() else None


def _odd_numbers(
    given: nw.Series[Any],
    kind: Any,
    numbers: np.ndarray,
    missing: np.ndarray | None,
    *,
    whole: bool,
) -> nw.Series[Any]:
    """Numbers whose type narwhals does not know: half precision, objects of Python."""
    if not whole and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        kind = pa.float64()
    return _series(given, pa.array(numbers.astype(kind.to_pandas_dtype()), kind, mask=missing))


def _without(series: nw.Series[Any], missing: np.ndarray) -> nw.Series[Any]:
    """The column with null in these cells."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        cut = native.mask(missing)
    elif series.implementation.is_polars():
        cut = native.set(type(native)(missing), None)
    else:
        cut = pc.if_else(pa.array(missing), pa.scalar(None, native.type), native)
    return nw.from_native(cut, series_only=True).alias(series.name)


def _decimals(
    given: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
) -> nw.Series[Any]:
    kind: Any = column.type
    numbers, at = np.unique(values, return_inverse=True)
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        unit = Decimal(1).scaleb(-kind.scale)
        # what float64 cannot tell to the last digit is what the column has
        exact = (
            {float(each - variable.origin): each for each in distinct(column).values}
            if variable.origin
            else {}
        )
        own: list[Decimal | None] = [
            None
            if np.isnan(each)
            else exact.get(
                each, (Decimal(each) + variable.origin).quantize(unit, decimal.ROUND_HALF_EVEN)
            )
            for each in numbers.tolist()
        ]
        for place, mark in enumerate(variable.marks):
            code = number_of(variable.gap if mark is None else mark)
            # others may be too long for the type
            occurs = atoms is not None and (atoms == place).any()
            own.append(code.quantize(unit) if code is not None and occurs else None)
    places = at.reshape(-1)
    if atoms is not None:
        places = np.where(atoms == NO_ATOM, places, len(numbers) + atoms)
    return _series(given, pc.take(pa.array(own, kind), pa.array(places)))


def _times(
    given: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
) -> nw.Series[Any]:
    """Stamps and the like, rounded to what their type counts."""
    kind: Any = column.type
    missing = np.isnan(values)
    there = np.where(missing, 0.0, values)
    factor = times.NANOSECONDS[variable.unit] // times.NANOSECONDS[times.unit_of(kind)]
    whole = np.floor(there)
    # exact where the product as a whole were not
    parts = np.rint((there - whole) * factor).astype(np.int64)
    counts = np.clip(whole, 0.0, LAST_COUNT).astype(np.uint64)
    if there.max(initial=0.0) >= LARGEST_WHOLE:
        _make_exact(counts, there, _own_counts(column, variable, factor))
    ticks = (counts.view(np.int64) + int(variable.origin)) * factor + parts
    if variable.wall:
        local = times.of_ticks(ticks, pa.timestamp(kind.unit))
        ticks = times.ticks_of(pa.chunked_array([times.from_the_wall(local, kind)]))
    for place, mark in enumerate(variable.marks if atoms is not None else ()):
        tick = None if mark is None else times.tick_of(mark, kind)
        if tick is not None:
            here = atoms == place
            ticks[here], missing[here] = tick, False
    return _series(given, times.of_ticks(ticks, kind, missing))


def _own_counts(column: pa.ChunkedArray, variable: Variable, factor: int) -> np.ndarray:
    """The numbers of a column of times before they became float64."""
    own = column.drop_null()
    ticks = times.ticks_of(pc.local_timestamp(own) if variable.wall else own)
    return times.since(ticks // factor, int(variable.origin))


def _make_exact(counts: np.ndarray, numbers: np.ndarray, own: np.ndarray) -> None:
    """Numbers beyond those that float64 tells apart are the least of the column's that look the
    same, if it has one.
    """
    own = np.sort(own)
    looks = own.astype(np.float64)
    at = np.minimum(np.searchsorted(looks, numbers), len(looks) - 1)
    same = looks[at] == numbers
    counts[same] = own[at[same]]


def _spelled(
    given: nw.Series[Any],
    column: pa.ChunkedArray,
    variable: Variable,
    values: np.ndarray,
    atoms: np.ndarray | None,
    found: ValueCounts,
    *,
    whole: bool,
) -> nw.Series[Any]:
    """Numbers as text: as the column spells them where it has them, others with as many decimals as
    its own have.
    """
    own = found.values
    spelled = spelled_numbers(pa.array(own, pa.large_string()))
    order = np.argsort(-found.each[:-1], kind="stable")
    spelling = {float(spelled[at]): own[at] for at in order[::-1]}
    tails = {
        _decimals_in(text) for text, number in zip(own, spelled, strict=True) if number == number
    }
    fixed = tails.pop() if len(tails) == 1 and whole else None
    numbers, at = np.unique(values, return_inverse=True)
    texts: list[str | None] = [
        None if np.isnan(each) else spelling.get(float(each), _written(float(each), fixed))
        for each in numbers
    ]
    finder = Finder([text.strip() for text in own])
    for mark in variable.marks:
        same = [] if mark is None else finder.places(mark)
        texts.append(variable.gap if mark is None else own[same[0]] if same else str(mark))
    places = at.reshape(-1)
    if atoms is not None:
        places = np.where(atoms == NO_ATOM, places, len(numbers) + atoms)
    text = pc.take(pa.array(texts, pa.large_string()), pa.array(places))
    kind = given.to_native().type if given.implementation.is_pyarrow() else column.type
    return _series(given, pc.cast(text, kind))


def _decimals_in(text: str) -> int | None:
    """How many decimals a number is spelled with; None where an exponent hides it."""
    _, _, tail = text.strip().partition(".")
    return None if "e" in text.lower() else len(tail)


def _written(number: float, fixed: int | None) -> str:
    if fixed is not None:
        return f"{number + 0.0:.{fixed}f}"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
