"""Columns of locale numbers in text files: detected, and held in plain spelling in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.text.dialect import Dialect
from microagg.sentences import Assignment, sentence
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text, means_numbers
from microagg.table.columns.fast_inference import has_sign, plain_numbers
from microagg.table.columns.field_metadata import GROUPED, MARKER_OR_EMPTY, Pattern
from microagg.table.columns.locale_numbers import Style, matching, spelled_otherwise
from microagg.table.columns.text_inference import quasi_column
from microagg.table.columns.text_masks import NUMBER
from microagg.table.columns.text_options import cells_of_pattern
from microagg.table.schema import ColumnSettings, Kind

LIKE_DATES = r"^\d{1,2}([./-])\d{1,2}[./-](\d{4}|\d{2})$|^\d{4}([./])\d{1,2}[./]\d{1,2}$"


@dataclass(frozen=True)
class Spelled:
    """Column whose numbers are in plain spelling."""

    column: pa.ChunkedArray
    grouped: bool = False
    """True if their digits were in groups."""
    numbers: pa.ChunkedArray | None = None
    """Numbers that `quasi_column` makes of it, if they are available and the user declares nothing
    else.
    """
    wrong: int = -1
    """Index of the first cell that is a plain number, but none in the file's style; -1 if there is
    none. Then nothing is changed.
    """


def in_plain_spelling(
    name: str, column: pa.ChunkedArray, dialect: Dialect, settings: ColumnSettings
) -> Spelled:
    """Convert the numbers of a text column from the file's style to plain spelling; others are
    kept.

    >>> german = Dialect(decimal=",", thousands=".")
    >>> spelled = in_plain_spelling(
    ...     "income", pa.chunked_array([["1.200,50", "NA"]]), german, ColumnSettings()
    ... )
    >>> spelled.column.to_pylist(), spelled.grouped
    (['1200.50', 'NA'], True)
    """
    style = dialect.style
    if style.is_plain or name in settings.levels:
        return Spelled(column)
    numbers = plain_numbers(column)
    # digits alone are numbers in every style
    if numbers is not None and pa.types.is_integer(numbers.type):
        return Spelled(column, numbers=numbers)
    others = {".", style.thousands} - {style.decimal, ""}
    if not any(has_sign(column, sign) for sign in others):
        plain = style.plain(column)
        numbers = plain_numbers(plain)
        if numbers is not None:  # mostly nothing else is in it
            return Spelled(plain, numbers=numbers)
    trimmed = pc.utf8_trim_whitespace(column)
    mine = matching(trimmed, style.pattern)
    other = pc.and_(matching(trimmed, NUMBER), pc.invert(mine))
    if dialect.dates is not None:
        other = pc.and_(other, pc.invert(matching(trimmed, cells_of_pattern(dialect.dates))))
    wrong = pc.index(other, True).as_py()
    if wrong >= 0 or not pc.any(mine).as_py():
        return Spelled(column, wrong=wrong)
    numbers = pc.if_else(mine, trimmed, pa.scalar(None, column.type))
    return Spelled(pc.if_else(mine, style.plain(trimmed), column), style.groups(numbers))


def with_groups(field: pa.Field, spelled: Spelled) -> pa.Field:
    """Return a field of numbers whose metadata records grouped digits."""
    return (
        field.with_metadata({**(field.metadata or {}), GROUPED: b"yes"})
        if spelled.grouped
        else field
    )


def quasi_column_in(
    name: str, column: pa.ChunkedArray, settings: ColumnSettings, dialect: Dialect
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Type a quasi-identifying column of a file in this dialect (see `quasi_column`).

    Ambiguous numbers are refused unless they are declared as categories: neither guessed nor taken
    for text.
    """
    kind = settings.kinds.get(name)
    spelled = in_plain_spelling(name, column, dialect, settings)
    if spelled.wrong >= 0 and kind in (None, Kind.NUMERIC):
        _check_other_style(name, spelled.wrong, dialect)
    if spelled.numbers is not None and kind in (None, Kind.NUMERIC) and not settings.na:
        return pa.field(name, spelled.numbers.type), spelled.numbers
    try:
        field, made = quasi_column(name, spelled.column, settings, dialect.dates)
    except InputError:
        _check_unclear(name, column, settings)
        raise
    if not is_text(made.type) or means_numbers(field):
        return with_groups(field, spelled), made
    if kind is None:
        _check_unclear(name, column, settings)
    if spelled.column is column:
        return field, made
    return quasi_column(name, column, settings, dialect.dates)  # categories stay to the letter


