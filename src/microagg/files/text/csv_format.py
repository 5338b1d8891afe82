"""Separated text, plain or packed (csv, tsv, txt). Cells are kept to the letter ("007" stays
"007").
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.format import Format
from microagg.files.text.csv_errors import check_csv, check_open_quote
from microagg.files.text.csv_header import delimiter_in, header_of, line_end_of, names_in
from microagg.files.text.decoding import Source, open_text
from microagg.files.text.encoding_detection import MAGIC, OTHERS
from microagg.files.text.formulas import escaped_column, unescaped, with_texts
from microagg.files.text.headers import UNCLEAR_HEADER, FirstRow, check_unclear_names
from microagg.files.text.quoting import with_gaps_at, with_unquoted_gaps
from microagg.sentences import Assignment, sentence
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

LONGEST_RECORD = 1 << 30
NO_TEXT = set(range(32)) - set(b"\t\n\r\f")


def read(
    path: Path,
    delimiter: str | None = None,
    *,
    header: bool | None = None,
    line_end: str | None = None,
    escape_formulas: bool = False,
    unquoted_gaps: Sequence[int] | None = None,
    **options: Any,
) -> pa.Table:
    """Read all columns as text; the table keeps its dialect in its metadata.

    An empty cell without quotes is missing. So is NA without quotes in columns of quoted text,
    which are detected, or are those with the indices `unquoted_gaps`.

    Unless `header` is given, a first row that looks like a record is refused. The other `options`
    are those of `begun`; `line_end` is detected, whatever is given.
    """
    dialect, source, first = begun(path, delimiter, **options)
    table = _read(path, source, first, dialect.delimiter, header, gaps=unquoted_gaps)
    table = unescaped(table) if escape_formulas else table
    return dialect.put_on(table)


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
    """Return dialect, text and first row of a text file; options of the user take precedence.

    `packing` and the `usual` delimiter are those of the format.
    """
    from microagg.files.text.dialect import Dialect

    check_same_signs({"decimal": decimal, "thousands": thousands})
    source = open_text(path, packing, encoding, aside).without_rows(skip_rows or 0)
    if source is None:
        raise InputError(
            sentence(
                f"{str(path)!r} has no more than ",
                Assignment("skip_rows", skip_rows),
                " rows; skip fewer.",
            )
        )
    first = header_of(source)
    if not first.strip():
        raise InputError(
            f"{str(path)!r} is empty or begins with an empty line; it needs a header and "
            f"records. If these come "
            "later, say how many rows to pass over: --skip-rows (in Python skip_rows)."
        )
    dialect = Dialect(
        delimiter or delimiter_in(first, usual),
        source.encoding,
        line_end_of(first),
        decimal,
        thousands,
        dates,
    )
    return dialect, source, first


def names_and_header(
    path: Path, first: str, delimiter: str, header: bool | None
) -> tuple[list[str], bool]:
    """Return the names of the columns, and True if the first row holds them.

    A first row that looks like a record is refused, and so are unclear names.
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
        raise InputError(UNCLEAR_HEADER.format(str(path)))
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
    """Read the records of a file, from its `first` row on or after a header."""
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
    """Write a table as a text file: missing as an empty cell, empty text as a pair of quotes.

    Columns that were read from such a file keep their marker of missing values and their pattern of
    dates (see `field_metadata.py`). With `escape_formulas` an apostrophe precedes texts that a
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
    table = with_texts(table, escaped_column) if escape_formulas else table
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
    """Yield a function that writes pieces of a text file, with the same bytes as `write`.

    A line depends on its record and the metadata of the columns alone.
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
        first = with_texts(first, escaped_column) if escape_formulas else first
        write_header(first.column_names, sink, delimiter, end)

        def write_piece(rows: pa.Table) -> None:
            table, bare, gaps = as_they_were_read(rows, style, dates)
            table = with_texts(table, escaped_column) if escape_formulas else table
            write_lines(table, sink, delimiter, bare, end, gaps)

        yield write_piece


def detect(path: Path, packing: str = "", usual: str = ",") -> dict[str, Any]:
    """Detect the encoding, line end and delimiter of a file."""
    return found_in(path, packing, usual).options


def found_in(path: Path, packing: str = "", usual: str = ",") -> Dialect:
    """Detect the dialect of a file from its header and encoding, without looking at its numbers."""
    from microagg.files.text.dialect import Dialect

    source = open_text(path, packing)
    first = header_of(source)
    return Dialect(delimiter_in(first, usual), source.encoding, line_end_of(first))


def recognise(beginning: bytes) -> bool:
    r"""Check if a file begins as text does, and neither as JSON nor as a web page.

    >>> recognise(b"age;income\n"), recognise("größe\n".encode("cp1252"))
    (True, True)
    >>> recognise(b"PAR1\x15\x04"), recognise(b'{"k": 5}')
    (False, False)
    """
    if beginning.startswith((*OTHERS, *MAGIC.values())):
        return False
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        beginning = beginning[: len(beginning) // 2 * 2].decode("utf-16", errors="replace").encode()
    return beginning.lstrip()[:1] not in (b"{", b"<") and not set(beginning) & NO_TEXT


def recognise_columns(beginning: bytes) -> bool:
    r"""Check if a file begins as text in columns does: other .txt files must not be replaced.

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


def _entry(name: str, delimiter: str, packing: str = "", *, fixed: bool = False) -> Format:
    """Return the format of one suffix. With a `fixed` delimiter, that of the input is ignored."""
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
        fixed_options=("delimiter",) if fixed else (),
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
