"""Files of separated text in UTF-8, their columns as text to the letter ("007" stays "007")."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from microagg.errors import InputError
from microagg.table.io.format import Format
from microagg.table.parameters import Maybe

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_HEADER = 1 << 20
NO_TEXT = set(range(32)) - set(b"\t\n\r\f")
HEADER = Maybe(
    "header",
    "Whether the first row of a csv file holds the names of the columns; without, they are 1, 2, 3 and so on.",
)
FORMULA = r"(?s)^'*[=+\-@\t\r]."
ESCAPED = r"(?s)^'+[=+\-@\t\r]."
DATA = re.compile(  # a number, an amount, a date or a time
    r"\s*[+-]?[$€£]?\s*(\d[\d.,_' ]*|[.,]\d+)([eE][+-]?\d+)?\s*[%€$£]?\s*|\s*\d{1,4}([-./]\d{1,4}){2}([T ][\d:.+Z-]*)?\s*|\s*\d{1,2}(:\d\d)+\s*"
)
SAY_WHICH = (
    "say --no-header (in Python header=False) if it is a record, --header (header=True) if it holds names"
)


def read(
    path: Path, delimiter: str | None = None, *, header: bool | None = None, escape_formulas: bool = False
) -> pa.Table:
    """All columns as text; an empty cell without quotes is missing.

    Unless it is said whether there is a `header`, a first row that looks like a record is refused.
    """
    table = _read(path, delimiter, header)
    return _with_texts(table, _unescaped) if escape_formulas else table


def _read(path: Path, delimiter: str | None, header: bool | None) -> pa.Table:
    first = _header_of(path)
    if not first.strip():
        raise InputError(
            f"{str(path)!r} is empty or begins with an empty line; it needs a header and records."
        )
    delimiter = delimiter or _delimiter_in(first)
    names = _names_in(first, delimiter, path)
    if header is False:
        return _read_rows(path, delimiter, [str(column) for column in range(1, len(names) + 1)], first=True)
    if header is None and _numbers_among(names):
        _refuse_header(path, "has a number or a date where names of columns should be")
    _refuse_same_names(names, path)
    if not first.endswith(("\n", "\r")):  # Arrow takes a lone line without an end for no header at all
        return _without_records(names)
    table = _read_rows(path, delimiter, names, first=False)
    if table.column_names != names:
        raise InputError(f"the header of {str(path)!r} is not clear; put its column names in double quotes.")
    if header is None and any(
        _occurs(name, column) for name, column in zip(names, table.columns, strict=True)
    ):
        _refuse_header(path, "has a value that occurs again below it")
    return table


def _read_rows(path: Path, delimiter: str, names: list[str], *, first: bool) -> pa.Table:
    """The records of a file, from its `first` row on or after a header."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    reading = arrow_csv.ReadOptions(column_names=names if first else None)
    try:
        table = arrow_csv.read_csv(path, reading, parse, convert)
    except MemoryError:  # Arrow's own is one
        raise
    except (pa.ArrowException, OSError):
        _refuse_csv(path, parse, names if first else None, len(names))
    _refuse_open_quote(path, table)
    return table


def _without_records(names: list[str]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: pa.array([], pa.string()) for name in names})


def _numbers_among(names: list[str]) -> bool:
    """Whether some names look like values; those of a matrix, which count its columns from 0 or 1, do not."""
    counted = any(names == [str(column + start) for column in range(len(names))] for start in (0, 1))
    return not counted and any(DATA.fullmatch(name) for name in names)


def _occurs(name: str, column: pa.ChunkedArray) -> bool:
    from microagg.table.io.arrow import compute

    return bool(name) and compute.index(column, name).as_py() >= 0


def _refuse_header(path: Path, why: str) -> NoReturn:
    raise InputError(f"the first row of {str(path)!r} {why}; {SAY_WHICH}.")


def _refuse_same_names(names: list[str], path: Path) -> None:
    """Say where, not which: what is taken for names may be a record."""
    places: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if places.setdefault(name, position) != position:
            raise InputError(
                f"the first row of {str(path)!r} has the same name more than once, in columns {places[name]} and {position}; "
                "rename one of them, or say --no-header (in Python header=False) if it is a record."
            )


def write(table: pa.Table, path: Path, delimiter: str, escape_formulas: bool = False) -> None:
    """Write a table as a csv file; what is missing becomes an empty cell, an empty text a pair of quotes.

    Columns that were read from such a file have their own marker of missing values and pattern of dates (see `marks.py`). With
    `escape_formulas` an apostrophe goes before texts that a spreadsheet would take for formulas.
    """
    import pyarrow.csv as arrow_csv

    from microagg.table.io.csv_writing import as_they_were_read, has_empty_lines, write_lines

    table, bare = as_they_were_read(table)
    table = _with_texts(table, _escaped) if escape_formulas else table
    if bare or has_empty_lines(table):
        write_lines(table, path, delimiter, bare)
    else:
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter=delimiter))


def formulas_in(column: pa.ChunkedArray) -> bool:
    """Whether a column holds texts that a spreadsheet would take for formulas: no numbers, but they begin with =, +, - or @."""
    import pyarrow as pa

    from microagg.table.io.arrow import compute, is_text

    if pa.types.is_dictionary(column.type):
        column = compute.cast(column, column.type.value_type)
    if not is_text(column.type) or not compute.any(compute.match_substring_regex(column, FORMULA)).as_py():
        return False  # numbers are looked for only where there is need to
    return bool(compute.any(_matches(column, FORMULA)).as_py())


def _matches(column: Any, pattern: str) -> Any:
    from microagg.table.io.arrow import compute
    from microagg.table.io.reading import NUMBER

    number = compute.match_substring_regex(column, NUMBER)
    return compute.and_(compute.match_substring_regex(column, pattern), compute.invert(number))


def _escaped(column: Any) -> Any:
    from microagg.table.io.arrow import compute

    with_mark = compute.binary_join_element_wise("'", column, "")
    return compute.if_else(_matches(column, FORMULA), with_mark, column)


def _unescaped(column: Any) -> Any:
    from microagg.table.io.arrow import compute

    return compute.if_else(_matches(column, ESCAPED), compute.utf8_slice_codeunits(column, 1), column)


def _with_texts(table: pa.Table, change: Callable[[Any], Any]) -> pa.Table:
    """The table with all its texts, names of columns too, changed in this way."""
    import pyarrow as pa

    from microagg.table.io.arrow import compute, is_text

    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            column = compute.cast(column, column.type.value_type)
        columns.append(change(column) if is_text(column.type) else column)
    return pa.table(columns, names=change(pa.array(table.column_names, pa.string())).to_pylist())


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
    return names


def _refuse_csv(path: Path, parse: Any, names: list[str] | None, columns: int) -> NoReturn:
    """Say why Arrow could not read a csv file, and where; its own message would quote the row."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    ragged: list[int] = []

    def remember(row: Any) -> str:
        ragged.append(row.number - (names is None))
        return "error"

    parse.invalid_row_handler = remember
    with contextlib.suppress(
        pa.ArrowException, OSError
    ):  # rows are numbered on one thread only, so read again
        arrow_csv.read_csv(path, arrow_csv.ReadOptions(use_threads=False, column_names=names), parse)
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
    options={"delimiter": ",", "escape_formulas": False},
    detect=detect,
    recognise=recognise,
    reading=(HEADER,),
    read_back={"header": True},
)
