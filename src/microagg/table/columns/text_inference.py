"""Columns of files without types become typed: numbers, dates, or text to the letter, with what is
missing set aside.

What a cell cannot show in its type is kept as marks of its column (`marks.py`), so that what is
written looks like what was read.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.fast_inference import (
    are_shortest,
    cast_or_none,
    has_codes,
    is_mere_text,
    plain_numbers,
)
from microagg.table.columns.field_metadata import MARKER, Pattern, field_metadata, missing_mark
from microagg.table.columns.text_options import cells_of_pattern
from microagg.table.columns.text_types import TextType, is_truth, number_type
from microagg.table.kind_parameters import as_number
from microagg.table.schema import ColumnSettings, Kind

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
WHOLE = r"^\s*[+-]?\d{1,18}\s*$"
CODE = r"^\s*[+-]?0\d"
INFINITE = r"(?i)^\s*[+-]?inf(inity)?\s*$"
LIKE_MISSING = r"(?i)^(none|-|--|#n/a|\?)$"
DAY = r"^\d{4}-\d{2}-\d{2}$"
MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$"
TRUTH = r"^(?i:true|false)$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})$"


@dataclass(frozen=True)
class _Look:
    """What a look at a column of texts tells, cell by cell; `text` is without blanks at both
    ends.
    """

    text: pa.ChunkedArray
    gaps: pa.ChunkedArray
    """Empty, or declared to mean missing: so in every column."""
    markers: pa.ChunkedArray
    """NA and the like: missing in columns that otherwise hold numbers or dates."""
    special: pa.ChunkedArray
    left: pa.ChunkedArray
    """Cells that are none of these."""
    numbers: pa.ChunkedArray
    """Cells that are written as numbers, whatever they stand for."""
    told: str = ""
    """The pattern of dates that was told, besides ISO 8601."""

    @functools.cached_property
    def dates(self) -> pa.ChunkedArray:
        """Cells that are written as dates: all by ISO 8601, or all by the pattern that was told."""
        by_pattern = _matches(self.text, cells_of_pattern(self.told)) if self.told else None
        return (
            by_pattern
            if by_pattern is not None and _any(by_pattern)
            else _or(_matches(self.text, DAY), _matches(self.text, MOMENT))
        )

    @functools.cached_property
    def follows_told(self) -> bool:
        """Whether dates are by the pattern that was told."""
        return bool(self.told) and _any(_matches(self.text, cells_of_pattern(self.told)))

    @functools.cached_property
    def truths(self) -> bool:
        """Whether the cells left are true and false, as programs write them."""
        return is_truth(pc.if_else(self.left, self.text, pa.scalar(None, self.text.type)))

    def text_type(self, *, one_spelling: bool) -> TextType | None:
        """Return what the texts are in files with types; None where they are texts there, too."""
        if _any(_and(self.special, pc.invert(self.numbers))):  # codes that are no numbers need text
            return None
        if self.truths:
            return None if _any(self.special) else TextType("bool")
        codes = _and(self.numbers, _matches(self.text, CODE))
        if not self.all_left(self.numbers) or _any(codes):
            return None
        numbers = pc.if_else(self.numbers, self.text, pa.scalar(None, self.text.type))
        return number_type(numbers, one_spelling=one_spelling)

    def all_left(self, wanted: pa.ChunkedArray) -> bool:
        """Whether there are cells left, and all of them are so."""
        return _any(self.left) and not _any(_and(self.left, pc.invert(wanted)))


def quasi_column(
    name: str, column: pa.ChunkedArray, asked: ColumnSettings, dates: str | None = None
) -> tuple[pa.Field, pa.ChunkedArray]:
    """A quasi-identifying column of text as what it means: numbers or dates if it holds nothing
    else but gaps and special codes.

    Where it holds other things it stays text to the letter; where it is declared nominal or
    ordinal, too, unless numbers give back the very same text. A column of numbers with some text
    among them is refused unless somebody says what that is. Dates are those by ISO 8601, and by the
    pattern `dates` if it is told.

    >>> column = pa.chunked_array([["30", "NA", "40"]])
    >>> field, ages = quasi_column("age", column, ColumnSettings())
    >>> field.type, ages.to_pylist(), field.metadata[b"microagg-missing"]
    (DataType(int64), [30, None, 40], b'NA')
    """
    kind = asked.kinds.get(name)
    if kind in (None, Kind.NUMERIC) and not asked.na:  # most are numbers, and need no closer look
        numbers = plain_numbers(column)
        if numbers is None and _are_numbers(column):
            numbers = parsed_numbers(column, name)
        if numbers is not None:
            return pa.field(name, numbers.type), numbers
        if not asked.special.get(name) and (days := _plain_days(column)) is not None:
            return pa.field(name, days.type, metadata=field_metadata(pattern=Pattern())), days
    if (
        kind in (None, Kind.NOMINAL)
        and not asked.na
        and not asked.special.get(name)
        and is_truth(column)
    ):
        return pa.field(name, column.type, metadata=field_metadata(typed=TextType("bool"))), column
    if kind is None and is_mere_text(
        column,
        _anything_else(dates),
        frozenset({*asked.na, *map(str, asked.special.get(name, ()))}),
    ):
        return pa.field(name, column.type), column
    look = _look(name, column, asked, dates)
    if kind in (Kind.ORDINAL, Kind.NOMINAL):
        numbers = look.all_left(look.numbers)
        known = numbers or look.all_left(look.dates) or look.truths
        apart = _or(look.gaps, look.markers) if known else look.gaps
        field, column = _as_text(
            name, column, look, apart, numbers=numbers and kind is Kind.ORDINAL
        )
        same = as_same_numbers(column) if numbers else None
        return (
            (field, column)
            if same is None
            else (pa.field(name, same.type, metadata=_missing(field)), same)
        )
    if look.truths:
        return _as_text(name, column, look, _or(look.gaps, look.markers))
    if look.all_left(look.numbers):
        return _as_numbers(name, column, look)
    if look.all_left(look.dates):
        return _as_dates(name, look)
    _check_mixed(name, look, numeric=kind is Kind.NUMERIC)
    return _as_text(name, column, look, look.gaps)


def _plain_days(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Days by ISO 8601 and nothing else but null; None if there is anything to be said about
    them.
    """
    return None if column.null_count == len(column) else cast_or_none(column, pa.date32())


