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
from microagg.table.relations import Records, plain_columns
from microagg.table.variable import Variable


def records_in(passes: ChunkMap, variables: Sequence[Variable]) -> Records:
    """Return the records of a table that is read in passes."""
    chosen = tuple(variables[j] for j in plain_columns(variables))
    singles = [each.single for each in chosen]
    return Records(
        [each.name for each in chosen],
        singles,
        lambda: _added(passes.map_chunks("measuring", totals_chunk, chosen), len(chosen)),
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
        [each.name for each in chosen],
        [each.single for each in chosen],
        lambda: _added(
            executor.map_ordered(totals_in_piece, ((path, chosen) for path in paths), at_once),
            len(chosen),
        ),
        lambda relations: _counted(
            executor.map_ordered(
                confirm_in_piece, ((path, chosen, tuple(relations)) for path in paths), at_once
            ),
            len(relations),
        ),
    )


def _added(totals: Iterable[RelationTotals], width: int) -> RelationTotals:
    found = RelationTotals(width)
    for more in totals:
        found.combine(more)
    return found


def _counted(counts: Iterable[Sequence[Confirmed]], relations: int) -> list[Confirmed]:
    found = [Confirmed() for _ in range(relations)]
    for more in counts:
        found = [own.combine(each) for own, each in zip(found, more, strict=True)]
    return found


def totals_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...]
) -> RelationTotals:
    """A task: the random totals of the columns of a chunk."""
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    return RelationTotals.of(cells.values, range(len(variables)), first)


def confirm_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    relations: tuple[Relation, ...],
) -> list[Confirmed]:
    """A task: in how many records of a chunk relations hold."""
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    return confirm(
        cells.values, range(len(variables)), relations, [each.single for each in variables]
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
    names = [each.name for each in variables]
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        batches = [
            reader.get_batch(place).select(names) for place in range(reader.num_record_batches)
        ]
        return pa.Table.from_batches(
            batches, pa.schema([reader.schema.field(name) for name in names])
        )
