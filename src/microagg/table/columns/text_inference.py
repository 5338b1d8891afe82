"""Type inference for text columns: numbers, dates, or text to the letter, with missing values
apart.

Properties that a type cannot hold are kept as metadata of the column (`field_metadata.py`), so that
the output looks like the input.
"""

from __future__ import annotations

import datetime
import re
from typing import NoReturn

import pyarrow as pa

from microagg.errors import InputError
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.fast_inference import (
    are_shortest,
    cast_or_none,
    has_codes,
    is_mere_text,
    plain_numbers,
)
from microagg.table.columns.field_metadata import MARKER, Pattern, field_metadata
from microagg.table.columns.text_facts import TextFacts, facts_of_text, missing_metadata
from microagg.table.columns.text_masks import (
    CODE,
    DAY,
    INFINITE,
    LIKE_MISSING,
    MOMENT,
    NUMBER,
    TRUTH,
    WHOLE,
    ZONE,
    any_of,
    both_of,
    either_of,
    first_of,
    floats_of,
    matches,
    usual_texts,
    without_cells,
)
from microagg.table.columns.text_options import cells_of_pattern
from microagg.table.columns.text_types import TextType, is_truth, number_type
from microagg.table.schema import ColumnSettings, Kind

NO_DATE = "not a date of the calendar; correct it or leave the record out"
NOT_FINITE = "infinite value; correct it or leave the record out"


