"""What a column of a file without types carries along besides its values, so that it is understood
and written as it was read.

Marks are metadata of an Arrow field under names of ours. They stay in memory: a csv file is written
by them, other files without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import NUMBERS_AS_TEXT, OURS
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.text_options import has_clock
from microagg.table.columns.text_types import TYPED_AS, TextType

_MARKERS = r"na|n/a|nan|null|\."
MARKER = rf"(?i)^({_MARKERS})$"
"""What stands for a missing value in a column that otherwise holds numbers or dates; in other text
it may be a value.
"""
MARKER_OR_EMPTY = rf"(?i)^\s*(|{_MARKERS})\s*$"
"""The same in text with blanks around it, or nothing at all."""

MISSING = OURS + b"-missing"
"""What a missing cell is written as."""
PATTERN = OURS + b"-pattern"
"""How dates are written."""
GAPS = OURS + b"-gaps"
"""Of text to the letter that otherwise holds numbers, codes or dates: that NA and the like mean
missing there.
"""
GROUPED = OURS + b"-grouped"
"""Of numbers: that their digits are written in groups."""
NOTES = OURS + b"-notes"
"""Of a whole table: what its reader has to tell."""
MIXED = OURS + b"-mixed"
"""Of text: that it was spelled from cells of several types, as spreadsheets have them."""
LIKE_MARKERS = OURS + b"-values-like-markers"
"""Of text: that NA and the like are values there."""


@dataclass(frozen=True)
class Pattern:
    """How the dates or moments of a column are written, all alike.

    >>> Pattern.of("2024-01-31T12:30:05.25Z", 2)
    Pattern(separator='T', length=22, zone='Z', told='')
    """

    separator: str = ""
    """Between day and time; empty for days."""
    length: int = 10
    """Of the text without its zone."""
    zone: str = ""
    told: str = ""
    """The pattern that somebody told, as `strftime` has it, in place of ISO 8601."""

    @staticmethod
    def of(text: str, fraction: int) -> Pattern:
        """The pattern of one of the texts, with so many digits after the seconds."""
        zone = re.search(r"(?<=\d)(Z|[+-]\d{2}:?\d{2})$", text[10:])
        local = text[: len(text) - len(zone[0])] if zone else text
        length = len(local.partition(".")[0]) + (1 + fraction if fraction else 0)
        return Pattern(local[10:11], length, zone[0] if zone else "")

    @property
    def type_without_zone(self) -> pa.DataType:
        """The type of days, or of moments in the unit that the digits need."""
        if self.told:
            return pa.timestamp("s") if has_clock(self.told) else pa.date32()
        if not self.separator:
            return pa.date32()
        digits = max(0, self.length - len("2024-01-31T12:30:05."))
        return pa.timestamp(
            "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
        )

    @property
    def type(self) -> pa.DataType:
        """The type, with the zone if that is UTC; a fixed distance from it is kept in the pattern
        alone.
        """
        plain = self.type_without_zone
        return pa.timestamp(plain.unit, "UTC") if self.zone == "Z" else plain

    def fits(self, kind: pa.DataType) -> bool:
        """Whether values of this type can be written so."""
        clock = has_clock(self.told) if self.told else bool(self.separator)
        return pa.types.is_timestamp(kind) if clock else pa.types.is_date(kind)

    def written(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Dates or moments as text in this pattern.

        >>> Pattern("T", 16, "+01:00").written(pa.chunked_array([pa.array([0], pa.timestamp("s"))])).to_pylist()
        ['1970-01-01T00:00+01:00']
        """
        if self.told:
            whole = pa.timestamp("s") if pa.types.is_timestamp(column.type) else pa.date32()
            return pc.strftime(pc.cast(column, whole, safe=False), format=self.told, locale="C")
        if not self.separator:
            return pc.cast(column, pa.string())
        text = pc.cast(pc.cast(column, pa.timestamp(column.type.unit)), pa.string())
        text = pc.utf8_slice_codeunits(text, 0, self.length)
        text = pc.utf8_replace_slice(text, 10, 11, self.separator)
        return pc.binary_join_element_wise(text, self.zone, "")

    def as_mark(self) -> bytes:
        """What metadata hold."""
        return json.dumps([self.separator, self.length, self.zone, self.told]).encode()


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
    """The metadata of a field that carries these marks; None if there are none."""
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
    """What a missing cell of a column is written as; "" for an empty cell."""
    return (field.metadata or {}).get(MISSING, b"").decode()


