"""Reading of a written table for its verification: by record number, or as text again where the
format has no types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import GuaranteeError, InputError
from microagg.files.chunks import Source
from microagg.files.comparing import OTHER_VALUES
from microagg.files.format import Format
from microagg.files.text.batches import names_of_text
from microagg.files.text.csv_writing import places_of_unquoted_gaps
from microagg.files.text.locale_columns import in_plain_terms
from microagg.pipeline.piece_intake import set_written_aside
from microagg.pipeline.text_intake import TextFile, read_text_file, source_of
from microagg.release.saving import OTHER_COLUMNS, UNREADABLE
from microagg.runtime.executor import Executor
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.field_metadata import missing_mark
from microagg.table.columns.text_types import text_type_of, with_values
from microagg.table.special_values import as_times


def read_back(
    part: Path,
    format: Format,
    like: pa.Schema,
    options: Mapping[str, Any],
    executor: Executor,
    room: Path,
    tell: Callable[[int], None],
) -> Source | ReadBack:
    """The table that lies there; `like` are the columns that were written, with their marks."""
    if format.typed and format.read_pieces is None:
        return Source.of_part(part, format.name)
    folder = room / "written"
    folder.mkdir(mode=0o700, exist_ok=True)
    if format.read_pieces is not None:
        return _read_pieces_back(part, format, like, options, executor, folder, tell)
    how = format.packing, options["encoding"], options["delimiter"]
    try:
        names = names_of_text(part, *how)
        file = TextFile(
            str(part),
            *how,
            tuple(names),
            escaped=bool(options["escape_formulas"]),
            gaps=places_of_unquoted_gaps(like),
        )
        pieces = executor.run_exclusive(read_text_file, file, str(folder), tell=tell)
    except (InputError, pa.ArrowException):
        raise GuaranteeError(UNREADABLE) from None
    names = _unescaped(names) if file.escaped else names
    texts = source_of(pieces, pa.schema([(name, pa.string()) for name in names]))
    if names != like.names:
        raise GuaranteeError(OTHER_COLUMNS)
    return ReadBack(texts, like, options)


def _read_pieces_back(
    part: Path,
    format: Format,
    like: pa.Schema,
    options: Mapping[str, Any],
    executor: Executor,
    folder: Path,
    tell: Callable[[int], None],
) -> Source | ReadBack:
    try:
        named = f"out{format.suffixes[0]}"
        pieces, schema = executor.run_exclusive(
            set_written_aside, str(part), named, str(folder), tell=tell
        )
    except (InputError, pa.ArrowException):
        raise GuaranteeError(UNREADABLE) from None
    source = source_of(pieces, schema or pa.schema([]))
    return source if format.typed else ReadBack(source, like, options)


def _unescaped(names: list[str]) -> list[str]:
    from microagg.files.text.formulas import unescaped

    return unescaped(pa.schema([(name, pa.string()) for name in names]).empty_table()).column_names


@dataclass(frozen=True)
class ReadBack:
    """A text file that was written, taken in again: as text, as it is in the file, and in the types
    of what was released.
    """

    texts: Source
    like: pa.Schema
    """The columns that were written, with their marks."""
    options: Mapping[str, Any]

    @property
    def records(self) -> int:
        """Return the number of records."""
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
        columns = [_typed(plain.column(index), field) for index, field in enumerate(like)]
        return pa.Table.from_arrays(columns, schema=with_values(like.empty_table()).schema)

    def read(self, first: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
        """Some records in the types that they had."""
        return self.typed(self.texts.read(first, count, names))


def _typed(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    kind = field.type
    if (of_values := text_type_of(field)) is not None:
        return of_values.values(column)
    if column.type == kind or is_text(kind):
        return pc.cast(column, kind)
    if marker := missing_mark(field):
        column = pc.if_else(pc.equal(column, marker), pa.scalar(None, column.type), column)
    try:
        if pa.types.is_floating(kind):
            return pc.cast(pc.cast(column, pa.float64()), kind)
        return as_times(column, kind) if pa.types.is_temporal(kind) else pc.cast(column, kind)
    except pa.ArrowException:
        raise GuaranteeError(OTHER_VALUES.format(field.name)) from None
