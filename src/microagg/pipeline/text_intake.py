"""Text files taken in: read once from end to end, set aside as pieces of Arrow that can be read by
record number.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from microagg.errors import CancelledError, InputError
from microagg.files.chunks import Source
from microagg.files.commit import system
from microagg.files.commit.journal import settle
from microagg.files.format import RECORDS_IN_A_PIECE
from microagg.files.formats import format_of, options_to_read
from microagg.files.reading import check_unreadable, notes_on_dates, typed_column
from microagg.files.text.batches import batches_of_text, text_stream
from microagg.files.text.csv_errors import check_csv, check_open_quote
from microagg.files.text.csv_format import begun, names_and_header
from microagg.files.text.decoding import Source as Text
from microagg.files.text.decoding import open_text
from microagg.files.text.dialect import (
    Dialect,
    asks_for_signs,
    note_on_encoding,
    signs_of,
    with_signs,
)
from microagg.files.text.dialect import tell as tell_notes
from microagg.files.text.formulas import unescaped
from microagg.files.text.headers import UNCLEAR_HEADER, FirstRow
from microagg.files.text.quoting import (
    MARKERS,
    columns_with_markers,
    marked_missing,
    quoted_columns,
    unquoted_markers,
    without_unquoted,
)
from microagg.runtime.executor import Executor, Tell, is_cancelled
from microagg.runtime.spill import explain_full_disk, write_plainly
from microagg.table.columns.arrow import bytes_of, release_unused_memory
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK
from microagg.table.schema import ColumnSettings, check_duplicates

AT_ONCE = 1 << 16
"""Records of a batch of what is set aside."""
TIMES = 5  # what typing a column of text takes, in times of its own bytes
LEAST_MEMORY = 50_000_000
NO_RECORDS = "{!r} has a header but no records; there is nothing to protect."
NOTED = 1000  # records that are looked at for what there is to tell


@dataclass(frozen=True)
class TextFile:
    """A text file whose dialect is known."""

    path: str
    packing: str
    encoding: str
    delimiter: str
    names: tuple[str, ...]
    header: bool = True
    escaped: bool = False
    """Whether an apostrophe stands before texts that look like formulas."""
    quotes: bool = True
    skipped: int = 0
    """Bytes before the first row."""
    gaps: tuple[int, ...] = ()
    """Places of columns of quoted text in which markers without quotes mean missing."""

    def tables(self) -> Iterator[pa.Table]:
        """Its records, as columns of text, some at a time."""
        how = Path(self.path), self.packing, self.delimiter, self.names
        dialect: Any = {"header": self.header, "quotes": self.quotes, "skipped": self.skipped}
        batches = map(
            pa.Table.from_batches, ([batch] for batch in batches_of_text(*how, **dialect))
        )
        if self.gaps:
            names = [self.names[index] for index in self.gaps]
            again = batches_of_text(*how, **dialect, wanted=names, missing=("", *MARKERS))
            batches = itertools.starmap(self._with_gaps, zip(batches, again, strict=True))
        for table in batches:
            yield unescaped(table) if self.escaped else table

    def _with_gaps(self, table: pa.Table, again: pa.RecordBatch) -> pa.Table:
        """Records with null where they are null when markers without quotes are."""
        for index, column in zip(self.gaps, again.columns, strict=True):
            whole, _ = without_unquoted(table.column(index), pa.chunked_array([column.is_null()]))
            table = table.set_column(index, table.schema.field(index), whole)
        return table


def read_text_file(
    threads: Executor, tell: Tell, file: TextFile, folder: str
) -> tuple[tuple[str, int], ...]:
    """A task: set the records of a text file aside as pieces of text; returns where they lie, and
    how many each has.
    """
    pieces = []
    with _in_utf8(file, Path(folder)) as plain:
        for number, rows in enumerate(in_tables_of(plain.tables(), RECORDS_IN_A_PIECE)):
            path = f"{folder}/texts-{number}.arrow"
            write_spill_file(path, rows)
            tell(rows.num_rows)
            pieces.append((path, rows.num_rows))
    return tuple(pieces)


@contextlib.contextmanager
def _in_utf8(file: TextFile, folder: Path) -> Iterator[TextFile]:
    """The same file in UTF-8, which lies in the folder meanwhile if it is in another encoding."""
    if file.encoding in (UTF8, UTF8_WITH_MARK):
        yield file
        return
    content = open_text(Path(file.path), file.packing, file.encoding, folder).content
    assert isinstance(content, Path)
    try:
        yield replace(file, path=str(content), packing="", encoding=UTF8)
    finally:
        for name in ("unpacked", "decoded"):
            (folder / name).unlink(missing_ok=True)


def source_of(pieces: Sequence[tuple[str, int]], schema: pa.Schema) -> Source:
    """Return spilled pieces as a table."""
    counts = tuple(
        tuple(min(AT_ONCE, count - first) for first in range(0, count, AT_ONCE))
        for _, count in pieces
    )
    return Source(tuple(path for path, _ in pieces), "Arrow", counts, schema)


def in_tables_of(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same records in tables of so many, but the last.

    >>> tables = pa.table({"a": [1, 2, 3]}), pa.table({"a": [4, 5]})
    >>> [part.num_rows for part in in_tables_of(tables, 2)]
    [2, 2, 1]
    """
    held: list[pa.Table] = []
    for table in tables:
        if is_cancelled():
            raise CancelledError("stopped; nothing was written.")
        held.append(table)
        while sum(part.num_rows for part in held) >= size:
            whole = pa.concat_tables(held)
            yield whole.slice(0, size).combine_chunks()
            rest = whole.slice(size)
            held = [rest.combine_chunks()] if rest.num_rows else []
    if held:
        yield pa.concat_tables(held).combine_chunks()


