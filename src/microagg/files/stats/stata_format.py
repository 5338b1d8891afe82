"""Stata files (.dta) by pyreadstat: text, numbers, dates, .a to .z, labels of columns and whole
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.format import EMPTY, Format

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.stats.reading import Package
    from microagg.table.columns.labels import Labels

MAGIC = b"<stata_dta>"
END = b"</stata_dta>"
OLD = tuple(bytes([version]) for version in (104, 105, 108, 110, 111, 112, 113, 114, 115))
TIME = re.compile(rb"(<timestamp>\x11)[ -~]{17}(</timestamp>)")
NO_TIME = b"01 Jan 1970 00:00"


def _means(format: str) -> str:
    name = format.replace("-", "")
    if name.startswith(("%td", "%d")):
        return "date"
    if name.startswith(("%tcHH", "%tCHH", "%tcHh", "%tchh")):
        return "time"
    if name.startswith(("%tc", "%tC")):
        return "moment"
    return "whole" if re.fullmatch(r"%\d+\.0fc?", name) else ""


def package() -> Package:
    """Return the rules for reading Stata files."""
    from microagg.files.stats.reading import Package

    return Package("Stata", "read_dta", True, _means, -3_653, 1, 1000)


def read(path: Path) -> pa.Table:
    """Read the columns of a Stata file, with their labels."""
    from microagg.files.stats.reading import read_by, unreadable

    with path.open("rb") as file:
        beginning = file.read(16)
        file.seek(max(0, path.stat().st_size - 64))
        ending = file.read()
    if not beginning:
        raise InputError(EMPTY.format(str(path)))
    if not recognise(beginning) or (beginning.startswith(MAGIC) and END not in ending):
        raise unreadable(package(), path)
    return read_by(package(), path)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a Stata file."""
    from microagg.files.stats.writing import write_by

    write_by("Stata", table, path)
    with path.open("r+b") as file:
        beginning = file.read(512)
        file.seek(0)
        file.write(TIME.sub(rb"\g<1>" + NO_TIME + rb"\g<2>", beginning, count=1))


def holds(labels: Labels, column: pa.ChunkedArray) -> Labels:
    """Return the labels that a Stata file holds: none of texts or fractions, and no measure."""
    from microagg.files.stats.held_labels import held_by

    return held_by("Stata", labels, column)


def codes(labels: Labels, column: pa.ChunkedArray) -> dict[Any, Any]:
    """Map codes declared missing to those of .a to .z, as which they are read back."""
    from microagg.files.stats.held_labels import tags_for
    from microagg.table.columns.labels import code_of_tag

    return (
        {code: code_of_tag(tag) for code, tag in tags_for(labels, column).items()}
        if labels.missing
        else {}
    )


def check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that Stata does not know."""
    from microagg.files.stats.names import check_names

    check_names("Stata", names)


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as Stata files do."""
    old = (
        beginning[:1] in OLD
        and beginning[1:2] in (b"\x01", b"\x02")
        and beginning[2:3] in (b"\x01", b"")
    )
    return beginning.startswith(MAGIC) or old


DTA = Format(
    name="Stata",
    suffixes=(".dta",),
    read=read,
    write=write,
    typed=True,
    nested=False,
    empties=False,
    holds=holds,
    check_names=check_names,
    codes=codes,
    recognise=recognise,
    needs=("pyreadstat", "polars"),
    extra="stats",
)
