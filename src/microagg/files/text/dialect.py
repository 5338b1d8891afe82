"""Dialect of a text file: options of the user, detected properties, and notes on uncertain ones."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import ReadingWarning
from microagg.sentences import Assignment, sentence
from microagg.table.columns.arrow import OURS
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.fast_inference import at_once, cast_or_none, has_sign, plain_numbers
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY
from microagg.table.columns.locale_numbers import Signs, Style, signs_in, signs_of_numbers
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK
from microagg.table.schema import ColumnSettings

DIALECT = OURS + b"-dialect"
"""Key of the metadata of a table that was read from a text file, for its dialect."""
NAMES = {"cp1252": "CP1252 (Latin-1)", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


@dataclass(frozen=True)
class Dialect:
    """Dialect of a text file. Properties neither given nor detected are None.

    >>> Dialect(delimiter=";", decimal=",").options
    {'delimiter': ';', 'encoding': 'utf-8', 'line_end': 'lf', 'decimal': ','}
    """

    delimiter: str = ","
    encoding: str = UTF8
    line_end: str = "lf"
    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None

    @property
    def style(self) -> Style:
        """Spelling of its numbers. Points that group digits leave the comma for decimals."""
        return Style(self.decimal or ("," if self.thousands == "." else "."), self.thousands or "")

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that write a file alike. Patterns of dates are kept by column."""
        fields = {
            **vars(self),
            "decimal": None if self.decimal is None and not self.thousands else self.style.decimal,
        }
        return {
            name: value for name, value in fields.items() if value is not None and name != "dates"
        }

    def put_on(self, table: pa.Table) -> pa.Table:
        """Return the table with this dialect in its metadata."""
        return table.replace_schema_metadata(
            {**(table.schema.metadata or {}), DIALECT: json.dumps(vars(self)).encode()}
        )


def dialect_of(table: pa.Table) -> Dialect | None:
    """Return the dialect of the file that a table was read from; None if it was no text.

    >>> dialect_of(Dialect(delimiter=";").put_on(pa.table({"age": ["31"]}))).delimiter
    ';'
    """
    mark = (table.schema.metadata or {}).get(DIALECT)
    return None if mark is None else Dialect(**json.loads(mark))


def tell(notes: list[str]) -> None:
    """Issue notes on a file that was read as warnings."""
    for note in notes:
        warnings.warn(note, ReadingWarning, stacklevel=3)


def note_on_encoding(path: Path, encoding: str) -> list[str]:
    """Return a note on the detected encoding, unless it is the usual one."""
    if encoding in (UTF8, UTF8_WITH_MARK):
        return []
    name = NAMES.get(encoding, encoding)
    return [
        sentence(
            f"{path.name} is not in UTF-8 and was read as {name}; say ",
            Assignment("encoding", encoding),
            " to settle it",
        )
    ]


def with_signs_found(
    dialect: Dialect, table: pa.Table, settings: ColumnSettings
) -> tuple[Dialect, list[str]]:
    """Return the dialect with its decimal sign detected, and notes on that.

    It is detected only if it is not given and columns are not separated by commas. Commas that can
    only be decimal signs are taken as such, with a note. Ambiguous numbers are read in plain style,
    with a note.
    """
    if not asks_for_signs(dialect):
        return dialect, []
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    looks = at_once(lambda name: signs_of(table.column(name), settings), texts, table.num_rows)
    return with_signs(dialect, dict(zip(texts, looks, strict=True)))


def asks_for_signs(dialect: Dialect) -> bool:
    """Check if the decimal sign of a file is to be detected."""
    return dialect.decimal is None and dialect.thousands is None and dialect.delimiter != ","


def with_signs(dialect: Dialect, signs: Mapping[str, Signs]) -> tuple[Dialect, list[str]]:
    """Return the dialect with its decimal sign, and notes, from the signs of each column."""
    commas = [name for name, column_signs in signs.items() if column_signs.comma]
    points = [name for name, column_signs in signs.items() if column_signs.point]
    unclear = [name for name, column_signs in signs.items() if column_signs.unclear]
    if commas and points:
        note = sentence(
            f"numbers of {_columns(commas)} have decimal commas and those of "
            f"{_columns(points)} decimal points; only the points were taken for such: say ",
            Assignment("decimal", ","),
            " or ",
            Assignment("decimal", "."),
            " to settle it",
        )
        return dialect, [note]
    if commas:
        groups = any(column_signs.groups for column_signs in signs.values())
        also = " and points that group digits" if groups else ""
        signs_of_groups = (" with ", Assignment("thousands", ".")) if groups else ()
        note = sentence(
            f"numbers of {_columns(commas)} have decimal commas{also}, and all were read so; say ",
            Assignment("decimal", ","),
            *signs_of_groups,
            " to settle it",
        )
        return replace(dialect, decimal=",", thousands="." if groups else None), [note]
    notes = []
    for sign, word, other in ((".", "point", ","), (",", "comma", ".")):
        some = [name for name in unclear if signs[name].unclear == sign]
        if some and not (sign == "." and points):
            taken = "read as decimals" if sign == "." else "left as text"
            notes.append(
                sentence(
                    f"numbers of {_columns(some)} have a {word} and three digits behind it: "
                    f"thousands or decimals? They were {taken}; say ",
                    Assignment("decimal", sign),
                    ", or ",
                    Assignment("decimal", other),
                    " with ",
                    Assignment("thousands", sign),
                )
            )
    return dialect, notes


def signs_of(column: pa.ChunkedArray, settings: ColumnSettings) -> Signs:
    """Return the signs in the numbers of a column, gaps aside."""
    if not _may_be_numbers(column, settings) or cast_or_none(column, pa.int64()) is not None:
        return Signs()
    present = [sign for sign in ".," if has_sign(column, sign)]
    if not present:
        return Signs()
    if len(present) == 1:  # mostly nothing else is in it, which is soon seen
        plain = column if present == ["."] else pc.replace_substring(column, ",", ".")
        if plain_numbers(plain) is not None:
            return signs_of_numbers(pc.drop_null(column), present[0])
    text = pc.drop_null(pc.utf8_trim_whitespace(column))
    gone = pc.or_(
        pc.match_substring_regex(text, MARKER_OR_EMPTY),
        pc.is_in(text, value_set=pa.array(settings.na, pa.string())),
    )
    return signs_in(pc.filter(text, pc.invert(gone)))


def _may_be_numbers(column: pa.ChunkedArray, settings: ColumnSettings) -> bool:
    """Check by the first cells if a column may hold numbers; most columns of text cannot."""
    cells = [cell.strip() for cell in column.slice(0, 100).to_pylist() if cell]
    return all(
        cell[:1] in "+-.,0123456789"
        or cell in settings.na
        or cell.lower() in ("na", "n/a", "nan", "null")
        for cell in cells
    )


def _columns(names: list[str]) -> str:
    some = ", ".join(map(repr, names[:3]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"column{'s' if len(names) > 1 else ''} {some}{more}"
