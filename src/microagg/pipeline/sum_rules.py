"""Sums between columns of a table that does not fit into memory: found and confirmed chunk by
chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from microagg.release.rules import released_records
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import Executor
from microagg.table.columns.column_encoding import cells_in
from microagg.table.linear import Confirmed, Relation, RelationTotals, confirm
from microagg.table.reduction import combine_chunks
from microagg.table.relations import Records, plain_columns
from microagg.table.variable import Variable


def records_in(passes: ChunkMap, variables: Sequence[Variable]) -> Records:
    """Return the records of a table that is read in passes."""
    chosen = tuple(variables[j] for j in plain_columns(variables))
    singles = [variable.single for variable in chosen]
    return Records(
        [variable.name for variable in chosen],
        singles,
        lambda: combine_chunks(passes.map_chunks("measuring", totals_chunk, chosen)),
        lambda relations: _counted(
            passes.map_chunks("measuring", confirm_chunk, chosen, tuple(relations)), len(relations)
        ),
    )


def records_in_pieces(
    executor: Executor, paths: Sequence[str], variables: Sequence[Variable], at_once: int
) -> Records:
    """Return the released records of all blocks, which lie in these files."""
    chosen = tuple(variables)
    return Records(
        [variable.name for variable in chosen],
        [variable.single for variable in chosen],
        lambda: combine_chunks(
            executor.map_ordered(totals_in_piece, ((path, chosen) for path in paths), at_once)
        ),
        lambda relations: _counted(
            executor.map_ordered(
                confirm_in_piece, ((path, chosen, tuple(relations)) for path in paths), at_once
            ),
            len(relations),
        ),
    )


def _counted(counts: Iterable[Sequence[Confirmed]], relations: int) -> list[Confirmed]:
    """Combine the counts of all chunks, relation by relation."""
    whole = [Confirmed() for _ in range(relations)]
    for chunk in counts:
        whole = [count.combine(more) for count, more in zip(whole, chunk, strict=True)]
    return whole


def totals_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...]
) -> RelationTotals:
    """A task: the random totals of the columns of a chunk."""
    cells = cells_in(
        source.read(first, count, [variable.name for variable in variables]), variables, first
    )
    return RelationTotals.of_chunk(cells.values, range(len(variables)), first)


def confirm_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    relations: tuple[Relation, ...],
) -> list[Confirmed]:
    """A task: in how many records of a chunk relations hold."""
    cells = cells_in(
        source.read(first, count, [variable.name for variable in variables]), variables, first
    )
    return confirm(
        cells.values, range(len(variables)), relations, [variable.single for variable in variables]
    )


def totals_in_piece(path: str, variables: tuple[Variable, ...]) -> RelationTotals:
    """A task: the random totals of the columns of released rows."""
    return released_records(_rows(path, variables), variables).totals()


def confirm_in_piece(
    path: str, variables: tuple[Variable, ...], relations: tuple[Relation, ...]
) -> list[Confirmed]:
    """A task: in how many released rows relations hold."""
    return released_records(_rows(path, variables), variables).confirmed(relations)


def _rows(path: str, variables: Sequence[Variable]) -> pa.Table:
    names = [variable.name for variable in variables]
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        batches = [
            reader.get_batch(batch).select(names) for batch in range(reader.num_record_batches)
        ]
        return pa.Table.from_batches(
            batches, pa.schema([reader.schema.field(name) for name in names])
        )
