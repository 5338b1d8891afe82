"""Facts on a file as it was read, in words: format, dialect, header and labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.files.formats import format_of
from microagg.files.text.dialect import NAMES, Dialect
from microagg.formatting import counted
from microagg.table.columns.labels import labels_in

SIGNS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "vertical bar",
    ".": "point",
    " ": "blank",
}
LINE_ENDS = {"lf": "Unix", "crlf": "Windows", "cr": "old Macintosh"}


def file_facts(
    path: Path, table: pa.Table, dialect: Dialect | None, reading: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return what was detected, as pairs of a title and a value.

    >>> file_facts(Path("a.csv"), pa.table({"age": [1]}), Dialect(delimiter=";"), {})[2]
    ('columns separated by', 'semicolon')
    """
    facts = [("format", format_of(path).name)]
    if dialect is not None:
        named = reading.get("header") is not False
        facts += [
            ("first row", "names of the columns" if named else "values; columns are numbered"),
            ("columns separated by", _sign(dialect.delimiter)),
            ("encoding", NAMES.get(dialect.encoding, dialect.encoding.upper())),
            ("decimal sign", _sign(dialect.style.decimal)),
            ("thousands separated by", _sign(dialect.thousands or "")),
            ("dates written as", dialect.dates or ""),
            ("line ends", LINE_ENDS.get(dialect.line_end, dialect.line_end)),
        ]
    labels = labels_in(table)
    if labels:
        facts.append(("labels", f"of {counted(len(labels), 'column')}"))
    return [(title, value) for title, value in facts if value]


def _sign(sign: str) -> str:
    return SIGNS.get(sign, sign)
