"""SPSS files (.sav, .zsav) by pyreadstat: text, numbers, dates, and all labels."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.format import EMPTY, Format

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.stats.reading import Package
    from microagg.table.columns.labels import Labels

MAGIC, PACKED = b"$FL2", b"$FL3"
DATES = {"DATE", "ADATE", "EDATE", "JDATE", "SDATE"}
MOMENTS = {"DATETIME", "YMDHMS"}
TIMES = {"TIME", "MTIME"}
CREATED = slice(92, 109)
"""Where the header has the day and the time of its making."""
NO_TIME = b"01 Jan 7000:00:00"


def _means(format: str) -> str:
    from microagg.files.stats.reading import format_name

    name = format_name(format)
    if name in DATES:
        return "date"
    if name in MOMENTS:
        return "moment"
    if name in TIMES:
        return "time"
    return "whole" if name == "F" and format.partition(".")[2] in ("", "0") else ""


def _rows(beginning: bytes, size: int) -> int | None:
    """Return the number of records that the header claims."""
    if len(beginning) < 176:
        return -1
    little = beginning[64:68] in (b"\x02\0\0\0", b"\x03\0\0\0")
    rows = struct.unpack("<i" if little else ">i", beginning[80:84])[0]
    return None if rows < 0 else rows


def package() -> Package:
    """Return the rules for reading SPSS files."""
    from microagg.files.stats.reading import Package

    return Package("SPSS", "read_sav", True, _means, -141_428, 86_400, 1, _rows)


def read(path: Path) -> pa.Table:
    """Read the columns of an SPSS file, with their labels."""
    from microagg.files.stats.reading import read_by, unreadable

    with path.open("rb") as file:
        beginning = file.read(4)
    if not beginning:
        raise InputError(EMPTY.format(str(path)))
    if not recognise(beginning):
        if beginning[:3] in (b"PK\x03", b"\x89HD"):
            raise InputError(
                f"{str(path)!r} is not an SPSS file, although its name says so; rename it."
            )
        raise unreadable(package(), path)
    return read_by(package(), path)


def _write(table: pa.Table, path: Path, *, packed: bool) -> None:
    from microagg.files.stats.writing import write_by

    write_by("SPSS", table, path, packed=packed)
    with path.open("r+b") as file:
        file.seek(CREATED.start)
        file.write(NO_TIME)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as an SPSS file."""
    _write(table, path, packed=False)


def write_packed(table: pa.Table, path: Path) -> None:
    """Write a table as a compressed SPSS file."""
    _write(table, path, packed=True)


def holds(labels: Labels, column: pa.ChunkedArray) -> Labels:
    """Return the labels that an SPSS file holds: all, within its lengths and rules for missing
    codes.
    """
    from microagg.files.stats.held_labels import held_by

    return held_by("SPSS", labels, column)


def check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that SPSS does not know."""
    from microagg.files.stats.names import check_names

    check_names("SPSS", names)


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as SPSS files do."""
    return beginning.startswith((MAGIC, PACKED))


_COMMON: dict[str, Any] = {
    "read": read,
    "typed": True,
    "nested": False,
    "empties": False,
    "holds": holds,
    "check_names": check_names,
    "article": "an",
    "recognise": recognise,
    "needs": ("pyreadstat", "polars"),
    "extra": "stats",
}
SAV = Format(name="SPSS", suffixes=(".sav",), write=write, **_COMMON)
ZSAV = Format(
    name="compressed SPSS", suffixes=(".zsav",), write=write_packed, **{**_COMMON, "article": "a"}
)
