"""Metadata of columns of files without types, by which they are understood and written as read.

It is stored in Arrow fields under our own keys. It stays in memory: csv files are written by it,
other files without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import NUMBERS_AS_TEXT, OURS
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.text_options import has_clock
from microagg.table.columns.text_types import TYPED_AS, TextType

_MARKERS = r"na|n/a|nan|null|\."
MARKER = rf"(?i)^({_MARKERS})$"
"""Pattern of markers of missing values in columns of numbers or dates; in other text they may be
values.
"""
MARKER_OR_EMPTY = rf"(?i)^\s*(|{_MARKERS})\s*$"
"""The same in text with blanks around it, or nothing at all."""

MISSING = OURS + b"-missing"
"""Key of the text of a missing cell."""
PATTERN = OURS + b"-pattern"
"""Key of the pattern of dates."""
GAPS = OURS + b"-gaps"
"""Key of text that otherwise holds numbers, codes or dates, and in which NA and the like mean
missing.
"""
GROUPED = OURS + b"-grouped"
"""Key of numbers whose digits are written in groups."""
NOTES = OURS + b"-notes"
"""Key of a table's notes for the user."""
MIXED = OURS + b"-mixed"
"""Key of text that was spelled from cells of several types, as in spreadsheets."""
LIKE_MARKERS = OURS + b"-values-like-markers"
"""Key of text in which NA and the like are values."""