def in_plain_terms(written: pa.Table, table: pa.Table, options: Mapping[str, Any]) -> pa.Table:
    """Convert the numbers and dates of a text file that was read back to plain spelling, by its
    table.

    >>> written = pa.table({"wage": ["1,5"], "town": ["1,5"]})
    >>> in_plain_terms(
    ...     written, pa.table({"wage": [1.5], "town": ["1,5"]}), {"decimal": ","}
    ... ).to_pylist()
    [{'wage': '1.5', 'town': '1,5'}]
    """
    style, dates = (
        Style(options.get("decimal") or ".", options.get("thousands") or ""),
        options.get("dates"),
    )
    for index, field in enumerate(table.schema):
        column = written.column(index)
        if not is_text(column.type):
            continue
        numbers = (
            pa.types.is_integer(field.type)
            or pa.types.is_floating(field.type)
            or pa.types.is_decimal(field.type)
        )
        if not style.is_plain and (numbers or means_numbers(field)):
            mine = matching(column, style.pattern)
            written = written.set_column(
                index, field.name, pc.if_else(mine, style.plain(column), column)
            )
        elif (
            dates is not None
            and pa.types.is_temporal(field.type)
            and Pattern(declared=dates).fits(field.type)
        ):
            moments = pc.strptime(column, format=dates, unit="s", error_is_null=True)
            written = written.set_column(index, field.name, pc.cast(moments, field.type))
    return written


def _check_other_style(name: str, position: int, dialect: Dialect) -> NoReturn:
    sign = "." if dialect.decimal == "," else ","
    raise InputError(
        sentence(
            f"column {name!r}, row {position + 1} (header not counted): a number that is not "
            "spelled as ",
            Assignment("decimal", dialect.style.decimal),
            " says; say ",
            Assignment("thousands", sign),
            " if that groups digits, or ",
            Assignment("nominal", [name]),
            " if the column holds categories.",
        )
    )


def _check_unclear(name: str, column: pa.ChunkedArray, settings: ColumnSettings) -> None:
    """Refuse a column of numbers some of which have signs that plain spelling does not use."""
    if spelled_otherwise(_known(column, settings)):
        text = pc.utf8_trim_whitespace(column)
        odd = pc.and_(matching(text, r"^[+-]?[\d.,]"), pc.invert(matching(text, NUMBER)))
        raise InputError(
            sentence(
                f"column {name!r}, row {pc.index(odd, True).as_py() + 1} (header not counted): "
                "a number with a sign of unknown meaning; say ",
                Assignment("decimal", ","),
                " or ",
                Assignment("thousands", "."),
                " (or another sign), or ",
                Assignment("nominal", [name]),
                " if the column holds categories.",
            )
        )


def _known(column: pa.ChunkedArray, settings: ColumnSettings) -> pa.ChunkedArray:
    """Return the cells that are not missing, if the first ones look like numbers at all."""
    first = [cell.strip() for cell in column.slice(0, 100).to_pylist() if cell]
    if not any(re.match(r"[+-]?[\d.,][\d.,'\s]*$", cell) for cell in first):
        return column.slice(0, 0)
    text = pc.drop_null(pc.utf8_trim_whitespace(column))
    gone = pc.or_(
        pc.match_substring_regex(text, MARKER_OR_EMPTY),
        pc.is_in(text, value_set=pa.array(settings.na, pa.string())),
    )
    return pc.filter(text, pc.invert(gone))


def looks_like_dates(column: pa.ChunkedArray) -> bool:
    """Check if texts look like dates, but are not by ISO 8601.

    >>> (
    ...     looks_like_dates(pa.chunked_array([["31.12.2024", None]])),
    ...     looks_like_dates(pa.chunked_array([["2024-12-31"]])),
    ... )
    (True, False)
    """
    if not is_text(column.type):
        return False
    first = [cell.strip() for cell in column.slice(0, 1000).to_pylist() if cell and cell.strip()]
    return bool(first) and all(re.match(LIKE_DATES, cell) for cell in first)
