"""Numeric columns of any type as float64: numbers, text that spells them, Decimals, dates and
times; and what in them is an atom.

A column is looked at in two steps, so that it need not be there as a whole: of any part it is found
out which cells are atoms and how far the others reach (`parse_column`, `extent_of`); with what all
parts together come to (`terms_of`), each part has its numbers (`numbers_in`).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns import times
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.cell_errors import check_value
from microagg.table.columns.distinct import Finder, distinct, number_of
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY
from microagg.table.columns.frames import LARGEST, LARGEST_WHOLE
from microagg.table.columns.text_inference import INFINITE, NUMBER, WHOLE
from microagg.table.variable import NO_ATOM

DIGITS = 100  # more than any Decimal of Arrow has


@dataclass(frozen=True)
class Codes:
    """What is no value in one column: special codes, in the order given, and markers of missing
    values.
    """

    name: str
    special: Sequence[Any] = ()
    na: Sequence[str] = ()
    first: int = 0
    """The number of the first record that is looked at, where that is a part of a table: errors
    name rows.
    """

    def refuse(self, place: int, what: str) -> None:
        """Say that a special code can match no cell."""
        raise InputError(
            f"special code number {place + 1} of column {self.name!r} is no {what}, and "
            f"the column holds nothing else; "
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


@dataclass(frozen=True)
class ParsedNumbers:
    """A part of a numeric column: which cells are atoms, and what the others are before it is known
    what they count from.
    """

    kind: pa.DataType
    exact: np.ndarray
    """(n,) float64, whole numbers or ticks; of Decimals and texts (different values + 1,), the last
    for what is missing.
    """
    special: np.ndarray | None
    """(n,) int16, see `Numbers`."""
    missing: np.ndarray
    there: np.ndarray
    """As long as `exact`: which of them are values."""
    at: np.ndarray | None = None
    """(n,): the place of each record's value in `exact`, where that has different ones."""
    local: np.ndarray | None = None
    """Of stamps with a zone: the ticks on the clock of that zone, where these tell all stamps
    apart.
    """
    whole: bool = False
    """Of texts: whether all values are spelled as whole numbers."""


@dataclass
class Extent:
    """How far the values of a column reach, as far as that decides what they are counted from.
    Extents of parts are put together.
    """

    known: int = 0
    least: Any = None
    most: Any = None
    common: int = 0
    """Of times: the greatest common divisor of their ticks."""
    long: int | None = None
    """The first record that is longer than float64 tells apart; of Decimals any."""
    wall: bool = True
    """Of stamps with a zone: whether its clocks tell all of them apart; then the same of what the
    clocks show:
    """
    wall_least: int | None = None
    wall_common: int = 0
    whole: bool = True
    """Of texts: whether all values are spelled as whole numbers."""

    def combine(self, more: Extent) -> None:
        """Take in what the next part tells."""
        self.known += more.known
        self.least, self.most = _end(min, self.least, more.least), _end(max, self.most, more.most)
        self.wall_least = _end(min, self.wall_least, more.wall_least)
        self.common = math.gcd(self.common, more.common)
        self.wall_common = math.gcd(self.wall_common, more.wall_common)
        self.long = more.long if self.long is None else self.long
        self.wall, self.whole = self.wall and more.wall, self.whole and more.whole


