"""Header of a text file: its first line, delimiter, line end and names."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from microagg.errors import InputError
from microagg.files.text.decoding import Source
from microagg.table.columns.text_options import (
    LINE_ENDS,
)

LONGEST_HEADER = 1 << 20


def delimiter_in(header: str, usual: str) -> str:
    """Return the most frequent delimiter of a header outside quotes; if tied, the usual one.

    A comma between digits may be a decimal sign.
    """
    bare = re.sub(r'"[^"]*"', "", header)
    decimals = len(re.findall(r"(?<=\d),(?=\d)", bare))
    return max(
        ",;\t|",
        key=lambda mark: (bare.count(mark) - (decimals / 2 if mark == "," else 0), mark == usual),
    )


def line_end_of(header: str) -> str:
    """Return the name of the line end of a header; "lf" where it has none."""
    return next((word for word in ("crlf", "lf", "cr") if header.endswith(LINE_ENDS[word])), "lf")


def header_of(source: Source) -> str:
    """Return the first line of a text file, and the next ones while a quoted name continues."""
    return header_in(source.beginning(LONGEST_HEADER).decode("utf-8", errors="ignore"))


def header_in(text: str) -> str:
    """Return the header at the beginning of a text."""
    lines = io.StringIO(text, newline="")
    header = lines.readline()
    while header.count('"') % 2 and (line := lines.readline()):
        header += line
    return header


def names_in(header: str, delimiter: str, path: Path) -> list[str]:
    """Return the names of columns in a header."""
    try:
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    except csv.Error:
        raise InputError(
            f"the header of {str(path)!r} is not that of a csv file; check the file."
        ) from None
    return names