@dataclass(frozen=True)
class Pattern:
    """Pattern of all dates or moments of a column.

    >>> Pattern.of("2024-01-31T12:30:05.25Z", 2)
    Pattern(separator='T', length=22, zone='Z', declared='')
    """

    separator: str = ""
    """Between day and time; empty for days."""
    length: int = 10
    """Length of the text without its zone."""
    zone: str = ""
    declared: str = ""
    """Pattern that the user declared, as for `strftime`, in place of ISO 8601."""

    @staticmethod
    def of(text: str, fraction: int) -> Pattern:
        """Return the pattern of one of the texts, with so many digits after the seconds."""
        zone = re.search(r"(?<=\d)(Z|[+-]\d{2}:?\d{2})$", text[10:])
        local = text[: len(text) - len(zone[0])] if zone else text
        length = len(local.partition(".")[0]) + (1 + fraction if fraction else 0)
        return Pattern(local[10:11], length, zone[0] if zone else "")

    @property
    def type_without_zone(self) -> pa.DataType:
        """Type of days, or of moments in the unit that the digits need."""
        if self.declared:
            return pa.timestamp("s") if has_clock(self.declared) else pa.date32()
        if not self.separator:
            return pa.date32()
        digits = max(0, self.length - len("2024-01-31T12:30:05."))
        return pa.timestamp(
            "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
        )

    @property
    def type(self) -> pa.DataType:
        """Type, with the zone if it is UTC; another fixed offset is kept in the pattern only."""
        plain = self.type_without_zone
        return pa.timestamp(plain.unit, "UTC") if self.zone == "Z" else plain

    def fits(self, kind: pa.DataType) -> bool:
        """Check if values of a type can be written in this pattern."""
        clock = has_clock(self.declared) if self.declared else bool(self.separator)
        return pa.types.is_timestamp(kind) if clock else pa.types.is_date(kind)

    def written(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return dates or moments as text in this pattern.

        >>> Pattern("T", 16, "+01:00").written(
        ...     pa.chunked_array([pa.array([0], pa.timestamp("s"))])
        ... ).to_pylist()
        ['1970-01-01T00:00+01:00']
        """
        if self.declared:
            whole = pa.timestamp("s") if pa.types.is_timestamp(column.type) else pa.date32()
            return pc.strftime(pc.cast(column, whole, safe=False), format=self.declared, locale="C")
        if not self.separator:
            return pc.cast(column, pa.string())
        text = pc.cast(pc.cast(column, pa.timestamp(column.type.unit)), pa.string())
        text = pc.utf8_slice_codeunits(text, 0, self.length)
        text = pc.utf8_replace_slice(text, 10, 11, self.separator)
        return pc.binary_join_element_wise(text, self.zone, "")

    def as_mark(self) -> bytes:
        """Return the pattern as metadata."""
        return json.dumps([self.separator, self.length, self.zone, self.declared]).encode()


def field_metadata(
    *,
    missing: str = "",
    numbers: bool = False,
    pattern: Pattern | None = None,
    markers_are_gaps: bool = False,
    values_like_markers: bool = False,
    grouped: bool = False,
    mixed: bool = False,
    typed: TextType | None = None,
) -> dict[bytes, bytes] | None:
    """Return the metadata of a field; None if it is empty."""
    marks = dict(NUMBERS_AS_TEXT) if numbers else {}
    if missing:
        marks[MISSING] = missing.encode()
    if pattern is not None:
        marks[PATTERN] = pattern.as_mark()
    if markers_are_gaps:
        marks[GAPS] = b"yes"
    if values_like_markers:
        marks[LIKE_MARKERS] = b"yes"
    if grouped:
        marks[GROUPED] = b"yes"
    if mixed:
        marks[MIXED] = b"yes"
    if typed is not None:
        marks[TYPED_AS] = typed.as_mark()
    return marks or None


def missing_mark(field: pa.Field) -> str:
    """Return the text of a missing cell of a column; "" for an empty cell."""
    return (field.metadata or {}).get(MISSING, b"").decode()


def markers_are_gaps(field: pa.Field) -> bool:
    """Check if NA and the like mean missing in a column of text that was kept to the letter.

    >>> markers_are_gaps(
    ...     pa.field("code", pa.string(), metadata=field_metadata(markers_are_gaps=True))
    ... )
    True
    """
    return GAPS in (field.metadata or {})


def groups_digits(field: pa.Field) -> bool:
    """Check if the digits of a column's numbers are written in groups.

    >>> groups_digits(pa.field("income", pa.int64(), metadata=field_metadata(grouped=True)))
    True
    """
    return GROUPED in (field.metadata or {})


def pattern_of(field: pa.Field) -> Pattern | None:
    """Return the pattern of a column's dates, if it has one that still fits its type."""
    mark = (field.metadata or {}).get(PATTERN)
    pattern = None if mark is None else Pattern(*json.loads(mark))
    return pattern if pattern is not None and pattern.fits(field.type) else None


def columns_with_values_like_markers(table: pa.Table) -> list[str]:
    """Return the columns of text in which NA and the like were taken for values, for a note.

    >>> field = pa.field("country", pa.string(), metadata=field_metadata(values_like_markers=True))
    >>> columns_with_values_like_markers(pa.schema([field]).empty_table())
    ['country']
    """
    return [field.name for field in table.schema if LIKE_MARKERS in (field.metadata or {})]


def with_file_fact(table: pa.Table, code: str, **counts: int | str) -> pa.Table:
    """Return the table with counts for a note on its file, by the code of the note.

    >>> file_facts(with_file_fact(pa.table({"age": [31]}), "more-sheets", sheets=2))
    {'more-sheets': {'sheets': 2}}
    """
    facts = {**file_facts(table), code: counts}
    metadata = {**(table.schema.metadata or {}), NOTES: json.dumps(facts).encode()}
    return table.replace_schema_metadata(metadata)


def file_facts(table: Any) -> dict[str, dict[str, int | str]]:
    """Return the counts that the reader of a file left with its table, by codes of notes."""
    metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
    return json.loads(metadata.get(NOTES, b"{}"))


def _of_another_type(
    marks: dict[bytes, bytes], source: pa.Field, made: pa.Field
) -> dict[bytes, bytes]:
    """Return the metadata that a column of another type keeps: text of gaps, valid labels."""
    from microagg.table.columns.labels import LABELS, Labels, labelled, labels_of

    kept = {MISSING: marks[MISSING]} if MISSING in marks else {}
    if LABELS not in marks:
        return kept
    numbers = all(
        pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        for field in (source, made)
    )
    labels = labels_of(source) if numbers else Labels(labels_of(source).label)
    return {**kept, **(labelled(pa.field("", made.type), labels).metadata or {})}


def with_metadata_of(table: pa.Table, source: pa.Table, coarse: Iterable[str] = ()) -> pa.Table:
    """Copy metadata to the columns of a release from those of the original by name.

    Columns in `coarse` hold ranges and the like, which are text in every file.

    >>> given = pa.schema(
    ...     [pa.field("age", pa.int64(), metadata=field_metadata(missing="NA"))]
    ... ).empty_table()
    >>> missing_mark(with_metadata_of(pa.table({"age": [None, 3]}), given).schema.field("age"))
    'NA'
    """
    fields, coarse = [], set(coarse)
    for field in table.schema:
        index = source.schema.get_field_index(field.name)
        marks = {} if index < 0 else dict(source.schema.field(index).metadata or {})
        ours = {name: mark for name, mark in marks.items() if name.startswith(OURS)}
        if index >= 0 and source.schema.field(index).type != field.type:
            ours = _of_another_type(ours, source.schema.field(index), field)
        if field.name in coarse:
            ours.pop(TYPED_AS, None)
        fields.append(field.with_metadata({**(field.metadata or {}), **ours}))
    return table.cast(pa.schema(fields, table.schema.metadata))
