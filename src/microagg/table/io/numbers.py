"""Numeric columns of any type as float64: numbers, text that spells them, Decimals, dates and times; and what in them is an atom."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io import times
from microagg.table.io.arrow import compute as pc
from microagg.table.io.arrow import is_text
from microagg.table.io.distinct import Finder, distinct, number_of
from microagg.table.io.frames import LARGEST, LARGEST_WHOLE
from microagg.table.io.marks import MARKER_OR_EMPTY
from microagg.table.io.reading import refuse_value
from microagg.table.io.text_columns import INFINITE, NUMBER, WHOLE
from microagg.table.variable import NO_ATOM

DIGITS = 100  # more than any Decimal of Arrow has


@dataclass(frozen=True)
class Codes:
    """What is no value in one column: special codes, in the order given, and markers of missing values."""

    name: str
    special: Sequence[Any] = ()
    na: Sequence[str] = ()

    def refuse(self, place: int, what: str) -> None:
        """Say that a special code can match no cell."""
        raise InputError(
            f"special code number {place + 1} of column {self.name!r} is no {what}, and the column holds nothing else; "
            "correct it or leave it out."
        )


@dataclass(frozen=True)
class Numbers:
    """A numeric column: NaN where a cell is an atom, and what `Variable` has to know."""

    values: np.ndarray
    special: np.ndarray | None
    """(n,) int16: the place of the special code, -1 elsewhere; None where there is none."""
    missing: np.ndarray
    facts: dict[str, Any]


def numbers_of(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    """A numeric column of any type."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_dictionary(kind):
        holds = "true and false" if pa.types.is_boolean(kind) else "categories"
        raise InputError(
            f"column {codes.name!r} holds {holds}, not numbers; make it nominal or ordinal, or convert it."
        )
    if is_text(kind):
        return _of_text(column, codes)
    if times.is_time(kind):
        return _of_times(column, codes)
    if pa.types.is_decimal(kind):
        return _of_decimals(column, codes)
    return _of_whole(column, codes) if pa.types.is_integer(kind) else _of_floats(column, codes)


def number_codes(codes: Codes) -> tuple[list[Decimal], list[Decimal]]:
    """The special codes and those markers that are numbers, as numbers."""
    special = [number_of(code) for code in codes.special]
    for place, code in enumerate(special):
        if code is None:
            codes.refuse(place, "number")
    markers = [number_of(text) for text in codes.na]
    return [code for code in special if code is not None], [mark for mark in markers if mark is not None]


