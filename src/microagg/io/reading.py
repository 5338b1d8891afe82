"""Files to Arrow tables, with errors that name the place and never the value."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from microagg.errors import InputError
from microagg.io.arrow import compute as pc
from microagg.schema import refuse_duplicates

FORMATS = (".csv", ".parquet")
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
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}; check the path.")
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a file; name a csv or parquet file.")
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


def format_of(path: Path) -> str:
    """The format a file name asks for."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell the format of {path.name!r}; name a file that ends in .csv or .parquet."
        )
    return suffix


def delimiter_of(path: Path) -> str:
    """The character that separates the columns of a csv file: the one its header has most of."""
    header = _header_line(path)
    return max(",;\t|", key=lambda mark: (header.count(mark), mark == ","))


def _header_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.readline()
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not in UTF-8; save it in that encoding.") from None
    except OSError:
        raise InputError(f"{str(path)!r} cannot be read; check its permissions.") from None


def read_text(path: Path, delimiter: str) -> pa.Table:
    """Read a file that was just written (its `.part` ending is looked through), csv columns as text."""
    is_csv = format_of(Path(path.name.removesuffix(".part"))) == ".csv"
    return _read_csv(path, delimiter) if is_csv else _read_parquet(path)


def _read_csv(path: Path, delimiter: str | None = None) -> pa.Table:
    import pyarrow.csv as arrow_csv

    if not _header_line(path).strip():
        raise InputError(f"{str(path)!r} is empty; it needs a header and at least one record.")
    delimiter = delimiter or delimiter_of(path)
    names = next(csv.reader([_header_line(path)], delimiter=delimiter))
    refuse_duplicates(names)
    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        return arrow_csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError):
        raise InputError(
            f"{str(path)!r} is not a well-formed csv file in UTF-8: every row must have {len(names)} columns."
        ) from None


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as parquet

    if path.stat().st_size == 0:
        raise InputError(f"{str(path)!r} is empty; it needs columns and at least one record.")
    try:
        return parquet.read_table(path).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError):
        raise InputError(f"{str(path)!r} is not a readable parquet file; write it anew.") from None


def looks_numeric(column: pa.ChunkedArray) -> bool:
    """Whether a text column holds numbers only (and at least one)."""
    matches = pc.all(pc.match_substring_regex(column, NUMBER))
    return column.null_count == 0 and len(column) > 0 and bool(matches.as_py())


def parse_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A text column as numbers: whole ones if all are, else float64."""
    _refuse_first(
        pc.or_kleene(pc.is_null(column), pc.match_substring_regex(column, MISSING)), name, "missing value"
    )
    _refuse_first(pc.match_substring_regex(column, INFINITE), name, "infinite value")
    _refuse_first(pc.invert(pc.match_substring_regex(column, NUMBER)), name, "text where a number is needed")
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
    if pc.all(pc.match_substring_regex(column, WHOLE)).as_py():
        return pc.cast(trimmed, pa.int64())
    numbers = pc.cast(trimmed, pa.float64())
    _refuse_first(pc.is_inf(numbers), name, "infinite value")
    return numbers


def _refuse_first(wrong: pa.ChunkedArray, name: str, what: str) -> None:
    position = pc.index(pc.fill_null(wrong, True), True).as_py()
    if position >= 0:
        refuse_value(name, position, what)


def refuse_value(name: str, position: int, what: str) -> None:
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