def _anything_else(dates: str | None) -> str:
    """The pattern of trimmed texts that are more, or less, than text."""
    told = f"|{cells_of_pattern(dates)}" if dates else ""
    return f"^$|{NUMBER}|{DAY}|{MOMENT}|{INFINITE}|{LIKE_MISSING}|{MARKER}{told}"


def _are_numbers(column: pa.ChunkedArray) -> bool:
    """Whether all cells that hold something hold numbers, and one does."""
    if column.null_count == len(column):
        return False
    parts = (column.slice(0, 100), column)  # where some are not, one of the first mostly shows it
    return all(
        pc.all(pc.match_substring_regex(part, NUMBER)).as_py() is not False for part in parts
    )


def marks_of_text(
    name: str, column: pa.ChunkedArray, asked: ColumnSettings, dates: str | None = None
) -> dict[bytes, bytes] | None:
    """The marks of a column that keeps its text to the letter: whether it means numbers, and
    whether NA and the like are gaps in it.

    Both are told with gaps and special codes set aside. Codes that begin with zeros ("007") are no
    numbers to reckon with.
    """
    if not _may_be_more_than_text(column, name, asked, dates):
        return None
    if not asked.na and not asked.special.get(name):  # mostly there is nothing else in it
        if _plain_days(column) is not None:
            return None
        if plain_numbers(column) is not None:
            if has_codes(column):
                return None
            nominal = asked.kinds.get(name) is Kind.NOMINAL
            kind = number_type(pc.utf8_trim_whitespace(column), one_spelling=nominal)
            return field_metadata(numbers=not nominal, typed=kind)
    look = _look(name, column, asked, dates)
    numbers = look.all_left(look.numbers)
    gaps = _any(look.markers) and (numbers or look.all_left(look.dates) or look.truths)
    kind = look.text_type(one_spelling=asked.kinds.get(name) is Kind.NOMINAL)
    numbers = numbers and asked.kinds.get(name) is not Kind.NOMINAL
    numbers = numbers and not _any(_and(look.left, _matches(look.text, CODE)))
    numbers = numbers and not _any(pc.fill_null(pc.is_inf(_floats(look.text, look.left)), False))
    return field_metadata(numbers=numbers, markers_are_gaps=gaps, typed=kind)


