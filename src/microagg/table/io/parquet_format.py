"""Parquet files: every type of Arrow, nothing to choose."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from microagg.errors import InputError
from microagg.table.io.arrow_format import refuse_broken
from microagg.table.io.format import RECORDS_IN_A_PIECE, Format

if TYPE_CHECKING:
    import pyarrow as pa


def read(path: Path) -> pa.Table:
    """The columns of a parquet file, and nothing else that it carries."""
    import pyarrow as pa
    from pyarrow import parquet

    if path.stat().st_size == 0:
        raise InputError(f"{str(path)!r} is empty; it needs columns and at least one record.")
    try:
        # not read_table(): it takes folders named like "year=2024" on the way for columns
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except MemoryError:  # Arrow's own is one
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"{str(path)!r} is not a readable parquet file; write it anew.") from None
    refuse_broken(table, path)
    return pa.Table.from_arrays(
        table.columns, schema=pa.schema([pa.field(field.name, field.type) for field in table.schema])
    )


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a parquet file."""
    with in_pieces(path, table.schema) as write_piece:
        for first in range(0, table.num_rows, RECORDS_IN_A_PIECE):
            write_piece(table.slice(first, RECORDS_IN_A_PIECE))


@contextlib.contextmanager
def in_pieces(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """What writes a parquet file row group by row group: each of `RECORDS_IN_A_PIECE` records, but the last.

    The bytes of a file follow from its values and their types alone, not from how they lay in memory.
    """
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as file:

        def write_piece(rows: pa.Table) -> None:
            file.write_table(rows.combine_chunks(), row_group_size=RECORDS_IN_A_PIECE)

        yield write_piece


def recognise(beginning: bytes) -> bool:
    """Whether a file begins as parquet files do."""
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
