"""The aggregate `draw` beyond memory: what a group draws depends on its number among all groups,
which is known when all are found.

So blocks set their groups aside, with the first record of each; groups are numbered by these, range
of records by range; and then each block makes what its groups release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.pipeline.block_output import BlockOutputConfig, write_block_output
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.spill_index import (
    GROUP,
    NUMBER,
    Holding,
    SpillFile,
    SpillIndex,
    batches_in,
    load_rows,
)
from microagg.release.settings import Settings
from microagg.runtime.executor import Executor
from microagg.runtime.spill import discard_rows, read_result, write_spill_file
from microagg.table.aggregates import AGGREGATES
from microagg.table.columns.column_encoding import cells_in
from microagg.table.variable import Cells


def uses_draw(settings: Settings) -> bool:
    """Return True if any column is drawn."""
    return any(AGGREGATES[name].needs_group_numbers for name in settings.aggregates.values())


def write_groups(
    about: tuple[BlockOutputConfig, int],
    rows: pa.Table,
    cells: Cells,
    points: np.ndarray,
    labels: np.ndarray,
    path: str,
) -> dict[str, Any]:
    """In place of `write_block_output`: keep the records of a block with their groups, and the
    first record of each group by its range.
    """
    finishing, records = about
    _, first_rows = np.unique(labels, return_index=True)
    first = rows.column(NUMBER).to_numpy()[first_rows]
    ranges = (first.astype(np.int64) << finishing.class_bits) // records
    firsts = pa.table({"first": first, "group": np.arange(len(first_rows))})
    write_spill_file(f"{path}.firsts", firsts, ranges, {})
    return write_spill_file(
        path, rows.append_column(GROUP, pa.array(labels)), np.zeros(len(labels), np.int64), {}
    )


def draw_values(
    executor: Executor,
    grouped: GroupingResult,
    layout: TaskContext,
    about: tuple[BlockOutputConfig, int],
    room: Path,
    at_once: int,
    a_record: int,
) -> GroupingResult:
    """Aggregate the groups of all blocks whose records were kept until groups were numbered."""
    paths = [piece["path"] for piece in grouped.pieces]
    ranges = 1 << about[0].class_bits
    numbered = _numbered(executor, paths, ranges, room)
    tasks = (
        (index, path, numbered.holding([index]), layout, about, str(room))
        for index, path in enumerate(paths)
    )
    sizes = [sum(count for _, count in piece["index"]) for piece in grouped.pieces]
    needs = (size * a_record for size in sizes)
    finished = list(executor.map_ordered(finish_drawn, tasks, at_once, needs))
    for path in paths:
        discard_rows(path)
    return replace(grouped, pieces=finished)


def _numbered(executor: Executor, paths: Sequence[str], ranges: int, room: Path) -> SpillIndex:
    """The numbers of all groups, by block."""
    firsts = SpillIndex(
        [
            SpillFile.of(f"{path}.firsts", read_result(f"{path}.firsts") or {"index": []})
            for path in paths
        ]
    )
    counts = firsts.counts(ranges)
    before = np.cumsum(counts) - counts
    blocks = {f"{path}.firsts": index for index, path in enumerate(paths)}
    tasks = []
    for number in range(ranges):
        holding = firsts.holding([number])
        block_numbers = tuple(blocks[path] for path, _ in holding)
        tasks.append((number, holding, block_numbers, int(before[number]), str(room)))
    results = executor.map_ordered(number_groups, tasks)
    return SpillIndex([SpillFile.of(number["path"], number) for number in results])


def number_groups(
    number: int, holding: Holding, blocks: tuple[int, ...], before: int, folder: str
) -> dict[str, Any]:
    """A task: the numbers of all groups whose first record lies in a range, by their blocks."""
    path = f"{folder}/numbers-{number}.arrow"
    if (result := read_result(path)) is not None:
        return {**result, "path": path}
    first, group, block = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for block_number, part in zip(blocks, holding, strict=True):
        for batch in batches_in((part,)):
            first.append(batch.column("first").to_numpy())
            group.append(batch.column("group").to_numpy())
            block.append(np.full(batch.num_rows, block_number))
    order = np.argsort(np.concatenate(first), kind="stable")
    table = pa.table(
        {
            "group": np.concatenate(group)[order],
            "number": before + np.arange(len(order), dtype=np.int64),
        }
    )
    return {**write_spill_file(path, table, np.concatenate(block)[order], {}), "path": path}


def finish_drawn(
    index: int,
    path: str,
    numbers: Holding,
    layout: TaskContext,
    about: tuple[BlockOutputConfig, int],
    folder: str,
) -> dict[str, Any]:
    """A task: what the groups of a block release that were set aside, now that their numbers are
    known.
    """
    target = f"{folder}/drawn-{index}.arrow"
    if (result := read_result(target)) is not None:
        return {**result, "path": target}
    numbering = pa.Table.from_batches(batches_in(numbers))
    of_groups = np.empty(numbering.num_rows, np.int64)
    of_groups[numbering.column("group").to_numpy()] = numbering.column("number").to_numpy()
    piece = SpillIndex([SpillFile.of(path, read_result(path) or {"index": []})])
    rows = load_rows(piece.holding([0]))
    labels = rows.column(GROUP).to_numpy()
    rows = rows.drop_columns([GROUP])
    cells = cells_in(rows, layout.variables)
    result = write_block_output(about, rows, cells, layout.points(cells), labels, target, of_groups)
    return {**result, "path": target}
