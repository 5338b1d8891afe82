"""Files of separated text, their columns as text to the letter ("007" stays "007"): csv, tsv and
txt, each plain or packed.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from microagg.errors import InputError
from microagg.files.format import Format
from microagg.files.text.decoding import MAGIC, OTHERS, Source, open_text
from microagg.files.text.headers import FirstRow, check_unclear_names
from microagg.files.text.quoting import with_gaps_at, with_unquoted_gaps
from microagg.table.columns.text_options import (
    LINE_ENDS,
    OPTIONS,
    READING,
    UTF8,
    WRITING,
    check_same_signs,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.text.dialect import Dialect

LONGEST_HEADER = 1 << 20
LONGEST_RECORD = 1 << 30
LONGEST_ROW = 1 << 26
NO_TEXT = set(range(32)) - set(b"\t\n\r\f")
FORMULA = r"(?s)^'*[=+\-@\t\r]."
ESCAPED = r"(?s)^'+[=+\-@\t\r]."
RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected \d+ columns, got \d+")
"""How Arrow's message on a row with too few or too many cells begins; what follows quotes the row.
"""


def read(
    path: Path,
    delimiter: str | None = None,
    *,
    header: bool | None = None,
    skip_rows: int | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    line_end: str | None = None,
    escape_formulas: bool = False,
    unquoted_gaps: Sequence[int] | None = None,
    packing: str = "",
    usual: str = ",",
) -> pa.Table:
    """All columns as text; an empty cell without quotes is missing, and so is NA without quotes
    beside text in quotes (in columns that are found out, or at the places `unquoted_gaps`). The
    table remembers its dialect, which what becomes of the texts goes by.

    Unless it is said whether there is a `header`, a first row that looks like a record is refused.
    `packing` and the `usual` delimiter are those of the entry.
    """
    found, source, first = begun(
        path,
        delimiter,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        dates=dates,
        skip_rows=skip_rows,
        packing=packing,
        usual=usual,
    )
    table = _read(path, source, first, found.delimiter, header, gaps=unquoted_gaps)
    table = unescaped(table) if escape_formulas else table
    return found.put_on(table)


def begun(
    path: Path,
    delimiter: str | None = None,
    *,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    skip_rows: int | None = None,
    packing: str = "",
    usual: str = ",",
    aside: Path | None = None,
) -> tuple[Dialect, Source, str]:
    """What the beginning of a text file tells of its dialect, its text in UTF-8, and its first row;
    what was said of it goes before.
    """
    from microagg.files.text.dialect import Dialect

    check_same_signs({"decimal": decimal, "thousands": thousands})
    source = open_text(path, packing, encoding, aside).without_rows(skip_rows or 0)
    if source is None:
        raise InputError(f"{str(path)!r} has no more than skip_rows={skip_rows} rows; skip fewer.")
    first = _header_of(source)
    if not first.strip():
        raise InputError(
            f"{str(path)!r} is empty or begins with an empty line; it needs a header and "
            f"records. If these come "
            "later, say how many rows to pass over: --skip-rows (in Python skip_rows)."
        )
    found = Dialect(
        delimiter or _delimiter_in(first, usual),
        source.encoding,
        _line_end_of(first),
        decimal,
        thousands,
        dates,
    )
    return found, source, first


def names_and_header(
    path: Path, first: str, delimiter: str, header: bool | None
) -> tuple[list[str], bool]:
    """The names of the columns, and whether the first row holds them; refused where it does not
    look so, or they are not clear.
    """
    names = names_in(first, delimiter, path)
    if header is False:
        return [str(column) for column in range(1, len(names) + 1)], False
    if header is None and (row := FirstRow(names)).is_mostly_data:
        row.check_record(path)
    check_unclear_names(names, path)
    return names, True


def _read(
    path: Path,
    source: Source,
    first: str,
    delimiter: str,
    header: bool | None,
    *,
    gaps: Sequence[int] | None,
) -> pa.Table:
    names, has_header = names_and_header(path, first, delimiter, header)
    source.check_larger(path, len(names))
    if not has_header:
        return _read_rows(path, source, delimiter, names, first=True, gaps=gaps)
    # Arrow takes a lone line without an end for no header at all
    if not first.endswith(("\n", "\r")):
        return _without_records(names)
    table = _read_rows(path, source, delimiter, names, first=False, gaps=gaps)
    if table.column_names != names:
        raise InputError(
            f"the header of {str(path)!r} is not clear; put its column names in double quotes."
        )
    if header is None:
        row = FirstRow(names)
        row.add_table(table)
        row.check_record(path)
    return table


def _read_rows(
    path: Path,
    source: Source,
    delimiter: str,
    names: list[str],
    *,
    first: bool,
    gaps: Sequence[int] | None,
) -> pa.Table:
    """The records of a file, from its `first` row on or after a header."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    quotes = source.has_quotes()
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quotes)
    for block in (None, min(LONGEST_RECORD, source.size + 1)):  # a long record takes a longer one
        reading = arrow_csv.ReadOptions(column_names=names if first else None, block_size=block)
        try:
            table = arrow_csv.read_csv(source.to_read(), reading, parse, convert)
            break
        except MemoryError:  # Arrow's own is one
            raise
        except (pa.ArrowException, OSError):
            continue
    else:
        check_csv(path, source, parse, names, header=not first)
    check_open_quote(path, source, table, table.num_rows)
    if not quotes or table.column_names != names:
        return table
    if gaps is not None:
        return with_gaps_at(table, source, delimiter, gaps, header=not first)
    return with_unquoted_gaps(table, source, delimiter, header=not first)