def write_spill_file(path: str, rows: pa.Table) -> None:
    """Write a piece in batches of a fixed size, under a name of its own until it is whole."""
    part = Path(f"{path}.{secrets.token_hex(4)}.part")
    batches = [
        batch
        for first in range(0, rows.num_rows, AT_ONCE)
        for batch in rows.slice(first, AT_ONCE).combine_chunks().to_batches()
    ]
    with explain_full_disk("while temporary files were written"):
        try:
            system.fill(part, lambda path: write_plainly(path, rows.schema, batches))
            system.rename(part, Path(path))
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@dataclass(frozen=True)
class TextIntake:
    """A text file that was taken in: the table that reading it in memory gives, set aside, and its
    dialect.
    """

    source: Source
    dialect: Dialect


def intake_text(
    path: Path, settings: TextSettings, folder: Path, memory: int, tell: Tell
) -> TextIntake:
    """The table of a text file, as `read_table` gives it: its texts set aside, then typed column by
    column.

    One column at a time is in memory, for what it means is told by all of its cells; one that does
    not fit is refused.
    """
    format = format_of(path)
    settle(path)
    check_unreadable(path)
    options = options_to_read(format, settings.reading)
    header = options.pop("header", None)
    dialect, text, first = begun(
        path, **options, packing=format.packing, usual=format.options["delimiter"], aside=folder
    )
    names, has_header = names_and_header(path, first, dialect.delimiter, header)
    if has_header and not first.endswith(("\n", "\r")):
        raise InputError(NO_RECORDS.format(str(path)))
    pieces, wanted = _texts_of(
        path,
        text,
        dialect,
        names,
        folder,
        has_header=has_header,
        header_is_detected=header is None,
        tell=tell,
    )
    check_duplicates(names)
    if not pieces:
        raise InputError(NO_RECORDS.format(str(path)))
    texts = source_of(pieces, pa.schema([(name, pa.string()) for name in names]))
    notes = [] if settings.reading.get("encoding") else note_on_encoding(path, dialect.encoding)
    more: list[str] = []
    if asks_for_signs(dialect):
        signs = {name: signs_of(_column(texts, name, memory), settings.columns) for name in names}
        dialect, more = with_signs(dialect, signs)
    unquoted = unquoted_markers(text, dialect.delimiter, names, wanted, header=has_header)
    source = typed_source(texts, settings, dialect, folder, memory, unquoted)
    few = source.read(0, min(source.records, NOTED))
    tell_notes([*notes, *more, *notes_on_dates(few, settings.quasi, settings.columns, dialect)])
    return TextIntake(source, dialect)


def typed_source(
    texts: Source,
    settings: TextSettings,
    dialect: Dialect,
    folder: Path,
    memory: int,
    unquoted: dict[str, pa.ChunkedArray],
) -> Source:
    """Return a table of texts that was set aside in the types that its columns mean.

    `unquoted` has the cells of columns in which markers without quotes mean missing.
    """
    fields = []
    for index, name in enumerate(texts.schema.names):
        column, marker = _column(texts, name, memory), ""
        if name in unquoted:
            column, marker = without_unquoted(column, unquoted.pop(name))
        field, typed = typed_column(
            name, column, frozenset(), settings.quasi, settings.columns, dialect
        )
        field = marked_missing(field, marker)
        fields.append(field)
        _set_column_aside(
            pa.Table.from_arrays([typed], schema=pa.schema([field])), texts, folder, index
        )
        del column, typed
        release_unused_memory()
    return _put_together(texts, pa.schema(fields), folder)


