"""From a table of any library to cells: numbers, atoms, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.hierarchy import Hierarchy
from microagg.table.io.arrow import compute as pc
from microagg.table.io.arrow import is_text, means_numbers
from microagg.table.io.distinct import Distinct, Finder, distinct, number_of
from microagg.table.io.frames import LARGEST_WHOLE, arrow_column, values_of
from microagg.table.io.numbers import Codes, numbers_of
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
    """The cells of these columns.

    Null, NaN, NaT, None and the `na` markers are one atom, each special code is one of its own; both are matched by value. Levels of
    ordinal columns are those declared, else the categories of an ordered type, else the values that occur: numbers by value, text
    by code point. Levels of nominal columns are the values that occur, in the order of their type if it has one, else sorted in the
    same way; None comes last where cells are missing. A column with nothing but missing cells has that one level.

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
    if column.kind is Kind.NUMERIC and not codes.special and _is_plain(frame, column.name, codes.na):
        return (
            Variable(column.name, single=_is_single(frame, column.name)),
            values_of(frame, [column.name])[:, 0],
            None,
        )
    field, arrow = arrow_column(frame, column.name)
    if column.kind is Kind.NUMERIC and arrow.null_count < len(arrow):
        read = _numeric(frame[column.name], arrow, codes)
        if isinstance(frame[column.name].dtype, nw.Decimal) and read[2] is None and not read[0].origin:
            return read[0], values_of(frame, [column.name])[:, 0], None  # to the last bit what it always was
    else:
        found = distinct(arrow)
        if is_text(arrow.type) and means_numbers(field):  # 9 before 10
            texts = [text for text in found.values if number_of(text) is not None]
            found = replace(found, order=sorted(texts, key=_number))
        read = (_ordinal if column.kind is Kind.ORDINAL else _nominal)(
            frame[column.name], arrow, found, column, codes
        )
    variable, _, atoms = read
    if variable.marks and variable.marks[-1] is None and atoms is not None:
        if (atoms == len(variable.marks) - 1).all():  # nothing but gaps is one category
            return Variable(column.name, Kind.NOMINAL, (None,), gap=variable.gap), np.zeros(len(frame)), None
    return read


def _number(text: str) -> Any:
    return number_of(text)


def _is_plain(frame: nw.DataFrame[Any], name: str, na: Sequence[str]) -> bool:
    """Whether a column holds complete numbers that float64 holds: what `values_of` reads."""
    if any(number_of(text) is not None for text in na):
        return False
    if isinstance(native := frame.to_native(), pa.Table):
        return _is_plain_arrow(native.column(name))
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
    """The same for Arrow, without the way through narwhals, which is felt where a table has thousands of columns."""
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
    """Whether whole numbers are read as they are: where they are too long, their differences may be short enough; else they are refused."""
    return max(-least, most) < LARGEST_WHOLE or most - least >= LARGEST_WHOLE


def _numeric(series: nw.Series[Any], column: pa.ChunkedArray, codes: Codes) -> _Read:
    read = numbers_of(column, codes)
    marks, atoms = _marks(codes, read.special, read.missing)
    gap = _gap(series, column, read.missing) if read.missing.any() else None
    return Variable(codes.name, marks=marks, gap=gap, **read.facts), read.values, atoms


def _marks(
    codes: Codes, special: np.ndarray | None, missing: np.ndarray
) -> tuple[tuple[Any, ...], np.ndarray | None]:
    """All special codes, whether they occur or not, and None for what is missing; where they are."""
    marks = tuple(codes.special)
    if not missing.any():
        return marks, special
    atoms = np.full(len(missing), NO_ATOM, np.int16) if special is None else special.copy()
    atoms[missing] = len(marks)
    return (*marks, None), atoms


def _gap(series: nw.Series[Any], column: pa.ChunkedArray, missing: np.ndarray) -> Any:
    """How a missing cell is written: text as it mostly is in the column, other types as a marker only if they know no null."""
    if not is_text(column.type) and _can_be_null(series):
        return None
    spellings = distinct(column.filter(pa.array(missing)))
    counts = spellings.counts
    most = int(counts.argmax())
    if counts[most] == counts[-1]:
        return None
    return spellings.values[most]