def _without_records(names: list[str]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: pa.array([], pa.string()) for name in names})


def write(
    table: pa.Table,
    path: Path,
    delimiter: str = ",",
    encoding: str = UTF8,
    decimal: str = ".",
    thousands: str = "",
    dates: str | None = None,
    line_end: str = "lf",
    escape_formulas: bool = False,
    packing: str = "",
) -> None:
    """Write a table as a text file; what is missing becomes an empty cell, an empty text a pair of
    quotes.

    Columns that were read from such a file have their own marker of missing values and pattern of
    dates (see `marks.py`). With `escape_formulas` an apostrophe goes before texts that a
    spreadsheet would take for formulas.
    """
    from microagg.files.text.csv_writing import (
        TextSink,
        as_they_were_read,
        has_empty_lines,
        write_header,
        write_lines,
    )
    from microagg.table.columns.locale_numbers import Style

    check_same_signs({"decimal": decimal, "thousands": thousands})
    table, bare, gaps = as_they_were_read(table, Style(decimal, thousands), dates)
    table = _with_texts(table, _escaped) if escape_formulas else table
    with TextSink(path, packing, encoding) as sink:
        end = LINE_ENDS[line_end]
        if (
            bare or gaps or has_empty_lines(table) or not sink.is_plain or end != "\n"
        ):  # which alone every Arrow writes
            write_header(table.column_names, sink, delimiter, end)
            write_lines(table, sink, delimiter, bare, end, gaps)
        else:
            sink.write_table(table, delimiter)


@contextlib.contextmanager
def in_pieces(
    path: Path,
    schema: pa.Schema,
    delimiter: str = ",",
    encoding: str = UTF8,
    decimal: str = ".",
    thousands: str = "",
    dates: str | None = None,
    line_end: str = "lf",
    escape_formulas: bool = False,
    packing: str = "",
) -> Iterator[Callable[[pa.Table], None]]:
    """What writes a text file piece by piece, to the very bytes of `write`: a line follows from its
    record and the marks of columns alone.
    """
    from microagg.files.text.csv_writing import (
        TextSink,
        as_they_were_read,
        write_header,
        write_lines,
    )
    from microagg.table.columns.locale_numbers import Style

    check_same_signs({"decimal": decimal, "thousands": thousands})
    style, end = Style(decimal, thousands), LINE_ENDS[line_end]
    with TextSink(path, packing, encoding) as sink:
        first = schema.empty_table()
        first = _with_texts(first, _escaped) if escape_formulas else first
        write_header(first.column_names, sink, delimiter, end)

        def write_piece(rows: pa.Table) -> None:
            table, bare, gaps = as_they_were_read(rows, style, dates)
            table = _with_texts(table, _escaped) if escape_formulas else table
            write_lines(table, sink, delimiter, bare, end, gaps)

        yield write_piece


def formulas_in(column: pa.ChunkedArray) -> bool:
    """Whether a column holds texts that a spreadsheet would take for formulas: no numbers, but they
    begin with =, +, - or @.
    """
    import pyarrow as pa

    from microagg.table.columns.arrow import compute, is_text

    if pa.types.is_dictionary(column.type):
        column = compute.cast(column, column.type.value_type)
    if (
        not is_text(column.type)
        or not compute.any(compute.match_substring_regex(column, FORMULA)).as_py()
    ):
        return False  # numbers are looked for only where there is need to
    return bool(compute.any(_matches(column, FORMULA)).as_py())


