"""The rows of a release, brought into the order in which they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import CancelledError
from microagg.files.columnar.parquet_folder import format_to_write
from microagg.files.commit import system
from microagg.files.format import RECORDS_IN_A_PIECE
from microagg.pipeline.block_output import KEY
from microagg.pipeline.spill_index import Holding, batches_in
from microagg.runtime.executor import Executor, Tell, is_cancelled
from microagg.runtime.spill import explain_full_disk
from microagg.table.columns.categories import used_in, with_categories
from microagg.table.columns.digests import digest_of_runs, digests_of_runs
from microagg.table.columns.text_types import TextType, with_values


def write_rows(
    threads: Executor,
    tell: Tell,
    part: str,
    target: str,
    schema: pa.Schema,
    holdings: Sequence[Holding],
    options: dict[str, Any],
    at_once: int,
    kinds: dict[str, Any],
    categories: dict[str, pa.Array],
    types: dict[str, TextType],
) -> str:
    """A task: write the rows that lie there to a file, in the order of their keys; returns the
    digest of what was written.

    `types` are those of texts that are values in a file with types.
    """
    runs: list[bytes] = []
    records = 0
    in_pieces = format_to_write(Path(target)).in_pieces
    assert in_pieces is not None
    with in_pieces(
        Path(part), with_values(schema.empty_table(), types).schema, **options
    ) as write_piece:
        for rows in in_pieces_of(
            threads.map_ordered(sorted_bucket, ((holding,) for holding in holdings), at_once)
        ):
            if is_cancelled():
                raise CancelledError("stopped; nothing was written.")
            rows = with_categories(rows, kinds, categories)
            marked = (
                rows if schema.equals(rows.schema, check_metadata=True) else _marked(rows, schema)
            )
            write_piece(with_values(marked, types))
            tell(rows.num_rows)
            runs += digests_of_runs(rows)
            records += rows.num_rows
    return digest_of_runs(schema.names, records, runs)


def _marked(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(rows.columns, schema=schema)


def write_rows_aside(threads: Executor, tell: Tell, room: str, *arguments: Any) -> tuple[str, str]:
    """A task: the same into the spill, under a name of its own until it is whole; returns where it
    lies, and its digest.
    """
    path = Path(room, f"rows-{secrets.token_hex(8)}.whole")
    part = Path(f"{path}.part")
    with explain_full_disk("while the rows were written"):
        try:
            os.close(system.create(part))
            digest = write_rows(threads, tell, str(part), *arguments)
            system.rename(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return str(path), digest


def in_pieces_of(buckets: Iterator[pa.Table | None]) -> Iterator[pa.Table]:
    """All rows in order, in tables of the size that files have their pieces in."""
    held: list[pa.Table] = []
    size = 0
    for rows in buckets:
        if rows is None:
            continue
        held.append(rows)
        size += rows.num_rows
        while size >= RECORDS_IN_A_PIECE:
            whole = pa.concat_tables(held)
            yield whole.slice(0, RECORDS_IN_A_PIECE).combine_chunks()
            rest = whole.slice(RECORDS_IN_A_PIECE)
            held, size = ([rest.combine_chunks()] if rest.num_rows else []), rest.num_rows
    if size:
        yield pa.concat_tables(held).combine_chunks()


def sorted_bucket(holding: Holding) -> pa.Table | None:
    """A task: the rows of one bucket, in the order of their keys."""
    batches = batches_in(holding)
    if not batches:
        return None
    rows = pa.Table.from_batches(batches).replace_schema_metadata(None)
    order = np.argsort(rows.column(KEY).to_numpy(), kind="stable")
    return rows.drop_columns([KEY]).take(pa.array(order)).combine_chunks()


def values_in_piece(path: str, names: Sequence[str]) -> dict[str, pa.Array]:
    """A task: the different values that some columns of a piece have."""
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        rows = pa.Table.from_batches(
            [
                reader.get_batch(batch).select(list(names))
                for batch in range(reader.num_record_batches)
            ]
        )
    return {name: used_in(rows.column(name)) for name in names}


def schema_in(path: str) -> pa.Schema:
    """The columns of the rows in a piece, without what orders them."""
    schema = schema_of_piece(path)
    return schema.remove(schema.get_field_index(KEY))


def schema_of_piece(path: str) -> pa.Schema:
    """The columns of a piece, and nothing else that it carries."""
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        return reader.schema.remove_metadata()
