"""Text files taken in: read once from end to end, set aside as pieces of Arrow that can be read by record number."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.engine.executor import Executor, Tell, asked_to_stop
from microagg.engine.spill import told_if_full, write_plainly
from microagg.errors import Cancelled, GuaranteeError
from microagg.table.atoms import as_times
from microagg.table.io import system
from microagg.table.io.arrow import compute as pc
from microagg.table.io.arrow import is_text
from microagg.table.io.chunks import Source
from microagg.table.io.csv_format import unescaped
from microagg.table.io.format import RECORDS_IN_A_PIECE
from microagg.table.io.marks import missing_mark
from microagg.table.io.spelled_columns import in_plain_terms
from microagg.table.io.text_pieces import batches_of_text

AT_ONCE = 1 << 16
"""Records of a batch of what is set aside."""


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

    def tables(self) -> Iterator[pa.Table]:
        """Its records, as columns of text, some at a time."""
        for batch in batches_of_text(
            Path(self.path), self.packing, self.encoding, self.delimiter, self.names, header=self.header, quotes=self.quotes
        ):  # fmt: skip
            table = pa.Table.from_batches([batch])
            yield unescaped(table) if self.escaped else table


def take_in(threads: Executor, tell: Tell, file: TextFile, folder: str) -> tuple[tuple[str, int], ...]:
    """A task: set the records of a text file aside as pieces of text; returns where they lie, and how many each has."""
    found = []
    for number, rows in enumerate(in_tables_of(file.tables(), RECORDS_IN_A_PIECE)):
        path = f"{folder}/texts-{number}.arrow"
        set_aside(path, rows)
        tell(rows.num_rows)
        found.append((path, rows.num_rows))
    return tuple(found)


def source_of(pieces: Sequence[tuple[str, int]], schema: pa.Schema) -> Source:
    """What was set aside, as a table."""
    counts = tuple(
        tuple(min(AT_ONCE, count - first) for first in range(0, count, AT_ONCE)) for _, count in pieces
    )
    return Source(tuple(path for path, _ in pieces), "Arrow", counts, schema)


def in_tables_of(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same records in tables of so many, but the last.

    >>> [part.num_rows for part in in_tables_of([pa.table({"a": [1, 2, 3]}), pa.table({"a": [4, 5]})], 2)]
    [2, 2, 1]
    """
    held: list[pa.Table] = []
    for table in tables:
        if asked_to_stop():
            raise Cancelled("stopped; nothing was written.")
        held.append(table)
        while sum(each.num_rows for each in held) >= size:
            whole = pa.concat_tables(held)
            yield whole.slice(0, size).combine_chunks()
            rest = whole.slice(size)
            held = [rest.combine_chunks()] if rest.num_rows else []
    if held:
        yield pa.concat_tables(held).combine_chunks()


def set_aside(path: str, rows: pa.Table) -> None:
    """Write a piece in batches of a fixed size, under a name of its own until it is whole."""
    part = Path(f"{path}.{secrets.token_hex(4)}.part")
    batches = [
        batch
        for first in range(0, rows.num_rows, AT_ONCE)
        for batch in rows.slice(first, AT_ONCE).combine_chunks().to_batches()
    ]
    with told_if_full("while parts of the table were set aside"):
        try:
            system.fill(part, lambda place: write_plainly(place, rows.schema, batches))
            system.rename(part, Path(path))
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@dataclass(frozen=True)
class ReadBack:
    """A text file that was written, taken in again: as text, as it is in the file, and in the types of what was released."""

    texts: Source
    like: pa.Schema
    """The columns that were written, with their marks."""
    options: Mapping[str, Any]

    @property
    def records(self) -> int:
        """How many there are."""
        return self.texts.records

    @property
    def schema(self) -> pa.Schema:
        """The columns, all of them text."""
        return self.texts.schema

    def chunks(self, size: int) -> list[tuple[int, int]]:
        """(first, count) of chunks of so many records."""
        return self.texts.chunks(size)

    def as_written(self, first: int, count: int) -> pa.Table:
        """Some records, as text."""
        return self.texts.read(first, count)

    def typed(self, written: pa.Table) -> pa.Table:
        """Such records in the types that they had."""
        like = pa.schema([self.like.field(name) for name in written.column_names])
        plain = in_plain_terms(written, like.empty_table(), self.options)
        columns = [_typed(plain.column(place), field) for place, field in enumerate(like)]
        return pa.Table.from_arrays(columns, schema=like)

    def read(self, first: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
        """Some records in the types that they had."""
        return self.typed(self.texts.read(first, count, names))


def _typed(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    kind = field.type
    if column.type == kind or is_text(kind):
        return pc.cast(column, kind)
    if marker := missing_mark(field):
        column = pc.if_else(pc.equal(column, marker), pa.scalar(None, column.type), column)
    try:
        if pa.types.is_floating(kind):
            return pc.cast(pc.cast(column, pa.float64()), kind)
        return as_times(column, kind) if pa.types.is_temporal(kind) else pc.cast(column, kind)
    except pa.ArrowException:
        raise GuaranteeError(
            f"the file does not give back the values of column {field.name!r}; nothing was written."
        ) from None