def as_same_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as numbers where writing these gives back the very same texts; None where it does
    not.

    >>> as_same_numbers(pa.chunked_array([["7", None]])).to_pylist(), as_same_numbers(pa.chunked_array([["07"]]))
    ([7, None], None)
    """
    if has_codes(column.slice(0, 1000)):
        return None
    for target in (pa.int64(), pa.float64()):
        numbers = cast_or_none(column, target)
        if numbers is None:
            continue
        if are_shortest(column, numbers):
            return numbers
        # where it does not, one of the first mostly shows it
        if _written_so(numbers.slice(0, 1000), column.slice(0, 1000)) is not False and _written_so(
            numbers, column
        ):
            return numbers
    return None


def _written_so(numbers: pa.ChunkedArray, text: pa.ChunkedArray) -> bool | None:
    """Whether writing these numbers gives these texts; None where all are missing."""
    return pc.all(pc.equal(pc.cast(numbers, pa.string()), text)).as_py()


def parsed_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Texts that are numbers, or null, as numbers: whole ones if all are, else float64."""
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
    if pc.all(pc.match_substring_regex(column, WHOLE)).as_py():
        return pc.cast(trimmed, pa.int64())
    numbers = pc.cast(trimmed, pa.float64())
    wrong = pc.index(pc.is_inf(numbers), True).as_py()
    if wrong >= 0:
        _check_cell(name, wrong, "infinite value; mend it or leave the record out")
    return numbers


def _look(
    name: str, column: pa.ChunkedArray, asked: ColumnSettings, dates: str | None = None
) -> _Look:
    text = pc.utf8_trim_whitespace(column)
    numbers = _matches(text, NUMBER)
    levels = pa.array([str(level) for level in asked.levels.get(name, ())], pa.string())
    special = _coded(text, numbers, asked.special.get(name, ()))
    gaps = _or(
        pc.fill_null(pc.equal(text, ""), True),
        _coded(text, numbers, [as_number(na) for na in asked.na]),
    )
    apart = _or(_or(special, gaps), pc.is_in(text, value_set=levels))
    markers = _and(_matches(text, MARKER), pc.invert(apart))
    left = pc.invert(_or(_or(special, gaps), markers))
    return _Look(text, gaps, markers, special, left, numbers, dates or "")


def _coded(
    text: pa.ChunkedArray, numbers: pa.ChunkedArray, codes: Sequence[Any]
) -> pa.ChunkedArray:
    """Where a cell is one of these codes: to the letter, or the same number."""
    found = pc.is_in(text, value_set=pa.array([str(code) for code in codes], pa.string()))
    values = [float(code) for code in codes if not isinstance(code, str)]
    if values:
        found = _or(
            found, pc.is_in(_floats(text, numbers), value_set=pa.array(values, pa.float64()))
        )
    return found