def quasi_column(
    name: str, column: pa.ChunkedArray, settings: ColumnSettings, dates: str | None = None
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Type a quasi-identifying text column: numbers or dates if it holds only these, gaps and
    codes.

    Otherwise it stays text to the letter. So it does if it is declared nominal or ordinal, unless
    numbers give back the very same text. A column of numbers with some text among them is refused
    unless the settings explain that text. Dates are in ISO 8601, or in the pattern `dates` if
    given.

    >>> column = pa.chunked_array([["30", "NA", "40"]])
    >>> field, ages = quasi_column("age", column, ColumnSettings())
    >>> field.type, ages.to_pylist(), field.metadata[b"microagg-missing"]
    (DataType(int64), [30, None, 40], b'NA')
    """
    kind = settings.kinds.get(name)
    if (
        kind in (None, Kind.NUMERIC) and not settings.na
    ):  # most are numbers, and need no closer look
        numbers = plain_numbers(column)
        if numbers is None and _are_numbers(column):
            numbers = parsed_numbers(column, name)
        if numbers is not None:
            return pa.field(name, numbers.type), numbers
        if not settings.special.get(name) and (days := _plain_days(column)) is not None:
            return pa.field(name, days.type, metadata=field_metadata(pattern=Pattern())), days
    if (
        kind in (None, Kind.NOMINAL)
        and not settings.na
        and not settings.special.get(name)
        and is_truth(column)
    ):
        return pa.field(name, column.type, metadata=field_metadata(typed=TextType("bool"))), column
    if kind is None and is_mere_text(
        column,
        _anything_else(dates),
        frozenset({*settings.na, *map(str, settings.special.get(name, ()))}),
    ):
        return pa.field(name, column.type), column
    look = facts_of_text(name, column, settings, dates)
    if kind in (Kind.ORDINAL, Kind.NOMINAL):
        numbers = look.all_left(look.numbers)
        is_typed = numbers or look.all_left(look.dates) or look.truths
        apart = either_of(look.gaps, look.markers) if is_typed else look.gaps
        field, column = _as_text(
            name, column, look, apart, numbers=numbers and kind is Kind.ORDINAL
        )
        same = as_same_numbers(column) if numbers else None
        return (
            (field, column)
            if same is None
            else (pa.field(name, same.type, metadata=missing_metadata(field)), same)
        )
    if look.truths:
        return _as_text(name, column, look, either_of(look.gaps, look.markers))
    if look.all_left(look.numbers):
        return _as_numbers(name, column, look)
    if look.all_left(look.dates):
        return _as_dates(name, look)
    _check_mixed(name, look, numeric=kind is Kind.NUMERIC)
    return _as_text(name, column, look, look.gaps)


def _plain_days(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of ISO 8601 days and null only; None for any other."""
    return None if column.null_count == len(column) else cast_or_none(column, pa.date32())


def _anything_else(dates: str | None) -> str:
    """Return the pattern of trimmed texts that are not mere text."""
    declared = f"|{cells_of_pattern(dates)}" if dates else ""
    return f"^$|{NUMBER}|{DAY}|{MOMENT}|{INFINITE}|{LIKE_MISSING}|{MARKER}{declared}"


def _are_numbers(column: pa.ChunkedArray) -> bool:
    """Check if all cells with a value hold numbers, and at least one does."""
    if column.null_count == len(column):
        return False
    parts = (column.slice(0, 100), column)  # where some are not, one of the first mostly shows it
    return all(
        pc.all(pc.match_substring_regex(part, NUMBER)).as_py() is not False for part in parts
    )


def marks_of_text(
    name: str, column: pa.ChunkedArray, settings: ColumnSettings, dates: str | None = None
) -> dict[bytes, bytes] | None:
    """Return the metadata of a column that keeps its text to the letter.

    It records if the column means numbers, and if NA and the like are gaps, both with gaps and
    special codes set aside. Codes with leading zeros ("007") are no numbers.
    """
    if not _may_be_more_than_text(column, name, settings, dates):
        return None
    if not settings.na and not settings.special.get(name):  # mostly there is nothing else in it
        if _plain_days(column) is not None:
            return None
        if plain_numbers(column) is not None:
            if has_codes(column):
                return None
            nominal = settings.kinds.get(name) is Kind.NOMINAL
            kind = number_type(pc.utf8_trim_whitespace(column), one_spelling=nominal)
            return field_metadata(numbers=not nominal, typed=kind)
    look = facts_of_text(name, column, settings, dates)
    numbers = look.all_left(look.numbers)
    gaps = any_of(look.markers) and (numbers or look.all_left(look.dates) or look.truths)
    kind = look.text_type(one_spelling=settings.kinds.get(name) is Kind.NOMINAL)
    numbers = numbers and settings.kinds.get(name) is not Kind.NOMINAL
    numbers = numbers and not any_of(both_of(look.left, matches(look.text, CODE)))
    numbers = numbers and not any_of(
        pc.fill_null(pc.is_inf(floats_of(look.text, look.left)), False)
    )
    return field_metadata(numbers=numbers, markers_are_gaps=gaps, typed=kind)


def as_same_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as numbers where writing these gives back the very same texts; None where it does
    not.

    >>> (
    ...     as_same_numbers(pa.chunked_array([["7", None]])).to_pylist(),
    ...     as_same_numbers(pa.chunked_array([["07"]])),
    ... )
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
    """Check if writing these numbers gives these texts; None if all are missing."""
    return pc.all(pc.equal(pc.cast(numbers, pa.string()), text)).as_py()


def parsed_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Texts that are numbers, or null, as numbers: whole ones if all are, else float64."""
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
    if pc.all(pc.match_substring_regex(column, WHOLE)).as_py():
        return pc.cast(trimmed, pa.int64())
    numbers = pc.cast(trimmed, pa.float64())
    wrong = pc.index(pc.is_inf(numbers), True).as_py()
    if wrong >= 0:
        _check_cell(name, wrong, NOT_FINITE)
    return numbers


def _as_numbers(
    name: str, column: pa.ChunkedArray, look: TextFacts
) -> tuple[pa.Field, pa.ChunkedArray]:
    apart = either_of(look.gaps, look.markers)
    # codes that are no numbers need text beside them
    if any_of(both_of(look.special, pc.invert(look.numbers))):
        return _as_text(name, column, look, apart, numbers=True)
    numbers = parsed_numbers(without_cells(look.text, apart), name)
    return pa.field(
        name, numbers.type, metadata=field_metadata(missing=usual_texts(look.text, apart))
    ), numbers


def _as_text(
    name: str,
    column: pa.ChunkedArray,
    look: TextFacts,
    apart: pa.ChunkedArray,
    *,
    numbers: bool = False,
) -> tuple[pa.Field, pa.ChunkedArray]:
    has_marker_values = any_of(pc.and_(look.markers, pc.invert(apart)))
    kind = look.text_type(one_spelling=True)
    marks = field_metadata(
        missing=usual_texts(look.text, apart),
        numbers=numbers,
        values_like_markers=has_marker_values,
        typed=kind,
    )
    return pa.field(name, column.type, metadata=marks), without_cells(column, apart)


def _as_dates(name: str, look: TextFacts) -> tuple[pa.Field, pa.ChunkedArray]:
    """Dates, or moments that are all written alike; how they are written is remembered."""
    wrong = first_of(both_of(look.special, pc.invert(look.dates)))
    if wrong >= 0:
        _check_cell(
            name,
            wrong,
            "a special code in a column of dates that is no date; name it with na instead",
        )
    if look.follows_pattern:
        return _as_pattern_dates(name, look)
    apart = either_of(look.gaps, look.markers)
    text = without_cells(look.text, apart)
    shape = pc.replace_substring_regex(pc.replace_substring_regex(text, r"\.\d+", ".0"), r"\d", "0")
    zone = pc.replace_substring_regex(text, r"^.{10}([T ][\d:.]*)?", "")
    written = pc.binary_join_element_wise(shape, zone, "|")
    first = pc.drop_null(written)[0]
    wrong = first_of(pc.fill_null(pc.not_equal(written, first), False))
    if wrong >= 0:
        _check_cell(
            name,
            wrong,
            "written unlike the dates before it; write all alike, or say ",
            Assignment("nominal", [name]),
        )
    pattern = Pattern.of(pc.drop_null(text)[0].as_py(), _longest_fraction(text))
    local = pc.replace_substring_regex(text, ZONE, "") if pattern.zone else text
    try:
        dates = pc.cast(local, pattern.type_without_zone)
    except pa.ArrowInvalid:
        _check_cell(name, _first_no_date(local), NO_DATE)
    dates = pc.cast(dates, pattern.type)
    marks = field_metadata(missing=usual_texts(look.text, apart), pattern=pattern)
    return pa.field(name, dates.type, metadata=marks), dates


def _as_pattern_dates(name: str, look: TextFacts) -> tuple[pa.Field, pa.ChunkedArray]:
    """Parse dates by the declared pattern.

    Each date is written again to check the day of the month: Arrow accepts the 31st of any.
    """
    apart, pattern = either_of(look.gaps, look.markers), Pattern(declared=look.dates_pattern)
    text = without_cells(look.text, apart)
    moments = pc.strptime(text, format=look.dates_pattern, unit="s", error_is_null=True)
    written = pc.strftime(moments, format=look.dates_pattern, locale="C")
    same = pc.equal(
        pc.utf8_lower(_without_leading_zeros(written)), pc.utf8_lower(_without_leading_zeros(text))
    )
    wrong = first_of(both_of(pc.is_valid(text), pc.invert(pc.fill_null(same, False))))
    if wrong >= 0:
        _check_cell(name, wrong, NO_DATE)
    dates = pc.cast(moments, pattern.type)
    return pa.field(
        name,
        dates.type,
        metadata=field_metadata(missing=usual_texts(look.text, apart), pattern=pattern),
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


def _check_mixed(name: str, look: TextFacts, *, numeric: bool) -> None:
    """Refuse a column in which at least half of the values are numbers, or dates, and others are
    text; never take it for text.
    """
    infinite = matches(look.text, INFINITE)
    judged = both_of(look.left, pc.invert(matches(look.text, LIKE_MISSING)))
    half = (pc.sum(judged).as_py() or 0) / 2.0
    dates = look.dates
    for fitting, what in ((either_of(look.numbers, infinite), "number"), (dates, "date")):
        count = pc.sum(both_of(judged, fitting)).as_py() or 0
        if (count and count >= half) or (numeric and what == "number"):
            wrong = first_of(
                both_of(look.left, pc.invert(look.numbers if what == "number" else dates))
            )
            if wrong >= 0 and infinite[wrong].as_py():
                _check_cell(name, wrong, NOT_FINITE)
            if wrong >= 0:
                _check_cell(name, wrong, f"text where a {what} is needed; ", _advice_on_text(name))


def _advice_on_text(name: str) -> Sentence:
    return sentence(
        "correct it, or say what it is: ",
        Assignment("special", {name: "…"}),
        " for a code such as not applicable, ",
        Assignment("na", ["…"]),
        " for a missing value, ",
        Assignment("nominal", [name]),
        " if the column holds categories",
    )


def _check_cell(name: str, position: int, *what: object) -> NoReturn:
    where = f"column {name!r}, row {position + 1} (header not counted): "
    raise InputError(sentence(where, *what, "."))


def _may_be_more_than_text(
    column: pa.ChunkedArray, name: str, settings: ColumnSettings, dates: str | None = None
) -> bool:
    """Check by the first cells if full inference is needed; most columns of text need none."""
    pattern = f"{NUMBER}|{DAY}|{MOMENT}|{TRUTH}" + (f"|{cells_of_pattern(dates)}" if dates else "")
    apart = {*settings.na, *map(str, settings.special.get(name, ()))}
    for cell in column.slice(0, 100).to_pylist():
        text = (cell or "").strip()
        if text and text not in apart and not re.match(MARKER, text):
            return re.match(pattern, text) is not None
    return True