@dataclass(frozen=True)
class TextSettings:
    """Settings of a text file and its columns."""

    reading: Mapping[str, Any]
    quasi: frozenset[str]
    columns: ColumnSettings


def _texts_of(
    path: Path,
    text: Text,
    dialect: Dialect,
    names: list[str],
    folder: Path,
    *,
    has_header: bool,
    header_is_detected: bool,
    tell: Tell,
) -> tuple[list[tuple[str, int]], list[str]]:
    """The records of a text file as pieces of text, and the columns of quoted text that hold
    markers of missing values.

    What is wrong with the file is refused as it is in memory.
    """
    quotes = text.has_quotes()
    quoted = quoted_columns(text, dialect.delimiter, names, header=has_header) if quotes else []
    wanted: set[str] = set()
    assert isinstance(text.content, Path)
    file = TextFile(
        str(text.content),
        "",
        UTF8,
        dialect.delimiter,
        tuple(names),
        header=has_header,
        quotes=quotes,
        skipped=text.skipped,
    )
    pieces: list[tuple[str, int]] = []
    last, row = None, FirstRow(names)
    parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=quotes)
    try:
        if has_header:
            _check_unclear_header(path, file, parse)
        for number, rows in enumerate(in_tables_of(file.tables(), RECORDS_IN_A_PIECE)):
            if has_header and header_is_detected:
                row.add_table(rows)
            wanted.update(columns_with_markers(rows, set(quoted) - wanted))
            write_spill_file(f"{folder}/texts-{number}.arrow", rows)
            pieces.append((f"{folder}/texts-{number}.arrow", rows.num_rows))
            tell(rows.num_rows)
            last = rows
    except (pa.ArrowException, UnicodeDecodeError):
        check_csv(path, text, parse, names, header=has_header)
    if has_header and header_is_detected:
        row.check_record(path)
    if last is not None:
        check_open_quote(path, text, last, sum(count for _, count in pieces))
    return pieces, [name for name in names if name in wanted]


def _check_unclear_header(path: Path, file: TextFile, parse: Any) -> None:
    """Refuse a header in which Arrow finds other names."""
    texts = arrow_csv.ConvertOptions(column_types={name: pa.string() for name in file.names})
    reading = arrow_csv.ReadOptions(use_threads=False)
    try:
        with (
            text_stream(Path(file.path), "", UTF8, file.skipped) as stream,
            arrow_csv.open_csv(stream, reading, parse, texts) as reader,
        ):
            names = reader.schema.names
    except (pa.ArrowException, OSError):  # whoever reads it says why
        return
    if names != list(file.names):
        raise InputError(UNCLEAR_HEADER.format(str(path)))


def _column(texts: Source, name: str, memory: int) -> pa.ChunkedArray:
    """All cells of a column; refused where there is no room for it."""
    head = texts.read(0, min(texts.records, AT_ONCE), [name])
    needed = TIMES * bytes_of(head) / max(head.num_rows, 1) * texts.records
    if needed > max(memory, LEAST_MEMORY):
        raise InputError(
            f"memory of {memory / 1e6:,.0f} MB is less than column {name!r} of this text "
            f"file needs, about {needed / 1e6:,.0f} MB; give it that "
            "much, or write the table as a parquet file first."
        )
    return texts.read(0, texts.records, [name]).column(name)


def _set_column_aside(column: pa.Table, texts: Source, folder: Path, index: int) -> None:
    first = 0
    for number, counts in enumerate(texts.pieces):
        write_spill_file(
            f"{folder}/column-{index}-{number}.arrow", column.slice(first, sum(counts))
        )
        first += sum(counts)


def _put_together(texts: Source, schema: pa.Schema, folder: Path) -> Source:
    """The columns that were set aside as one table; what it was made from goes."""
    pieces = []
    for number, counts in enumerate(texts.pieces):
        files = [f"{folder}/column-{index}-{number}.arrow" for index in range(len(schema))]
        columns = []
        for field, path in zip(schema, files, strict=True):
            with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
                columns.append(pa.chunked_array(reader.read_all().column(0).chunks, field.type))
        path = f"{folder}/typed-{number}.arrow"
        write_spill_file(path, pa.Table.from_arrays(columns, schema=schema).combine_chunks())
        pieces.append((path, sum(counts)))
        for left in (*files, texts.files[number]):
            Path(left).unlink()
    return source_of(pieces, schema)