def without_markers(column: pa.ChunkedArray, na: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of texts or numbers with null in place of these markers: to the letter, or
    the same number.

    >>> without_markers(pa.chunked_array([["30", "-9.0", "k.A."]]), ["-9", "k.A."]).to_pylist()
    ['30', None, None]
    """
    codes = [as_number(marker) for marker in na]
    if is_text(column.type):
        text = pc.utf8_trim_whitespace(column)
        gone = _coded(text, _matches(text, NUMBER), codes)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = pa.array(
            [float(code) for code in codes if not isinstance(code, str)], pa.float64()
        )
        gone = pc.is_in(pc.cast(column, pa.float64(), safe=False), value_set=numbers)
    else:
        return column
    return _without(column, gone)


def _as_numbers(
    name: str, column: pa.ChunkedArray, look: _Look
) -> tuple[pa.Field, pa.ChunkedArray]:
    apart = _or(look.gaps, look.markers)
    # codes that are no numbers need text beside them
    if _any(_and(look.special, pc.invert(look.numbers))):
        return _as_text(name, column, look, apart, numbers=True)
    numbers = parsed_numbers(_without(look.text, apart), name)
    return pa.field(
        name, numbers.type, metadata=field_metadata(missing=_usual(look.text, apart))
    ), numbers


def _as_text(
    name: str,
    column: pa.ChunkedArray,
    look: _Look,
    apart: pa.ChunkedArray,
    *,
    numbers: bool = False,
) -> tuple[pa.Field, pa.ChunkedArray]:
    told = _any(pc.and_(look.markers, pc.invert(apart)))
    kind = look.text_type(one_spelling=True)
    marks = field_metadata(
        missing=_usual(look.text, apart), numbers=numbers, values_like_markers=told, typed=kind
    )
    return pa.field(name, column.type, metadata=marks), _without(column, apart)


def _as_dates(name: str, look: _Look) -> tuple[pa.Field, pa.ChunkedArray]:
    """Dates, or moments that are all written alike; how they are written is remembered."""
    wrong = _first(_and(look.special, pc.invert(look.dates)))
    if wrong >= 0:
        _check_cell(
            name,
            wrong,
            "a special code in a column of dates that is no date; name it with na instead",
        )
    if look.follows_told:
        return _as_told_dates(name, look)
    apart = _or(look.gaps, look.markers)
    text = _without(look.text, apart)
    shape = pc.replace_substring_regex(pc.replace_substring_regex(text, r"\.\d+", ".0"), r"\d", "0")
    zone = pc.replace_substring_regex(text, r"^.{10}([T ][\d:.]*)?", "")
    written = pc.binary_join_element_wise(shape, zone, "|")
    first = pc.drop_null(written)[0]
    wrong = _first(pc.fill_null(pc.not_equal(written, first), False))
    if wrong >= 0:
        _check_cell(
            name,
            wrong,
            f"a date in another pattern than before; write all alike, or say nominal=[{name!r}]",
        )
    pattern = Pattern.of(pc.drop_null(text)[0].as_py(), _longest_fraction(text))
    local = pc.replace_substring_regex(text, ZONE, "") if pattern.zone else text
    try:
        dates = pc.cast(local, pattern.type_without_zone)
    except pa.ArrowInvalid:
        _check_cell(
            name, _first_no_date(local), "no date of the calendar; mend it or leave the record out"
        )
    dates = pc.cast(dates, pattern.type)
    marks = field_metadata(missing=_usual(look.text, apart), pattern=pattern)
    return pa.field(name, dates.type, metadata=marks), dates


def _as_told_dates(name: str, look: _Look) -> tuple[pa.Field, pa.ChunkedArray]:
    """Dates by the pattern that was told. The days of a month are counted by writing each date
    again: Arrow takes the 31st of any.
    """
    apart, pattern = _or(look.gaps, look.markers), Pattern(told=look.told)
    text = _without(look.text, apart)
    moments = pc.strptime(text, format=look.told, unit="s", error_is_null=True)
    written = pc.strftime(moments, format=look.told, locale="C")
    same = pc.equal(
        pc.utf8_lower(_without_leading_zeros(written)), pc.utf8_lower(_without_leading_zeros(text))
    )
    wrong = _first(_and(pc.is_valid(text), pc.invert(pc.fill_null(same, False))))
    if wrong >= 0:
        _check_cell(name, wrong, "no date of the calendar; mend it or leave the record out")
    dates = pc.cast(moments, pattern.type)
    return pa.field(
        name, dates.type, metadata=field_metadata(missing=_usual(look.text, apart), pattern=pattern)
    ), dates


def _without_leading_zeros(text: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(text, r"(^|\D)0+(\d)", r"\1\2")


def _longest_fraction(text: pa.ChunkedArray) -> int:
    fraction = pc.replace_substring_regex(
        pc.replace_substring_regex(text, ZONE, ""), r"^[^.]*\.?", ""
    )
    return pc.max(pc.utf8_length(fraction)).as_py() or 0


def _first_no_date(text: pa.ChunkedArray) -> int:
    for position, cell in enumerate(text.to_pylist()):
        try:
            if cell is not None:
                datetime.datetime.fromisoformat(re.sub(r"\.\d+", "", cell))
        except ValueError:
            return position
    return 0


def _check_mixed(name: str, look: _Look, *, numeric: bool) -> None:
    """Refuse a column in which at least half of the values are numbers, or dates, and others are
    text; never take it for text.
    """
    infinite = _matches(look.text, INFINITE)
    judged = _and(look.left, pc.invert(_matches(look.text, LIKE_MISSING)))
    half = (pc.sum(judged).as_py() or 0) / 2.0
    dates = look.dates
    for fitting, what in ((_or(look.numbers, infinite), "number"), (dates, "date")):
        count = pc.sum(_and(judged, fitting)).as_py() or 0
        if (count and count >= half) or (numeric and what == "number"):
            wrong = _first(_and(look.left, pc.invert(look.numbers if what == "number" else dates)))
            if wrong >= 0 and infinite[wrong].as_py():
                _check_cell(name, wrong, "infinite value; mend it or leave the record out")
            if wrong >= 0:
                _check_cell(name, wrong, f"text where a {what} is needed; {_what_to_say(name)}")


def _what_to_say(name: str) -> str:
    return (
        f"mend it, or say what it is: special={{{name!r}: '…'}} for a code such as not "
        f"applicable, na=['…'] for a missing value, "
        f"nominal=[{name!r}] if the column holds categories"
    )


def _check_cell(name: str, position: int, what: str) -> NoReturn:
    raise InputError(f"column {name!r}, row {position + 1} (header not counted): {what}.")


def _may_be_more_than_text(
    column: pa.ChunkedArray, name: str, asked: ColumnSettings, dates: str | None = None
) -> bool:
    """Whether it is worth a look: most columns of text are told by their first cells."""
    known = f"{NUMBER}|{DAY}|{MOMENT}|{TRUTH}" + (f"|{cells_of_pattern(dates)}" if dates else "")
    apart = {*asked.na, *map(str, asked.special.get(name, ()))}
    for cell in column.slice(0, 100).to_pylist():
        text = (cell or "").strip()
        if text and text not in apart and not re.match(MARKER, text):
            return re.match(known, text) is not None
    return True


def _missing(field: pa.Field) -> dict[bytes, bytes] | None:
    return field_metadata(missing=missing_mark(field))


def _usual(text: pa.ChunkedArray, apart: pa.ChunkedArray) -> str:
    """The most frequent of the texts that mean missing; of equally frequent ones the first in
    order.
    """
    counts = pc.value_counts(pc.fill_null(pc.filter(text, apart), "")).to_pylist()
    return min(((-each["counts"], each["values"]) for each in counts), default=(0, ""))[1]


def _floats(text: pa.ChunkedArray, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = pc.replace_substring_regex(pc.if_else(numbers, text, None), r"^\+", "")
    return pc.cast(plain, pa.float64())


def _without(column: pa.ChunkedArray, apart: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(apart, pa.scalar(None, column.type), column) if _any(apart) else column


def _matches(text: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    return pc.fill_null(pc.match_substring_regex(text, pattern), False)


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(pc.any(mask).as_py())


def _first(mask: pa.ChunkedArray) -> int:
    return pc.index(mask, True).as_py()


def _and(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.and_(one, other)


def _or(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.or_(one, other)
