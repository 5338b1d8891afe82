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
from microagg.pipeline.block_plan import (
    GROUP,
    NUMBER,
    GroupingResult,
    Holding,
    SpillFile,
    SpillIndex,
    TaskContext,
    batches_in,
    load_rows,
)
from microagg.release.settings import Settings
from microagg.runtime.executor import Executor
from microagg.runtime.spill import discard_rows, read_result, write_spill_file
from microagg.table.columns.column_encoding import cells_in
from microagg.table.variable import Cells


def uses_draw(settings: Settings) -> bool:
    """Whether any column is drawn."""
    return "draw" in settings.aggregates.values()


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
    _, at = np.unique(labels, return_index=True)
    first = rows.column(NUMBER).to_numpy()[at]
    ranges = (first.astype(np.int64) << finishing.class_bits) // records
    firsts = pa.table({"first": first, "group": np.arange(len(at))})
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
    """What all blocks release whose groups were set aside."""
    paths = [told["path"] for told in grouped.pieces]
    ranges = 1 << about[0].class_bits
    numbered = _numbered(executor, paths, ranges, room)
    given = (
        (place, path, numbered.holding([place]), layout, about, str(room))
        for place, path in enumerate(paths)
    )
    sizes = [sum(count for _, count in told["index"]) for told in grouped.pieces]
    needs = (size * a_record for size in sizes)
    finished = list(executor.map_ordered(finish_drawn, given, at_once, needs))
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
    blocks = {f"{path}.firsts": place for place, path in enumerate(paths)}
    given = []
    for each in range(ranges):
        holding = firsts.holding([each])
        own = tuple(blocks[path] for path, _ in holding)
        given.append((each, holding, own, int(before[each]), str(room)))
    told = executor.map_ordered(number_groups, given)
    return SpillIndex([SpillFile.of(each["path"], each) for each in told])


def number_groups(
    number: int, holding: Holding, blocks: tuple[int, ...], before: int, folder: str
) -> dict[str, Any]:
    """A task: the numbers of all groups whose first record lies in a range, by their blocks."""
    path = f"{folder}/numbers-{number}.arrow"
    if (told := read_result(path)) is not None:
        return {**told, "path": path}
    first, group, block = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for own, part in zip(blocks, holding, strict=True):
        for batch in batches_in((part,)):
            first.append(batch.column("first").to_numpy())
            group.append(batch.column("group").to_numpy())
            block.append(np.full(batch.num_rows, own))
    order = np.argsort(np.concatenate(first), kind="stable")
    table = pa.table(
        {
            "group": np.concatenate(group)[order],
            "number": before + np.arange(len(order), dtype=np.int64),
        }
    )
    return {**write_spill_file(path, table, np.concatenate(block)[order], {}), "path": path}


def finish_drawn(
    place: int,
    path: str,
    numbers: Holding,
    layout: TaskContext,
    about: tuple[BlockOutputConfig, int],
    folder: str,
) -> dict[str, Any]:
    """A task: what the groups of a block release that were set aside, now that their numbers are
    known.
    """
    target = f"{folder}/drawn-{place}.arrow"
    if (told := read_result(target)) is not None:
        return {**told, "path": target}
    own = pa.Table.from_batches(batches_in(numbers))
    of_groups = np.empty(own.num_rows, np.int64)
    of_groups[own.column("group").to_numpy()] = own.column("number").to_numpy()
    piece = SpillIndex([SpillFile.of(path, read_result(path) or {"index": []})])
    rows = load_rows(piece.holding([0]))
    labels = rows.column(GROUP).to_numpy()
    rows = rows.drop_columns([GROUP])
    cells = cells_in(rows, layout.variables)
    told = write_block_output(about, rows, cells, layout.points(cells), labels, target, of_groups)
    return {**told, "path": target}
