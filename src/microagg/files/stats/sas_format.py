"""SAS files by pyreadstat: transport files (.xpt), read and written; .sas7bdat files, read only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from microagg.errors import InputError
from microagg.files.format import EMPTY, Format

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.stats.reading import Package
    from microagg.table.columns.labels import Labels

MAGIC = b"HEADER RECORD*******LIB"
OWN = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
DATES = {
    "WEEKDATE", "WEEKDATX", "DTDATE", "DATE", "IS8601DA", "E8601DA", "B8601DA",
    *(f"{order}{mark}" for order in ("MMDDYY", "DDMMYY", "YYMMDD") for mark in ("", *"BCDNPS")),
}  # fmt: skip
MOMENTS = {"DATETIME", "E8601DT", "DATEAMPM", "MDYAMPM", "IS8601DT", "B8601DT", "B8601DN"}
TIMES = {"TIME", "HHMM", "TOD", "TIMEAMPM", "IS8601TM", "E8601TM", "B8601TM"}
RECORD = 80
TIME = re.compile(rb"\d{2}[A-Z]{3}\d{2}:\d{2}:\d{2}:\d{2}")
NO_TIME = b"01JAN70:00:00:00"
ROWS = re.compile(rb"HEADER RECORD\*{7}OBSV8   HEADER RECORD!{7} *(\d+)")


def _means(format: str) -> str:
    from microagg.files.stats.reading import format_name

    name = format_name(format)
    if name in DATES:
        return "date"
    if name in MOMENTS:
        return "moment"
    return "time" if name in TIMES else "" if "." in format.rstrip(".") else "whole"


def package(reader: str = "read_xport") -> Package:
    """Return the rules for reading SAS files."""
    from microagg.files.stats.reading import Package

    return Package(
        "SAS transport" if reader == "read_xport" else "SAS",
        reader,
        reader == "read_sas7bdat",
        _means,
        -3_653,
        1,
        1,
    )


def read(path: Path) -> pa.Table:
    """Read the columns of a SAS transport file, with their labels."""
    from microagg.files.stats.reading import read_by, unreadable

    with path.open("rb") as file:
        content = file.read(1 << 20)
    if not content:
        raise InputError(EMPTY.format(str(path)))
    if not recognise(content) or path.stat().st_size % RECORD:
        raise unreadable(package(), path)
    table = read_by(package(), path)
    match = ROWS.search(content)
    if match and int(match[1]) != table.num_rows:
        raise unreadable(package(), path)
    return table


def read_own(path: Path) -> pa.Table:
    """Read the columns of a .sas7bdat file."""
    from microagg.files.stats.reading import read_by, unreadable

    with path.open("rb") as file:
        beginning = file.read(64)
    if not beginning:
        raise InputError(EMPTY.format(str(path)))
    if not recognise_own(beginning):
        raise unreadable(package("read_sas7bdat"), path)
    return read_by(package("read_sas7bdat"), path)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a SAS transport file, version 8."""
    from microagg.files.stats.writing import write_by

    write_by("SAS", table, path)
    with path.open("r+b") as file:
        beginning = file.read(8 * RECORD)  # before anything that a table says
        file.seek(0)
        file.write(TIME.sub(NO_TIME, beginning))


def write_own(table: pa.Table, path: Path) -> None:
    """Refuse to write: the .sas7bdat format is not documented."""
    raise InputError(f"a .sas7bdat file {READ_ONLY}")


READ_ONLY = "can be read and not written; name a .xpt file, which SAS reads, too."


def holds(labels: Labels, column: pa.ChunkedArray) -> Labels:
    """Return the labels that a transport file holds: that of the column only."""
    from microagg.files.stats.held_labels import held_by

    return held_by("SAS", labels, column)


def check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that SAS does not know."""
    from microagg.files.stats.names import check_names

    check_names("SAS", names)


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as SAS transport files do."""
    return beginning.startswith(MAGIC)


def recognise_own(beginning: bytes) -> bool:
    """Check if a file begins as .sas7bdat files do."""
    return beginning.startswith(OWN)


XPT = Format(
    name="SAS transport",
    suffixes=(".xpt",),
    read=read,
    write=write,
    typed=True,
    nested=False,
    empties=False,
    holds=holds,
    check_names=check_names,
    recognise=recognise,
    needs=("pyreadstat", "polars"),
    extra="stats",
)
SAS7BDAT = Format(
    name="SAS",
    suffixes=(".sas7bdat",),
    read=read_own,
    write=write_own,
    typed=True,
    nested=False,
    empties=False,
    read_only=READ_ONLY,
    recognise=recognise_own,
    needs=("pyreadstat", "polars"),
    extra="stats",
)