def _end(which: Any, one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else which(one, other)


def numbers_of(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    """A numeric column of any type."""
    looked = parse_column(column, codes)
    facts = terms_of(column.type, extent_of(looked, codes), codes)
    return Numbers(numbers_in(looked, facts, codes), looked.special, looked.missing, facts)


def parse_column(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    """A column, or a part of one, as it is."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_dictionary(kind):
        holds = "true and false" if pa.types.is_boolean(kind) else "categories"
        raise InputError(
            f"column {codes.name!r} holds {holds}, not numbers; make it nominal or "
            f"ordinal, or convert it."
        )
    if is_text(kind):
        return _look_at_text(column, codes)
    if times.is_time(kind):
        return _look_at_times(column, codes)
    if pa.types.is_decimal(kind):
        return _look_at_decimals(column, codes)
    return (
        _look_at_whole(column, codes)
        if pa.types.is_integer(kind)
        else _look_at_floats(column, codes)
    )


def extent_of(looked: ParsedNumbers, codes: Codes) -> Extent:
    """How far the values of a part reach."""
    kind, there = looked.kind, looked.there
    if is_text(kind):
        return _extent_of_text(looked, codes)
    if pa.types.is_floating(kind):
        return Extent(int(there.sum()))
    if pa.types.is_decimal(kind):
        amounts = looked.exact[there]
        if len(amounts) == 0:
            return Extent()
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            long = any(abs(value.scaleb(kind.scale)) >= LARGEST_WHOLE for value in amounts)
        return Extent(len(amounts), min(amounts), max(amounts), long=0 if long else None)
    values = looked.exact[there]
    if len(values) == 0:
        return Extent(wall=looked.local is not None)
    found = Extent(len(values), int(values.min()), int(values.max()))
    if pa.types.is_integer(kind):
        if max(-found.least, found.most) >= LARGEST_WHOLE:
            wrong = (np.abs(looked.exact.astype(np.float64)) >= LARGEST_WHOLE) & there
            found.long = codes.first + int(np.argmax(wrong))
        return found
    found.common, found.wall = int(np.gcd.reduce(values)), looked.local is not None
    if looked.local is not None:
        own = looked.local[there]
        found.wall_least, found.wall_common = int(own.min()), int(np.gcd.reduce(own))
    return found


def terms_of(kind: Any, extent: Extent, codes: Codes) -> dict[str, Any]:
    """What the numbers of a column are counted from and in, as `Variable` has it, from the extent
    of the whole.
    """
    if times.is_time(kind):
        return _terms_of_times(kind, extent)
    if pa.types.is_floating(kind):
        return {"single": not pa.types.is_float64(kind)}
    if is_text(kind):
        if extent.whole and extent.long is not None:
            check_value(codes.name, extent.long, "a whole number of more than 15 digits")
        return {}
    if pa.types.is_decimal(kind):
        return {"origin": 0 if extent.long is None else extent.least}
    if extent.long is None:
        return {"origin": 0}
    if extent.most - extent.least >= LARGEST_WHOLE:
        check_value(codes.name, extent.long, "a whole number of more than 15 digits")
    return {"origin": extent.least}


def numbers_in(looked: ParsedNumbers, terms: dict[str, Any], codes: Codes) -> np.ndarray:
    """(n,) float64: the numbers of a part, in the terms of the whole; NaN where a cell is an
    atom.
    """
    kind, there, exact = looked.kind, looked.there, looked.exact
    if times.is_time(kind):
        ticks = looked.local if terms["wall"] and looked.local is not None else exact
        counts = ticks // (
            times.NANOSECONDS[terms["unit"]] // times.NANOSECONDS[times.unit_of(kind)]
        )
        values = times.since(counts, terms["origin"]).astype(np.float64)
        values[~there] = np.nan
        return values
    if pa.types.is_decimal(kind):
        origin = terms["origin"]
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            numbers = np.array(
                [
                    float(value - origin) if kept else np.nan
                    for value, kept in zip(exact, there, strict=True)
                ]
            )
        return numbers[looked.at]
    if is_text(kind):
        return _checked(codes, exact[looked.at], there[looked.at])
    if pa.types.is_integer(kind) and terms["origin"]:
        exact = exact - exact.dtype.type(terms["origin"])
    values = exact.astype(np.float64)
    return _checked(codes, values, there)


def number_codes(codes: Codes) -> tuple[list[Decimal], list[Decimal]]:
    """The special codes and those markers that are numbers, as numbers."""
    special = [number_of(code) for code in codes.special]
    for place, code in enumerate(special):
        if code is None:
            codes.refuse(place, "number")
    markers = [number_of(text) for text in codes.na]
    return [code for code in special if code is not None], [
        mark for mark in markers if mark is not None
    ]


def _marked(
    values: np.ndarray, missing: np.ndarray, special: Sequence[Any], na: Sequence[Any]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Which cells hold which special code, and which are missing, markers included. Comparison is
    by value.
    """
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


def _check_where(codes: Codes, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        check_value(codes.name, codes.first + int(np.argmax(wrong)), what)


def _checked(codes: Codes, values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The values with NaN for atoms, unless there are some that no release could hold."""
    values[~there] = np.nan
    _check_where(codes, np.isinf(values), "infinite value")
    _check_where(codes, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _nulls(column: pa.ChunkedArray) -> np.ndarray:
    return pc.is_null(column).to_numpy()


def _look_at_floats(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    values = pc.fill_null(pc.cast(column, pa.float64()), np.nan).to_numpy().astype(np.float64)
    # a code is stored like the values: 0.1 in single precision is another number
    own: Any = {"halffloat": np.float16, "float": np.float32}.get(str(column.type), np.float64)
    special, na = ([float(own(code)) for code in each] for each in number_codes(codes))
    found, missing = _marked(values, np.isnan(values), special, na)
    return ParsedNumbers(column.type, values, found, missing, _values_among(found, missing))


def _look_at_whole(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    exact = pc.fill_null(column, 0).to_numpy()
    special, na = number_codes(codes)
    found, missing = _marked(
        exact, _nulls(column), *(_whole_within(each, exact.dtype) for each in (special, na))
    )
    return ParsedNumbers(column.type, exact, found, missing, _values_among(found, missing))


def _whole_within(marks: Sequence[Decimal], dtype: np.dtype) -> list[Any]:
    """Codes as whole numbers of a type; what is none of these equals nothing."""
    span = np.iinfo(dtype)
    fits = [mark == mark.to_integral_value() and span.min <= mark <= span.max for mark in marks]
    return [dtype.type(int(mark)) if fit else np.nan for mark, fit in zip(marks, fits, strict=True)]


def _look_at_decimals(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    found = distinct(column)
    marks, na = number_codes(codes)
    own = np.array([*found.values, None], object)
    special, missing = _marked(own, np.array([*(False for _ in found.values), True]), marks, na)
    at = found.codes
    there = _values_among(special, missing)
    return ParsedNumbers(
        column.type, own, None if special is None else special[at], missing[at], there, at
    )


def _look_at_times(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    kind: Any = column.type
    ticks = times.ticks_of(column)
    special = [times.tick_of(code, kind) for code in codes.special]
    for place, code in enumerate(special):
        if code is None:
            codes.refuse(place, "date or time")
    markers = [tick for text in codes.na if (tick := times.tick_of(text, kind)) is not None]
    found, missing = _marked(ticks, _nulls(column), special, markers)
    local = None
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        local = times.on_the_wall(column)
    shown = None if local is None else times.ticks_of(local)
    return ParsedNumbers(kind, ticks, found, missing, _values_among(found, missing), local=shown)


def _terms_of_times(kind: Any, extent: Extent) -> dict[str, Any]:
    native = times.unit_of(kind)
    fine, wall = times.resolution_by(extent.common if extent.known else None, native), False
    least = extent.least
    if extent.wall and pa.types.is_timestamp(kind) and kind.tz is not None:
        coarse = times.resolution_by(extent.wall_common if extent.known else None, native)
        if coarse.nanoseconds > fine.nanoseconds:
            least, fine, wall = extent.wall_least, coarse, True
    factor = times.NANOSECONDS[fine.unit] // times.NANOSECONDS[native]
    span = not (pa.types.is_date(kind) or pa.types.is_timestamp(kind))
    origin = 0 if least is None else least // factor
    return {"origin": origin, "unit": fine.unit, "step": fine.step, "wall": wall, "span": span}


def _look_at_text(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
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
    infinite = pc.fill_null(pc.match_substring_regex(texts, INFINITE), False).to_numpy(
        zero_copy_only=False
    )
    _check_where(codes, (there & infinite)[at], "infinite value")
    _check_where(codes, (there & ~spells)[at], "text where a number is needed")
    whole = pc.fill_null(pc.match_substring_regex(texts, WHOLE), False).to_numpy(
        zero_copy_only=False
    )
    held = special[at] if (special[at] != NO_ATOM).any() else None
    return ParsedNumbers(
        column.type, numbers, held, missing[at], there, at, whole=bool(whole[there].all())
    )


def _extent_of_text(looked: ParsedNumbers, codes: Codes) -> Extent:
    long = (looked.there & (np.abs(looked.exact) >= LARGEST_WHOLE))[looked.at]
    first = codes.first + int(np.argmax(long)) if long.any() else None
    return Extent(int(looked.there.sum()), whole=looked.whole, long=first)


def spelled_numbers(texts: pa.Array) -> np.ndarray:
    """The numbers that texts spell; NaN for other texts."""
    spells = pc.match_substring_regex(texts, NUMBER)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "")
    numbers = pc.cast(pc.if_else(spells, plain, pa.scalar(None, plain.type)), pa.float64())
    return pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False).copy()


def _float_of(code: Any) -> float:
    number = number_of(code)
    return np.nan if number is None else float(number)
