"""The dialect of a text file: what was said of it, what was found out, and what to tell where that
is not certain.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import ReadingWarning
from microagg.table.columns.arrow import OURS
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.fast_inference import at_once, cast_or_none, has_sign, plain_numbers
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY
from microagg.table.columns.locale_numbers import Signs, Style, signs_in, signs_of_numbers
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK
from microagg.table.schema import ColumnSettings

DIALECT = OURS + b"-dialect"
"""Of a table that was read from a text file: how that file is written."""
NAMES = {"cp1252": "CP1252 (Latin-1)", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


@dataclass(frozen=True)
class Dialect:
    """How a text file is written. What nobody said and nothing tells is None.

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
        """How its numbers are spelled. Points that group digits leave the comma for decimals."""
        return Style(self.decimal or ("," if self.thousands == "." else "."), self.thousands or "")

    @property
    def options(self) -> dict[str, Any]:
        """The options with which a file is written alike. Patterns of dates are kept column by
        column.
        """
        known = {
            **vars(self),
            "decimal": None if self.decimal is None and not self.thousands else self.style.decimal,
        }
        return {
            name: value for name, value in known.items() if value is not None and name != "dates"
        }

    def put_on(self, table: pa.Table) -> pa.Table:
        """The table, which remembers its dialect."""
        return table.replace_schema_metadata(
            {**(table.schema.metadata or {}), DIALECT: json.dumps(vars(self)).encode()}
        )


def dialect_of(table: pa.Table) -> Dialect | None:
    """The dialect of the file that a table was read from; None if it was no text.

    >>> dialect_of(Dialect(delimiter=";").put_on(pa.table({"age": ["31"]}))).delimiter
    ';'
    """
    mark = (table.schema.metadata or {}).get(DIALECT)
    return None if mark is None else Dialect(**json.loads(mark))


def tell(notes: list[str]) -> None:
    """Warn of what whoever reads a file should know, once it is read."""
    for note in notes:
        warnings.warn(note, ReadingWarning, stacklevel=3)


def note_on_encoding(path: Path, encoding: str) -> list[str]:
    """Which encoding was found out, unless it is the usual one."""
    if encoding in (UTF8, UTF8_WITH_MARK):
        return []
    found = NAMES.get(encoding, encoding)
    return [
        f"{path.name} is not in UTF-8 and was read as {found}; say encoding={encoding!r} "
        f"to settle it"
    ]


def with_signs_found(
    dialect: Dialect, table: pa.Table, asked: ColumnSettings
) -> tuple[Dialect, list[str]]:
    """The dialect with its decimal sign found out, where nobody said it and columns are not
    separated by commas; and notes on that.

    Commas that can only be decimal ones make it the comma, and that is told. Where numbers can be
    read in two ways, they are read as programs write them, and that is told, too. What is certain
    needs no word.
    """
    if not asks_for_signs(dialect):
        return dialect, []
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    looks = at_once(lambda name: signs_of(table.column(name), asked), texts, table.num_rows)
    return with_signs(dialect, dict(zip(texts, looks, strict=True)))


def asks_for_signs(dialect: Dialect) -> bool:
    """Whether the columns of a file are to tell its decimal sign."""
    return dialect.decimal is None and dialect.thousands is None and dialect.delimiter != ","


def with_signs(dialect: Dialect, signs: Mapping[str, Signs]) -> tuple[Dialect, list[str]]:
    """The same from what each column tells."""
    commas = [name for name, found in signs.items() if found.comma]
    points = [name for name, found in signs.items() if found.point]
    unclear = [name for name, found in signs.items() if found.unclear]
    if commas and points:
        note = (
            f"numbers of {_columns(commas)} have decimal commas and those of "
            f"{_columns(points)} decimal points; only the points were "
            "taken for such: say decimal=',' or decimal='.' to settle it"
        )
        return dialect, [note]
    if commas:
        groups = any(found.groups for found in signs.values())
        also = " and points that group digits" if groups else ""
        say = "decimal=',' with thousands='.'" if groups else "decimal=','"
        note = (
            f"numbers of {_columns(commas)} have decimal commas{also}, and all were read so; "
            f"say {say} to settle it"
        )
        return replace(dialect, decimal=",", thousands="." if groups else None), [note]
    notes = []
    for sign, word, other in ((".", "point", ","), (",", "comma", ".")):
        some = [name for name in unclear if signs[name].unclear == sign]
        if some and not (sign == "." and points):
            taken = "read as decimals" if sign == "." else "left as text"
            notes.append(
                f"numbers of {_columns(some)} have a {word} and three digits behind it: "
                f"thousands or decimals? They were {taken}; "
                f"say decimal={sign!r}, or decimal={other!r} with thousands={sign!r}"
            )
    return dialect, notes


def signs_of(column: pa.ChunkedArray, asked: ColumnSettings) -> Signs:
    """What the numbers of a column tell, its gaps aside."""
    if not _may_be_numbers(column, asked) or cast_or_none(column, pa.int64()) is not None:
        return Signs()
    there = [sign for sign in ".," if has_sign(column, sign)]
    if not there:
        return Signs()
    if len(there) == 1:  # mostly nothing else is in it, which is soon seen
        plain = column if there == ["."] else pc.replace_substring(column, ",", ".")
        if plain_numbers(plain) is not None:
            return signs_of_numbers(pc.drop_null(column), there[0])
    text = pc.drop_null(pc.utf8_trim_whitespace(column))
    gone = pc.or_(
        pc.match_substring_regex(text, MARKER_OR_EMPTY),
        pc.is_in(text, value_set=pa.array(asked.na, pa.string())),
    )
    return signs_in(pc.filter(text, pc.invert(gone)))


def _may_be_numbers(column: pa.ChunkedArray, asked: ColumnSettings) -> bool:
    """Whether it is worth a look: most columns of text are told by their first cells."""
    cells = [cell.strip() for cell in column.slice(0, 100).to_pylist() if cell]
    return all(
        cell[:1] in "+-.,0123456789"
        or cell in asked.na
        or cell.lower() in ("na", "n/a", "nan", "null")
        for cell in cells
    )


def _columns(names: list[str]) -> str:
    some = ", ".join(map(repr, names[:3]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"column{'s' if len(names) > 1 else ''} {some}{more}"