def _matches(column: Any, pattern: str) -> Any:
    from microagg.files.reading import NUMBER
    from microagg.table.columns.arrow import compute

    number = compute.match_substring_regex(column, NUMBER)
    return compute.and_(compute.match_substring_regex(column, pattern), compute.invert(number))


def _escaped(column: Any) -> Any:
    from microagg.table.columns.arrow import compute

    with_mark = compute.binary_join_element_wise("'", column, "")
    return compute.if_else(_matches(column, FORMULA), with_mark, column)


def unescaped(table: pa.Table) -> pa.Table:
    """A table without the apostrophes that `escape_formulas` put before texts."""
    return _with_texts(table, _unescaped)


def _unescaped(column: Any) -> Any:
    from microagg.table.columns.arrow import compute

    return compute.if_else(
        _matches(column, ESCAPED), compute.utf8_slice_codeunits(column, 1), column
    )


def _with_texts(table: pa.Table, change: Callable[[Any], Any]) -> pa.Table:
    """The table with all its texts, names of columns too, changed in this way."""
    import pyarrow as pa

    from microagg.table.columns.arrow import compute, is_text

    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            column = compute.cast(column, column.type.value_type)
        columns.append(change(column) if is_text(column.type) else column)
    names = change(pa.array(table.column_names, pa.string())).to_pylist()
    fields = [
        pa.field(name, column.type, metadata=field.metadata)
        for name, column, field in zip(names, columns, table.schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def detect(path: Path, packing: str = "", usual: str = ",") -> dict[str, Any]:
    """The encoding of a file, how its lines end, and the character that separates its columns."""
    return found_in(path, packing, usual).options


def found_in(path: Path, packing: str = "", usual: str = ",") -> Dialect:
    """What the header and the encoding of a file tell about its dialect; its numbers are not looked
    at.
    """
    from microagg.files.text.dialect import Dialect

    source = open_text(path, packing)
    first = _header_of(source)
    return Dialect(_delimiter_in(first, usual), source.encoding, _line_end_of(first))


def recognise(beginning: bytes) -> bool:
    r"""Whether a file begins as text does, and neither as JSON nor as a page.

    >>> recognise(b"age;income\n"), recognise(b"PAR1\x15\x04"), recognise(b'{"k": 5}'), recognise("größe\n".encode("cp1252"))
    (True, False, False, True)
    """
    if beginning.startswith((*OTHERS, *MAGIC.values())):
        return False
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        beginning = beginning[: len(beginning) // 2 * 2].decode("utf-16", errors="replace").encode()
    return beginning.lstrip()[:1] not in (b"{", b"<") and not set(beginning) & NO_TEXT


def recognise_columns(beginning: bytes) -> bool:
    r"""Whether a file begins as text in columns does: any note may be called .txt, and is not to be
    replaced.

    >>> recognise_columns(b"age;income\n31;7\n"), recognise_columns(b"To do:\nbuy bread, milk\n")
    (True, False)
    """
    if not recognise(beginning):
        return False
    codec = "utf-16" if beginning.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
    lines = re.sub(r'"[^"]*"', "", beginning.decode(codec, errors="replace")).splitlines()[:5]
    whole = lines[:-1] if len(beginning) >= 1 << 16 and len(lines) > 1 else lines
    return any(
        len({line.count(mark) for line in whole}) == 1 and mark in whole[0] for mark in ",;\t|"
    )


def _recognise_packed(packing: str) -> Callable[[bytes], bool]:
    return lambda beginning: beginning.startswith(MAGIC[packing])


def _delimiter_in(header: str, usual: str) -> str:
    """The one of which the header has most, quoted names aside; of equally many the usual one. A
    comma between digits may be a decimal one.
    """
    bare = re.sub(r'"[^"]*"', "", header)
    decimals = len(re.findall(r"(?<=\d),(?=\d)", bare))
    return max(
        ",;\t|",
        key=lambda mark: (bare.count(mark) - (decimals / 2 if mark == "," else 0), mark == usual),
    )


def _line_end_of(header: str) -> str:
    return next((word for word in ("crlf", "lf", "cr") if header.endswith(LINE_ENDS[word])), "lf")


def _header_of(source: Source) -> str:
    """The first line of a text file, and those after it while a quoted name goes on."""
    return header_in(source.beginning(LONGEST_HEADER).decode("utf-8", errors="ignore"))


def header_in(text: str) -> str:
    """The same of what a text file begins with."""
    lines = io.StringIO(text, newline="")
    header = lines.readline()
    while header.count('"') % 2 and (line := lines.readline()):
        header += line
    return header


def names_in(header: str, delimiter: str, path: Path) -> list[str]:
    """The names of columns in a header."""
    try:
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter))
    except csv.Error:
        raise InputError(
            f"the header of {str(path)!r} is not that of a csv file; check the file."
        ) from None
    return names


def check_csv(
    path: Path, source: Source, parse: Any, names: list[str], *, header: bool
) -> NoReturn:
    """Say why Arrow could not read a csv file, and where; its own message would quote the row."""
    ragged = _first_ragged_row(source, parse, names, header=header)
    if ragged is not None:
        raise InputError(
            f"{str(path)!r}, row {ragged} (header not counted) does not have the "
            f"{len(names)} columns of the header; "
            "mend it, say another delimiter='…', put double quotes around values with a "
            "separator in them, or say "
            "skip_rows if the header comes after other rows."
        )
    raise InputError(
        f"{str(path)!r} is not a readable csv file; check its delimiter and its quotes."
    )


def _first_ragged_row(source: Source, parse: Any, names: list[str], *, header: bool) -> int | None:
    """Return the number of the first record with too few or too many cells; None if there is none.

    Arrow's message tells the number. Its `invalid_row_handler` would, too, but no function of
    Python may be given to a streaming reader: a thread of Arrow drops it some time after the reader
    is closed, and if the interpreter is ending by then, the whole process aborts.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    # rows are numbered on one thread only, so read again
    reading = arrow_csv.ReadOptions(
        use_threads=False, column_names=None if header else names, block_size=LONGEST_ROW
    )
    texts = arrow_csv.ConvertOptions(column_types={name: pa.string() for name in names})
    try:
        with arrow_csv.open_csv(source.to_read(), reading, parse, texts) as reader:
            for _ in reader:
                pass
    except (pa.ArrowException, OSError) as error:
        if row := RAGGED.match(str(error)):
            return int(row[1]) - header
    return None


def check_open_quote(path: Path, source: Source, table: pa.Table, rows: int) -> None:
    """Of a table that ends with so many `rows`: Arrow reads on to the end of the file where a quote
    is never closed, and so loses the records after it.
    """
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if last is None or not {"\n", "\r"} & set(last):
        return
    if not source.ending(64).rstrip(b"\r\n").endswith(b'"'):
        raise InputError(
            f"{str(path)!r}, row {rows} (header not counted): a double quote is opened "
            f"and never closed; "
            "close or remove it."
        )


def _entry(name: str, delimiter: str, packing: str = "", *, fixed: bool = False) -> Format:
    """The entry of one ending. Where that says what separates columns (`fixed`), the delimiter of
    the input does not count.
    """
    suffix = f".{name}" + {"": "", "gzip": ".gz", "zstd": ".zst"}[packing]
    plain = recognise_columns if name == "txt" else recognise
    return Format(
        name=name,
        suffixes=(suffix,),
        read=functools.partial(read, packing=packing, usual=delimiter),
        write=functools.partial(write, packing=packing),
        typed=False,
        nested=False,
        options={**OPTIONS, "delimiter": delimiter},
        detect=functools.partial(detect, packing=packing, usual=delimiter),
        recognise=_recognise_packed(packing) if packing else plain,
        reading=READING,
        writing=WRITING,
        own=("delimiter",) if fixed else (),
        in_pieces=functools.partial(in_pieces, packing=packing),
        packing=packing,
        read_back={"header": True},
        unquoted_gaps=True,
    )


CSV, CSV_GZ, CSV_ZST = (_entry("csv", ",", packing) for packing in ("", "gzip", "zstd"))
TSV, TSV_GZ, TSV_ZST = (
    _entry("tsv", "\t", packing, fixed=True) for packing in ("", "gzip", "zstd")
)
TXT, TXT_GZ, TXT_ZST = (_entry("txt", "\t", packing) for packing in ("", "gzip", "zstd"))
