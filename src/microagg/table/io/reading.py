"""Files to Arrow tables, with errors that name the place and never the value."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import compute as pc
from microagg.table.schema import refuse_duplicates

FORMATS = (".csv", ".parquet")
LONGEST_HEADER = 1 << 20
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
WHOLE = r"^\s*[+-]?\d{1,18}\s*$"
INFINITE = r"(?i)^\s*[+-]?inf(inity)?\s*$"
MISSING = r"(?i)^\s*(|na|n/a|nan|null|none|\.|-|#n/a)\s*$"


def read_table(path: str | Path, numeric: Sequence[str] = ()) -> pa.Table:
    """Read a csv or parquet file. The columns named in `numeric` must hold numbers only.

    In a csv file all other columns keep their text to the letter ("007" stays "007").
    """
    path = Path(path)
    format_of(path)
    _refuse_unreadable(path)
    table = _read_csv(path) if format_of(path) == ".csv" else _read_parquet(path)
    refuse_duplicates(table.column_names)
    if table.num_rows == 0:
        raise InputError(f"{str(path)!r} has a header but no records; there is nothing to protect.")
    for position, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.field(position).type) and format_of(path) == ".csv":
            column = (
                parse_numbers(table.column(name), name) if name in numeric else _settle(table.column(name))
            )
            table = table.set_column(position, name, column)
    return table


def _refuse_unreadable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no file {str(path)!r}; check the path.") from None
    except (OSError, ValueError):  # no permission, a loop of links, a name that no file can have
        raise InputError(f"{str(path)!r} cannot be read; check the path and its permissions.") from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{str(path)!r} is not a file; name a csv or parquet file.")


def format_of(path: Path) -> str:
    """The format a file name asks for."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell the format of {path.name!r}; name a file that ends in .csv or .parquet."
        )
    return suffix


def delimiter_of(path: Path) -> str:
    """The character that separates the columns of a csv file: the one its header has most of, quoted names aside."""
    header = re.sub(r'"[^"]*"', "", _header_of(path))
    return max(",;\t|", key=lambda mark: (header.count(mark), mark == ","))


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


def read_text(path: Path, delimiter: str) -> pa.Table:
    """Read a file that was just written (its `.part` ending is looked through), csv columns as text."""
    is_csv = format_of(Path(path.name.removesuffix(".part"))) == ".csv"
    return _read_csv(path, delimiter) if is_csv else _read_parquet(path)


def _read_csv(path: Path, delimiter: str | None = None) -> pa.Table:
    """All columns as text; an empty cell without quotes is missing."""
    import pyarrow.csv as arrow_csv

    header = _header_of(path)
    if not header.strip():
        raise InputError(
            f"{str(path)!r} is empty or begins with an empty line; it needs a header and records."
        )
    delimiter = delimiter or delimiter_of(path)
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


def _names_in(header: str, delimiter: str, path: Path) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    except csv.Error:
        raise InputError(f"the header of {str(path)!r} is not that of a csv file; check the file.") from None
    refuse_duplicates(names)
    return names


def _refuse_csv(path: Path, parse: Any, columns: int) -> NoReturn:
    """Say why Arrow could not read a csv file, and where; its own message would quote the row."""
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


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as parquet

    if path.stat().st_size == 0:
        raise InputError(f"{str(path)!r} is empty; it needs columns and at least one record.")
    try:
        # not read_table(): it takes folders named like "year=2024" on the way for columns
        with parquet.ParquetFile(path) as file:
            return file.read().replace_schema_metadata(None)
    except (pa.ArrowException, OSError):
        raise InputError(f"{str(path)!r} is not a readable parquet file; write it anew.") from None


def read_as_numbers(path: str | Path) -> pa.Table:
    """Read a file; columns of a csv file that hold numbers only become numbers: what a proposal looks at."""
    table = read_table(path)
    for position, name in enumerate(table.column_names):
        column = table.column(name)
        if format_of(Path(path)) == ".csv" and pa.types.is_string(column.type) and looks_numeric(column):
            with contextlib.suppress(InputError):  # digits that no float64 can hold stay text
                table = table.set_column(position, name, parse_numbers(column, name))
    return table


def looks_numeric(column: pa.ChunkedArray) -> bool:
    """Whether a text column holds numbers only (and at least one)."""
    matches = pc.all(pc.match_substring_regex(column, NUMBER))
    return column.null_count == 0 and len(column) > 0 and bool(matches.as_py())


def parse_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A text column as numbers: whole ones if all are, else float64."""
    wrong = _first(pc.invert(pc.fill_null(pc.match_substring_regex(column, NUMBER), False)))
    if wrong >= 0:
        refuse_value(name, wrong, _what_is_wrong(column[wrong].as_py()))
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
    if pc.all(pc.match_substring_regex(column, WHOLE)).as_py():
        return pc.cast(trimmed, pa.int64())
    numbers = pc.cast(trimmed, pa.float64())
    wrong = _first(pc.is_inf(numbers))
    if wrong >= 0:
        refuse_value(name, wrong, "infinite value")
    return numbers


def _first(wanted: pa.ChunkedArray) -> int:
    return pc.index(wanted, True).as_py()


def _what_is_wrong(text: str | None) -> str:
    """The kind of a cell that is no number."""
    if text is None or re.match(MISSING, text):
        return "missing value"
    return "infinite value" if re.match(INFINITE, text) else "text where a number is needed"


def refuse_value(name: str, position: int, what: str) -> NoReturn:
    """Say that a quasi-identifying column cannot be used because of one record; never what the record holds."""
    raise InputError(
        f"column {name!r}, row {position + 1} (header not counted): {what}; "
        "quasi-identifiers must be numbers without gaps, so mend it or leave the record out."
    )


def _settle(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers where writing them gives back the very same text, else the text."""
    for target in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(column, target)
        except pa.ArrowInvalid:
            continue
        same = pc.all(pc.equal(pc.cast(numbers, pa.string()), column)).as_py()
        if same:
            return numbers
    return column
