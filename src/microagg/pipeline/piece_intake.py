"""Files of formats that are read piece by piece: set aside as pieces of Arrow, as input out of core
and for the verification of what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import FitsInMemoryError
from microagg.files.chunks import READ_IN_PIECES, Source, is_in_parts
from microagg.files.columnar.parquet_folder import format_to_write
from microagg.files.commit.journal import settle
from microagg.files.format import RECORDS_IN_A_PIECE
from microagg.files.formats import format_of, options_to_read
from microagg.files.reading import check_unreadable
from microagg.files.stores.locations import Url, parse_location
from microagg.files.text.dialect import Dialect
from microagg.pipeline.block_plan import needs_plan
from microagg.pipeline.text_input import is_text_file
from microagg.pipeline.text_intake import (
    NO_RECORDS,
    TextSettings,
    in_tables_of,
    source_of,
    typed_source,
    write_spill_file,
)
from microagg.release.settings import Settings
from microagg.runtime.executor import Executor, Tell
from microagg.runtime.spill import SpillFolder, explain_full_disk
from microagg.table.schema import Role, check_duplicates

Pieces = tuple[tuple[tuple[str, int], ...], pa.Schema | None]
"""Paths and numbers of records of what was set aside, and its columns."""


def is_piece_file(path: str | Path | Url) -> bool:
    """Return True if this is a local file whose format declares a reader of pieces."""
    location = parse_location(path)
    if isinstance(location, Url) or is_in_parts(location) or is_text_file(location):
        return False
    format = format_of(location)
    return format.read_pieces is not None and format.name not in READ_IN_PIECES


def facts_of_pieces(path: Path, reading: Mapping[str, Any]) -> tuple[int, pa.Schema] | None:
    """Return the number of records of such a file and its columns; None if it has none."""
    records, schema = 0, None
    for rows in _pieces_in(path, reading):
        records, schema = records + rows.num_rows, rows.schema
    return None if schema is None else (records, schema)


def intake_pieces(path: Path, settings: Settings, spill: SpillFolder, memory: int) -> Source:
    """Return the table of such a file, set aside; texts of a format without types are typed."""
    format = format_of(path)
    check_unreadable(path)
    with explain_full_disk("while the file was taken in"):
        pieces, schema = _set_aside(_pieces_in(path, settings.reading), spill.folder)
        source = source_of(pieces, schema or pa.schema([]))
        check_duplicates(source.schema.names)
        if not source.records:
            raise FitsInMemoryError(NO_RECORDS.format(str(path)))
        if not needs_plan(source.records, len(settings.roles[Role.QUASI]), settings.k):
            raise FitsInMemoryError("the table is one block and was processed in memory.")
        if format.typed:
            return source
        numbers = frozenset(settings.numbers)
        of_texts = TextSettings(settings.reading, numbers, settings.columns)
        return typed_source(source, of_texts, Dialect(), spill.folder, memory, {})


def set_written_aside(threads: Executor, tell: Tell, part: str, target: str, folder: str) -> Pieces:
    """A task: set the records of a file that was written aside; `target` names its format."""
    format = format_to_write(Path(target))
    assert format.read_pieces is not None
    return _set_aside(format.read_pieces(Path(part), **format.read_back), Path(folder))


def _pieces_in(path: Path, reading: Mapping[str, Any]) -> Iterator[pa.Table]:
    format = format_of(path)
    settle(path)
    assert format.read_pieces is not None
    return format.read_pieces(path, **options_to_read(format, reading))


def _set_aside(tables: Iterator[pa.Table], folder: Path) -> Pieces:
    pieces, schema = [], None
    for number, rows in enumerate(in_tables_of(tables, RECORDS_IN_A_PIECE)):
        path = str(folder / f"texts-{number}.arrow")
        write_spill_file(path, rows)
        pieces.append((path, rows.num_rows))
        schema = rows.schema
    return tuple(pieces), schema
