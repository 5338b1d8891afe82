"""Files of separated text in UTF-8, their columns as text to the letter ("007" stays "007")."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from microagg.errors import InputError
from microagg.table.io.format import Format
from microagg.table.schema import refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_HEADER = 1 << 20
NO_TEXT = set(range(32)) - set(b"\t\n\r\f")


def read(path: Path, delimiter: str | None = None) -> pa.Table:
    """All columns as text; an empty cell without quotes is missing."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    header = _header_of(path)
    if not header.strip():
        raise InputError(
            f"{str(path)!r} is empty or begins with an empty line; it needs a header and records."
        )
    delimiter = delimiter or _delimiter_in(header)
    names = _names_in(header, delimiter, path)
    if not header.endswith(("\n", "\r")):  # Arrow takes a lone line without an end for no header at all
        return pa.table({name: pa.array([], pa.string()) for name in names})
    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        table = arrow_csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError):
        _refuse_csv(path, parse, len(names))
    if table.column_names != names:
        raise InputError(f"the header of {str(path)!r} is not clear; put its column names in double quotes.")
    _refuse_open_quote(path, table)
    return table


def write(table: pa.Table, path: Path, delimiter: str) -> None:
    """Write a table as a csv file; what is missing becomes an empty cell, an empty text a pair of quotes."""
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter=delimiter))


def detect(path: Path) -> dict[str, Any]:
    """The character that separates the columns: the one the header has most of, quoted names aside."""
    return {"delimiter": _delimiter_in(_header_of(path))}


def recognise(beginning: bytes) -> bool:
    r"""Whether a file begins as text does, and neither as JSON nor as a page.

    >>> recognise(b"age;income\n"), recognise(b"PAR1\x15\x04"), recognise(b'{"k": 5}')
    (True, False, False)
    """
    if beginning.lstrip()[:1] in (b"{", b"<") or set(beginning) & NO_TEXT:
        return False
    try:
        beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3  # where the beginning ends, a letter may be cut
    return True


def _delimiter_in(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=lambda mark: (bare.count(mark), mark == ","))


def _header_of(path: Path) -> str:
    """The first line of a csv file, and those after it while a quoted name goes on."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            while header.count('"') % 2 and len(header) < LONGEST_HEADER and (line := file.readline()):
                header += line
            return header
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not in UTF-8; save it in that encoding.") from None
    except OSError:
        raise InputError(f"{str(path)!r} cannot be read; check its permissions.") from None


def _names_in(header: str, delimiter: str, path: Path) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    except csv.Error:
        raise InputError(f"the header of {str(path)!r} is not that of a csv file; check the file.") from None
    refuse_duplicates(names)
    return names


def _refuse_csv(path: Path, parse: Any, columns: int) -> NoReturn:
    """Say why Arrow could not read a csv file, and where; its own message would quote the row."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    ragged: list[int] = []

    def remember(row: Any) -> str:
        ragged.append(row.number - 1)
        return "error"

    parse.invalid_row_handler = remember
    with contextlib.suppress(
        pa.ArrowException, OSError
    ):  # rows are numbered on one thread only, so read again
        arrow_csv.read_csv(path, arrow_csv.ReadOptions(use_threads=False), parse)
    if ragged:
        raise InputError(
            f"{str(path)!r}, row {ragged[0]} (header not counted) does not have the {columns} columns of the header; "
            "mend it, or put double quotes around values with a separator in them."
        )
    raise InputError(f"{str(path)!r} is not a csv file in UTF-8; save it in that encoding.")


def _refuse_open_quote(path: Path, table: pa.Table) -> None:
    """Arrow reads on to the end of the file where a quote is never closed, and so loses the records after it."""
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if last is None or not {"\n", "\r"} & set(last):
        return
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        closed = file.read().rstrip(b"\r\n").endswith(b'"')
    if not closed:
        raise InputError(
            f"{str(path)!r}, row {table.num_rows} (header not counted): a double quote is opened and never closed; "
            "close or remove it."
        )


CSV = Format(
    name="csv",
    suffixes=(".csv",),
    read=read,
    write=write,
    typed=False,
    nested=False,
    options={"delimiter": ","},
    detect=detect,
    recognise=recognise,
)
