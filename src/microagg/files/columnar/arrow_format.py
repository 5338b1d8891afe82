"""Arrow files (IPC files, also called Feather): every type of Arrow, nothing to choose."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from microagg.errors import InputError
from microagg.files.columnar.arrow_blocks import DamagedError, claims_of
from microagg.files.format import EMPTY, Format
from microagg.files.unpacking import check_larger, largest_table

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"ARROW1"
RECORDS_AT_ONCE = 1 << 16
LEAST_A_RECORD = 8
"""Bytes counted for a record even if the file holds nothing of it."""


def read(path: Path) -> pa.Table:
    """Read the columns of an Arrow file, without its metadata."""
    import pyarrow as pa

    from microagg.table.columns.arrow import bytes_of, bytes_spelled_out, names_within, without_runs

    _check_other_files(path)
    most = largest_table(path)
    held, batches = 0, []
    try:
        check_claims(path, sum)
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            schema = reader.schema
            for number in range(reader.num_record_batches):
                batches.append(reader.get_batch(number))
                held += bytes_of(batches[-1])
                check_larger(path, held, most)
        table = pa.Table.from_batches(batches, schema)
        names_within(schema)  # which may not be in UTF-8
    except MemoryError:  # Arrow's own is one
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, KeyError, DamagedError):
        raise InputError(f"{str(path)!r} is not a readable Arrow file; write it anew.") from None
    check_broken(table, path)
    check_larger(path, bytes_spelled_out(table), most)
    return pa.table([without_runs(column) for column in table.columns], names=table.column_names)


def check_claims(path: Path, together: Callable[[list[int]], int]) -> tuple[int, ...]:
    """Refuse a file whose batches claim more memory than allowed: all of them `together`, or the
    largest.

    Returns the number of records of each batch. Raises DamagedError if that cannot be determined.
    """
    batches, dictionaries = claims_of(path)
    held = [max(claim.bytes, LEAST_A_RECORD * claim.records) for claim in batches]
    check_larger(
        path, together([0, *held]) + sum(claim.bytes for claim in dictionaries), largest_table(path)
    )
    return tuple(claim.records for claim in batches)


def _check_other_files(path: Path) -> None:
    """Refuse files that are nearly Arrow files, and name what they are."""
    with path.open("rb") as file:
        beginning = file.read(8)
    if not beginning:
        raise InputError(EMPTY.format(str(path)))
    if beginning.startswith(b"FEA1"):
        raise InputError(
            f"{str(path)!r} is a Feather file of the first version; write it anew as "
            f"Feather version 2."
        )
    if beginning.startswith(b"\xff\xff\xff\xff"):
        raise InputError(f"{str(path)!r} is a stream of Arrow; write it anew as an Arrow file.")


def check_broken(table: pa.Table, path: object) -> None:
    """Refuse a table with text that is not in UTF-8."""
    import pyarrow as pa

    for position, column in enumerate(table.columns, 1):
        try:
            column.validate(full=True)
        except pa.ArrowException:
            raise InputError(
                f"{str(path)!r}, column {position}: it holds text that is not in UTF-8, "
                f"or is damaged; write the file anew."
            ) from None


def write(table: pa.Table, path: Path) -> None:
    """Write a table as an Arrow file."""
    with in_pieces(path, table.schema) as write_piece:
        write_piece(table)


@contextlib.contextmanager
def in_pieces(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that writes an Arrow file in batches of `RECORDS_AT_ONCE` records, but the
    last.
    """
    import pyarrow as pa

    from microagg.table.columns.null_scrubbing import without_hidden_values

    for field in schema:
        if pa.types.is_interval(field.type):  # no other format holds them, and no release does
            raise pa.ArrowNotImplementedError("intervals")
    options = pa.ipc.IpcWriteOptions(
        compression="lz4" if pa.Codec.is_available("lz4") else None, unify_dictionaries=True
    )
    with pa.ipc.new_file(str(path), schema, options=options) as file:

        def write_piece(rows: pa.Table) -> None:
            for first in range(0, rows.num_rows, RECORDS_AT_ONCE):
                piece = rows.slice(first, RECORDS_AT_ONCE)
                # a copy, for what lies behind a slice decides how many bytes are written
                copy = piece.take(pa.array(range(piece.num_rows))).combine_chunks()
                for batch in copy.to_batches():
                    file.write_batch(without_hidden_values(batch))

        yield write_piece


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as Arrow files do."""
    return beginning.startswith(MAGIC)


ARROW = Format(
    name="Arrow",
    suffixes=(".arrow", ".feather"),
    read=read,
    write=write,
    typed=True,
    nested=True,
    article="an",
    in_pieces=in_pieces,
    recognise=recognise,
)
