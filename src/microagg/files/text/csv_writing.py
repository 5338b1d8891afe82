"""Writing of text columns as they were read: their markers, patterns of dates and number styles."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from microagg.errors import InputError
from microagg.files.text.quoting import MARKERS
from microagg.sentences import Assignment, sentence
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text, means_numbers
from microagg.table.columns.field_metadata import Pattern, groups_digits, missing_mark, pattern_of
from microagg.table.columns.locale_numbers import Style
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK
from microagg.table.columns.text_types import text_type_of

LINES_AT_ONCE = 1 << 16
MARKS = {
    UTF8_WITH_MARK: codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-16": codecs.BOM_UTF16_LE,
    "utf-32": codecs.BOM_UTF32_LE,
}
"""Byte order marks by encoding."""
CODECS = {UTF8_WITH_MARK: UTF8, "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class TextSink:
    """A text file that is being written: UTF-8 goes in, what comes out is in its encoding, packed
    or not, the same on every machine.
    """

    def __init__(self, path: Path, packing: str, encoding: str) -> None:
        self.encoding = encoding
        self._codec = CODECS.get(encoding, encoding)
        self._open = contextlib.ExitStack()
        self._out: Any = self._open.enter_context(pa.OSFile(str(path), "wb"))
        if packing:  # Arrow writes no time stamp
            self._out = self._open.enter_context(pa.CompressedOutputStream(self._out, packing))

    @property
    def is_plain(self) -> bool:
        """True if the bytes are written unchanged."""
        return self.encoding == UTF8

    def write(self, lines: memoryview) -> None:
        """Write whole lines."""
        self._out.write(lines if self._codec == UTF8 else str(lines, UTF8).encode(self._codec))

    def begin(self) -> None:
        """Write the byte order mark."""
        self._out.write(MARKS.get(self.encoding, b""))

    def write_table(self, table: pa.Table, delimiter: str) -> None:
        """Write a whole table as Arrow does."""
        arrow_csv.write_csv(table, self._out, arrow_csv.WriteOptions(delimiter=delimiter))

    def __enter__(self) -> TextSink:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()


def check_other_letters(table: pa.Table, encoding: str) -> None:
    """Refuse a table with letters that an encoding does not have, before anything is written.

    >>> check_other_letters(pa.table({"town": ["Köln"]}), "cp1252")
    """
    codec = CODECS.get(encoding, encoding)
    if codec.startswith("utf"):
        return
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        texts = [name, *(pc.unique(column).to_pylist() if is_text(column.type) else ())]
        try:
            "".join(text for text in texts if text).encode(codec)
        except UnicodeError:
            raise InputError(
                sentence(
                    f"column {name!r} has letters that {encoding} does not have; say ",
                    Assignment("writing", {"encoding": "utf-8"}),
                    ".",
                )
            ) from None


def as_they_were_read(
    table: pa.Table, style: Style | None = None, dates: str | None = None
) -> tuple[pa.Table, set[int], dict[int, str]]:
    """Convert columns to text where a marker, a pattern or a number style requires it.

    Returns the table, the indices of columns whose text has no quotes, and by index the marker of
    missing cells without quotes in columns of quoted text.

    >>> from microagg.table.columns.field_metadata import field_metadata
    >>> ages = pa.field("age", pa.int64(), metadata=field_metadata(missing="NA"))
    >>> table, bare, gaps = as_they_were_read(
    ...     pa.table({"age": [30, None]}, schema=pa.schema([ages]))
    ... )
    >>> table.column("age").to_pylist(), bare
    (['30', 'NA'], {0})
    """
    bare, gaps, style = set(), {}, style or Style()
    for index, field in enumerate(table.schema):
        column = table.column(index)
        marker, pattern = missing_mark(field), _pattern(field, dates)
        shown = bool(marker) and column.null_count > 0
        spelled = _is_respelled(field, style)
        if text_type_of(field) is not None:  # numbers, and true and false, go without quotes
            bare.add(index)
        if not shown and not spelled and pattern is None:
            continue
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if not is_text(column.type):
            bare.add(index)
            column = pc.cast(column, pa.string()) if pattern is None else pattern.written(column)
        if spelled:
            column = style.spelled(column, grouped=groups_digits(field))
        if shown and has_unquoted_gaps(field):
            gaps[index] = marker
        elif shown:
            column = pc.fill_null(column, marker)
        table = table.set_column(index, field.name, column)
    return table, bare, gaps


def has_unquoted_gaps(field: pa.Field) -> bool:
    """Return whether missing cells of a column of quoted text are written as a marker without
    quotes: in quotes it would be a value.
    """
    kind: Any = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return is_text(kind) and missing_mark(field) in MARKERS and text_type_of(field) is None


def places_of_unquoted_gaps(schema: pa.Schema) -> tuple[int, ...]:
    """Return the indices of columns with unquoted gaps."""
    return tuple(index for index, field in enumerate(schema) if has_unquoted_gaps(field))


def _pattern(field: pa.Field, dates: str | None) -> Pattern | None:
    """Return the pattern of a column's dates: the declared one if it fits the type, else the
    original.
    """
    declared = None if dates is None else Pattern(declared=dates)
    return declared if declared is not None and declared.fits(field.type) else pattern_of(field)


def _is_respelled(field: pa.Field, style: Style) -> bool:
    """Check if the numbers of a column are not spelled in plain style."""
    kind = field.type
    grouped = bool(style.thousands) and groups_digits(field)
    if is_text(kind):
        return means_numbers(field) and (style.decimal != "." or grouped)
    parts = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return (parts and style.decimal != ".") or ((parts or pa.types.is_integer(kind)) and grouped)


def has_empty_lines(table: pa.Table) -> bool:
    """Check if a record would be an empty line, which readers skip: a gap in the only column.

    >>> (
    ...     has_empty_lines(pa.table({"age": [30, None]})),
    ...     has_empty_lines(pa.table({"age": [30, None], "sex": [1, 2]})),
    ... )
    (True, False)
    """
    return table.num_columns == 1 and table.column(0).null_count > 0


def write_header(names: Sequence[str], sink: TextSink, delimiter: str, line_end: str) -> None:
    """Write the byte order mark and the names of columns."""
    check_other_letters(
        pa.schema([(name, pa.string()) for name in names]).empty_table(), sink.encoding
    )
    sink.begin()
    sink.write(_lines([_quoted(pa.array([name])) for name in names], delimiter, line_end))


def write_lines(
    table: pa.Table,
    sink: TextSink,
    delimiter: str,
    bare: set[int],
    line_end: str = "\n",
    gaps: Mapping[int, str] = {},
) -> None:
    """Write the records of a text file as Arrow does, but the columns in `bare` without quotes.

    `gaps` are written for missing cells of other columns, also without quotes. In the only column
    of a table a gap is a pair of quotes.
    """
    check_other_letters(table, sink.encoding)
    alone = table.num_columns == 1
    for batch in table.to_batches(max_chunksize=LINES_AT_ONCE):
        cells = [
            _where_needed(column, delimiter)
            if index in bare
            else _cells(column, gaps.get(index, ""))
            for index, column in enumerate(batch.columns)
        ]
        if alone:
            cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
        sink.write(_lines(cells, delimiter, line_end))


def _cells(column: pa.Array, gap: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if is_text(column.type):
        return _quoted(column, gap)
    return pc.fill_null(pc.cast(column, pa.large_string()), "")


def _quoted(text: pa.Array, gap: str = "") -> pa.Array:
    doubled = pc.replace_substring(pc.cast(text, pa.large_string()), '"', '""')
    quote, nothing = (pa.scalar(value, pa.large_string()) for value in ('"', ""))
    return pc.fill_null(pc.binary_join_element_wise(quote, doubled, quote, nothing), gap)


def _where_needed(text: pa.Array, delimiter: str) -> pa.Array:
    text = pc.fill_null(pc.cast(text, pa.large_string()), "")
    needed = pc.match_substring(text, delimiter)
    for mark in ('"', "\n", "\r"):
        needed = pc.or_(needed, pc.match_substring(text, mark))
    return pc.if_else(needed, _quoted(text), text)


def _lines(cells: list[pa.Array], delimiter: str, line_end: str) -> memoryview:
    """Return the cells of some records as bytes, one line per record."""
    between, end = (pa.scalar(value, pa.large_string()) for value in (delimiter, line_end))
    lines = pc.binary_join_element_wise(*cells, between)
    ended = pc.binary_join_element_wise(lines, pa.scalar("", pa.large_string()), end)
    _, offsets, letters = ended.buffers()
    first, last = (
        memoryview(offsets).cast("q")[index] for index in (ended.offset, ended.offset + len(ended))
    )
    return memoryview(letters or b"")[first:last]