def markers_are_gaps(field: pa.Field) -> bool:
    """Whether NA and the like mean missing in a column of text that was left to the letter.

    >>> markers_are_gaps(pa.field("code", pa.string(), metadata=field_metadata(markers_are_gaps=True)))
    True
    """
    return GAPS in (field.metadata or {})


def groups_digits(field: pa.Field) -> bool:
    """Whether the numbers of a column are written with their digits in groups.

    >>> groups_digits(pa.field("income", pa.int64(), metadata=field_metadata(grouped=True)))
    True
    """
    return GROUPED in (field.metadata or {})


def pattern_of(field: pa.Field) -> Pattern | None:
    """How the dates of a column are written, where that is known and its type still is one of
    dates.
    """
    mark = (field.metadata or {}).get(PATTERN)
    pattern = None if mark is None else Pattern(*json.loads(mark))
    return pattern if pattern is not None and pattern.fits(field.type) else None


def columns_with_values_like_markers(table: pa.Table) -> list[str]:
    """The columns of text in which NA and the like were taken for values: to be told.

    >>> field = pa.field("country", pa.string(), metadata=field_metadata(values_like_markers=True))
    >>> columns_with_values_like_markers(pa.schema([field]).empty_table())
    ['country']
    """
    return [field.name for field in table.schema if LIKE_MARKERS in (field.metadata or {})]


def with_notes(table: pa.Table, notes: Sequence[str]) -> pa.Table:
    """A table with something to tell about the file it was read from; never about its values.

    >>> notes_of(with_notes(pa.table({"age": [31]}), ["there is another sheet"]))
    ('there is another sheet',)
    """
    told = [*notes_of(table), *notes]
    return table.replace_schema_metadata(
        {**(table.schema.metadata or {}), NOTES: json.dumps(told).encode()}
    )


def notes_of(table: Any) -> tuple[str, ...]:
    """What the reader of a table has told of its file; nothing of tables that were not read."""
    metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
    return tuple(json.loads(metadata.get(NOTES, b"[]")))


def _of_another_type(
    marks: dict[bytes, bytes], source: pa.Field, made: pa.Field
) -> dict[bytes, bytes]:
    """What a column of another type keeps: how a gap is written, and the labels that still say
    something of it.
    """
    from microagg.table.columns.labels import LABELS, Labels, labelled, labels_of

    kept = {MISSING: marks[MISSING]} if MISSING in marks else {}
    if LABELS not in marks:
        return kept
    numbers = all(
        pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in (source, made)
    )
    labels = labels_of(source) if numbers else Labels(labels_of(source).label)
    return {**kept, **(labelled(pa.field("", made.type), labels).metadata or {})}


def with_metadata_of(table: pa.Table, source: pa.Table, coarse: Iterable[str] = ()) -> pa.Table:
    """A table with the marks that the columns of another one have under the same names: those of
    a release like the original's.

    Columns that are `coarse` hold ranges and the like, which are text in every file.

    >>> given = pa.schema([pa.field("age", pa.int64(), metadata=field_metadata(missing="NA"))]).empty_table()
    >>> missing_mark(with_metadata_of(pa.table({"age": [None, 3]}), given).schema.field("age"))
    'NA'
    """
    fields, coarse = [], set(coarse)
    for field in table.schema:
        place = source.schema.get_field_index(field.name)
        marks = {} if place < 0 else dict(source.schema.field(place).metadata or {})
        ours = {name: mark for name, mark in marks.items() if name.startswith(OURS)}
        if place >= 0 and source.schema.field(place).type != field.type:
            ours = _of_another_type(ours, source.schema.field(place), field)
        if field.name in coarse:
            ours.pop(TYPED_AS, None)
        fields.append(field.with_metadata({**(field.metadata or {}), **ours}))
    return table.cast(pa.schema(fields, table.schema.metadata))