def _marked(
    values: np.ndarray, missing: np.ndarray, special: Sequence[Any], na: Sequence[Any]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Which cells hold which special code, and which are missing, markers included. Comparison is by value."""
    for mark in na:
        missing = missing | (values == mark)
    found = None
    for place, code in enumerate(special):
        hit = (values == code) & ~missing
        if hit.any():
            found = np.full(len(values), NO_ATOM, np.int16) if found is None else found
            found[hit & (found == NO_ATOM)] = place
    return found, missing


def _values_among(special: np.ndarray | None, missing: np.ndarray) -> np.ndarray:
    return ~missing if special is None else ~missing & (special == NO_ATOM)


def _refuse_where(name: str, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        refuse_value(name, int(np.argmax(wrong)), what)


def _checked(name: str, values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The values with NaN for atoms, unless there are some that no release could hold."""
    values[~there] = np.nan
    _refuse_where(name, np.isinf(values), "infinite value")
    _refuse_where(name, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _nulls(column: pa.ChunkedArray) -> np.ndarray:
    return pc.is_null(column).to_numpy()


def _of_floats(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    single = not pa.types.is_float64(column.type)
    values = pc.fill_null(pc.cast(column, pa.float64()), np.nan).to_numpy().astype(np.float64)
    # a code is stored like the values: 0.1 in single precision is another number
    own: Any = {"halffloat": np.float16, "float": np.float32}.get(str(column.type), np.float64)
    special, na = ([float(own(code)) for code in each] for each in number_codes(codes))
    found, missing = _marked(values, np.isnan(values), special, na)
    _checked(codes.name, values, _values_among(found, missing))
    return Numbers(values, found, missing, {"single": single})


def _of_whole(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    exact = pc.fill_null(column, 0).to_numpy()
    special, na = number_codes(codes)
    found, missing = _marked(
        exact, _nulls(column), *(_whole_within(each, exact.dtype) for each in (special, na))
    )
    there = _values_among(found, missing)
    least, most = (int(exact[there].min()), int(exact[there].max())) if there.any() else (0, 0)
    origin = 0
    if max(-least, most) >= LARGEST_WHOLE:
        if most - least >= LARGEST_WHOLE:
            wrong = np.abs(exact.astype(np.float64)) >= LARGEST_WHOLE
            _refuse_where(codes.name, wrong & there, "a whole number of more than 15 digits")
        origin = least
        exact = exact - exact.dtype.type(least)
    values = exact.astype(np.float64)
    return Numbers(_checked(codes.name, values, there), found, missing, {"origin": origin})


def _whole_within(marks: Sequence[Decimal], dtype: np.dtype) -> list[Any]:
    """Codes as whole numbers of a type; what is none of these equals nothing."""
    span = np.iinfo(dtype)
    fits = [mark == mark.to_integral_value() and span.min <= mark <= span.max for mark in marks]
    return [dtype.type(int(mark)) if fit else np.nan for mark, fit in zip(marks, fits, strict=True)]


def _of_decimals(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    found = distinct(column)
    marks, na = number_codes(codes)
    own = np.array([*found.values, None], object)
    special, missing = _marked(own, np.array([*(False for _ in found.values), True]), marks, na)
    there = _values_among(special, missing)
    amounts = [value for value, kept in zip(own, there, strict=True) if kept]
    scale = column.type.scale
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        long = any(abs(value.scaleb(scale)) >= LARGEST_WHOLE for value in amounts)
        origin = min(amounts) if long else 0
        numbers = np.array(
            [float(value - origin) if kept else np.nan for value, kept in zip(own, there, strict=True)]
        )
    at = found.codes
    return Numbers(numbers[at], None if special is None else special[at], missing[at], {"origin": origin})


def _of_times(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    kind: Any = column.type
    ticks = times.ticks_of(column)
    special = [times.tick_of(code, kind) for code in codes.special]
    for place, code in enumerate(special):
        if code is None:
            codes.refuse(place, "date or time")
    markers = [tick for text in codes.na if (tick := times.tick_of(text, kind)) is not None]
    found, missing = _marked(ticks, _nulls(column), special, markers)
    there = _values_among(found, missing)
    native = times.unit_of(kind)
    fine, wall = times.resolution_of(ticks[there], native), False
    if (
        pa.types.is_timestamp(kind)
        and kind.tz is not None
        and (local := times.on_the_wall(column)) is not None
    ):
        own = times.ticks_of(local)
        coarse = times.resolution_of(own[there], native)
        if coarse.nanoseconds > fine.nanoseconds:
            ticks, fine, wall = own, coarse, True
    counts = ticks // (times.NANOSECONDS[fine.unit] // times.NANOSECONDS[native])
    origin = int(counts[there].min()) if there.any() else 0
    values = times.since(counts, origin).astype(np.float64)
    values[~there] = np.nan
    span = not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type))
    facts = {"origin": origin, "unit": fine.unit, "step": fine.step, "wall": wall, "span": span}
    return Numbers(values, found, missing, facts)


def _of_text(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    """Text that spells numbers: what is neither that nor an atom is refused."""
    found = distinct(column)
    texts = pa.array([*found.values, None], pa.large_string())
    numbers = spelled_numbers(texts)
    spells = ~np.isnan(numbers)
    finder = Finder([*(text.strip() for text in found.values), ""])
    missing = pc.fill_null(pc.match_substring_regex(texts, MARKER_OR_EMPTY), True).to_numpy(
        zero_copy_only=False
    )
    for text in codes.na:
        missing[finder.places(text.strip())] = True
        missing |= numbers == _float_of(text)
    special = np.full(len(texts), NO_ATOM, np.int16)
    for place, code in enumerate(codes.special):
        hit = numbers == _float_of(code)
        hit[finder.places(code.strip() if isinstance(code, str) else code)] = True
        special[hit & ~missing & (special == NO_ATOM)] = place
    there = _values_among(special, missing)
    at = found.codes
    infinite = pc.fill_null(pc.match_substring_regex(texts, INFINITE), False).to_numpy(zero_copy_only=False)
    _refuse_where(codes.name, (there & infinite)[at], "infinite value")
    _refuse_where(codes.name, (there & ~spells)[at], "text where a number is needed")
    whole = pc.fill_null(pc.match_substring_regex(texts, WHOLE), False).to_numpy(zero_copy_only=False)
    if whole[there].all():
        long = np.abs(numbers) >= LARGEST_WHOLE
        _refuse_where(codes.name, (there & long)[at], "a whole number of more than 15 digits")
    values = _checked(codes.name, numbers[at], there[at])
    return Numbers(values, special[at] if (special[at] != NO_ATOM).any() else None, missing[at], {})


def spelled_numbers(texts: pa.Array) -> np.ndarray:
    """The numbers that texts spell; NaN for other texts."""
    spells = pc.match_substring_regex(texts, NUMBER)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "")
    numbers = pc.cast(pc.if_else(spells, plain, pa.scalar(None, plain.type)), pa.float64())
    return pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False).copy()


def _float_of(code: Any) -> float:
    number = number_of(code)
    return np.nan if number is None else float(number)
