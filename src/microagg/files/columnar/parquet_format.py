"""Parquet files: every type of Arrow, nothing to choose."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.columnar.arrow_format import LEAST_A_RECORD, check_broken
from microagg.files.format import EMPTY, RECORDS_IN_A_PIECE, Format
from microagg.files.unpacking import check_larger, largest_table

if TYPE_CHECKING:
    import pyarrow as pa


WIDTHS = {"BOOLEAN": 0.125, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""The bytes that a value takes, whatever was done to pack it."""


def read(path: Path) -> pa.Table:
    """Read the columns of a parquet file, without its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    from microagg.table.columns.arrow import bytes_spelled_out, names_within

    if path.stat().st_size == 0:
        raise InputError(EMPTY.format(str(path)))
    try:
        # not read_table(): it takes folders named like "year=2024" on the way for columns
        with parquet.ParquetFile(path) as file:
            names_within(file.schema_arrow)  # which may not be in UTF-8
            texts = _check_bombs(path, file)
            table = file.read() if not texts else None
        if table is None:
            with parquet.ParquetFile(path, read_dictionary=texts) as file:
                table = _unpacked(path, file)
    except MemoryError:  # Arrow's own is one
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"{str(path)!r} is not a readable parquet file; write it anew.") from None
    check_broken(table, path)
    check_larger(path, bytes_spelled_out(table), largest_table(path))
    return pa.Table.from_arrays(
        table.columns,
        schema=pa.schema([pa.field(field.name, field.type) for field in table.schema]),
    )


def _check_bombs(path: Path, file: Any) -> list[str]:
    """Refuse a small file that claims more values than fit into memory.

    Returns the columns of text or bytes that may still be larger than they look: few distinct
    values, each repeated many times.
    """
    about, most = file.metadata, largest_table(path)
    rows = max(
        about.num_rows,
        sum(about.row_group(group).num_rows for group in range(about.num_row_groups)),
    )
    fixed, loose, texts = 0, 0, set()
    for index in range(about.num_columns):
        column = about.schema.column(index)
        packed = [about.row_group(group).column(index) for group in range(about.num_row_groups)]
        check_larger(
            path, max((chunk.total_uncompressed_size for chunk in packed), default=0), most
        )
        values = max(rows, sum(chunk.num_values for chunk in packed))
        fixed += values * WIDTHS.get(column.physical_type, max(column.length, 1))
        if column.physical_type == "BYTE_ARRAY":
            texts.add(column.path)
            loose += sum(
                about.row_group(group).num_rows * chunk.total_uncompressed_size
                for group, chunk in enumerate(packed)
            )
    check_larger(path, max(fixed, LEAST_A_RECORD * rows), most)
    flat = {field.name for field in file.schema_arrow}
    return sorted(texts & flat) if loose > most else []


def _unpacked(path: Path, file: Any) -> pa.Table:
    """Read a table with dictionary-encoded texts; refuse it if it would be too large decoded."""
    import pyarrow as pa

    from microagg.table.columns.arrow import bytes_of
    from microagg.table.columns.arrow import compute as pc

    most, held, tables = largest_table(path), 0, []
    kinds = file.metadata.schema.to_arrow_schema()
    for group in range(file.num_row_groups):
        part = file.read_row_group(group)
        columns = []
        for field, column in zip(kinds, part.columns, strict=True):
            if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
                for chunk in column.chunks:
                    lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
                    held += pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
                check_larger(path, held, most)
                column = pc.cast(column, field.type)
            columns.append(column)
        tables.append(pa.table(columns, names=part.column_names))
        held += bytes_of(tables[-1])
        check_larger(path, held, most)
    return pa.concat_tables(tables) if tables else kinds.empty_table()


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a parquet file."""
    with in_pieces(path, table.schema) as write_piece:
        for first in range(0, table.num_rows, RECORDS_IN_A_PIECE):
            write_piece(table.slice(first, RECORDS_IN_A_PIECE))


@contextlib.contextmanager
def in_pieces(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that writes row groups of `RECORDS_IN_A_PIECE` records, but the last.

    The bytes of a file follow from its values and their types alone, not from their layout in
    memory.
    """
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as file:

        def write_piece(rows: pa.Table) -> None:
            file.write_table(rows.combine_chunks(), row_group_size=RECORDS_IN_A_PIECE)

        yield write_piece


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as parquet files do."""
    return beginning.startswith(b"PAR1")


PARQUET = Format(
    name="parquet",
    suffixes=(".parquet",),
    read=read,
    write=write,
    typed=True,
    nested=True,
    recognise=recognise,
    in_pieces=in_pieces,
)