def _can_be_null(series: nw.Series[Any]) -> bool:
    if not series.implementation.is_pandas_like():
        return True
    return getattr(series.to_native().dtype, "kind", "O") not in "iub" or not isinstance(
        series.to_native().dtype, np.dtype
    )


def _ordinal(
    series: nw.Series[Any], arrow: pa.ChunkedArray, found: Distinct, column: Column, codes: Codes
) -> _Read:
    missing, special = _atoms_among(found, codes)
    there = ~missing & (special == NO_ATOM)
    used = [value for value, kept in zip(found.values, there, strict=False) if kept]
    at = found.codes
    if column.levels is not None:
        levels, places = _declared(column, found, there)
    else:
        apart = Finder([*codes.special, *codes.na])
        levels = (
            sorted(used) if found.order is None else [each for each in found.order if not apart.places(each)]
        )
        place = {level: rank for rank, level in enumerate(levels)}
        places = np.array([place.get(value, np.nan) for value in found.values] + [np.nan])
    places[~there] = np.nan
    held = special[at] if (special[at] != NO_ATOM).any() else None
    marks, atoms = _marks(codes, held, missing[at])
    gap = _gap(series, arrow, missing[at]) if missing[at].any() else None
    return Variable(column.name, Kind.ORDINAL, tuple(levels), marks, gap=gap), places[at], atoms


def _atoms_among(found: Distinct, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it means missing, and which special code it is; the last place is what is missing anyway."""
    finder = Finder(found.values)
    missing = np.zeros(len(found.values) + 1, bool)
    missing[-1] = True
    for text in codes.na:
        missing[finder.places(text)] = True
    special = np.full(len(missing), NO_ATOM, np.int16)
    for place, code in enumerate(codes.special):
        for at in finder.places(code):
            if not missing[at] and special[at] == NO_ATOM:
                special[at] = place
    return missing, special


def _declared(column: Column, found: Distinct, there: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The declared levels, as the column spells them where they occur, and the place of each value of the column among them."""
    finder = Finder(found.values)
    levels: list[Any] = list(column.levels or ())
    places = np.full(len(found.values) + 1, np.nan)
    for rank, level in enumerate(levels):
        same = [at for at in finder.places(level) if _is_level(found.values[at], level)]
        for at in same:
            places[at] = rank
            levels[rank] = found.values[at]
    lacking = np.isnan(places) & there
    if lacking.any():
        records = int(lacking[found.codes].sum())
        raise InputError(
            f"the order of column {column.name!r} lacks values that {records} of its records {'has' if records == 1 else 'have'}; name all levels in ordinal, "
            "or declare them with special or na."
        )
    return levels, places


def _is_level(value: Any, level: Any) -> bool:
    """Text is a level to the letter, all else by value."""
    return value == level if isinstance(value, str) and isinstance(level, str) else True


def _nominal(
    series: nw.Series[Any], arrow: pa.ChunkedArray, found: Distinct, column: Column, codes: Codes
) -> _Read:
    if codes.special and column.kind is Kind.NOMINAL:
        raise InputError(
            f"column {column.name!r} is nominal, where a special code is a value like any other; leave it out of special."
        )
    missing, _ = _atoms_among(found, Codes(column.name, (), codes.na))
    used = {value for value, gone in zip(found.values, missing, strict=False) if not gone}
    levels: list[Any] = (
        sorted(used) if found.order is None else [level for level in found.order if level in used]
    )
    place: dict[Any, float] = {level: float(rank) for rank, level in enumerate(levels)}
    places = np.array([place.get(value, len(levels)) for value in found.values] + [len(levels)], np.float64)
    gap = None
    if missing[found.codes].any():
        levels.append(None)
        gap = _gap(series, arrow, missing[found.codes])
    return Variable(column.name, Kind.NOMINAL, tuple(levels), gap=gap), places[found.codes], None
