"""Parquet files: every type of Arrow, nothing to choose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from microagg.errors import InputError
from microagg.table.io.arrow_format import refuse_broken
from microagg.table.io.format import Format

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
    from pyarrow import parquet

    parquet.write_table(table, path)


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
)
