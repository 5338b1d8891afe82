"""The aggregate `draw` beyond memory: what a group draws depends on its number among all groups, which is known when all are found.

So blocks set their groups aside, with the first record of each; groups are numbered by these, range of records by range; and then
each block makes what its groups release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.engine.executor import Executor
from microagg.engine.plan import GROUP, NUMBER, Grouped, Holding, Layout, Piece, Pieces, batches_in, gathered
from microagg.engine.scanning import cells_in
from microagg.engine.spill import forget, told_in, write_piece
from microagg.release.beyond.finishing import Finishing, finish_block
from microagg.release.settings import Settings
from microagg.table.variable import Cells


def draws(settings: Settings) -> bool:
    """Whether any column is drawn."""
    return "draw" in settings.aggregates.values()


def set_groups_aside(
    about: tuple[Finishing, int],
    rows: pa.Table,
    cells: Cells,
    points: np.ndarray,
    labels: np.ndarray,
    path: str,
) -> dict[str, Any]:
    """In place of `finish_block`: keep the records of a block with their groups, and the first record of each group by its range."""
    finishing, records = about
    _, at = np.unique(labels, return_index=True)
    first = rows.column(NUMBER).to_numpy()[at]
    ranges = (first.astype(np.int64) << finishing.class_bits) // records
    firsts = pa.table({"first": first, "group": np.arange(len(at))})
    write_piece(f"{path}.firsts", firsts, ranges, {})
    return write_piece(path, rows.append_column(GROUP, pa.array(labels)), np.zeros(len(labels), np.int64), {})


def drawn(
    executor: Executor,
    grouped: Grouped,
    layout: Layout,
    about: tuple[Finishing, int],
    room: Path,
    at_once: int,
    a_record: int,
) -> Grouped:
    """What all blocks release whose groups were set aside."""
    paths = [told["path"] for told in grouped.pieces]
    ranges = 1 << about[0].class_bits
    numbered = _numbered(executor, paths, ranges, room)
    given = (
        (place, path, numbered.holding([place]), layout, about, str(room)) for place, path in enumerate(paths)
    )
    sizes = [sum(count for _, count in told["index"]) for told in grouped.pieces]
    needs = (size * a_record for size in sizes)
    finished = list(executor.in_order(finish_drawn, given, at_once, needs))
    for path in paths:
        forget(path)
    return replace(grouped, pieces=finished)


def _numbered(executor: Executor, paths: Sequence[str], ranges: int, room: Path) -> Pieces:
    """The numbers of all groups, by block."""
    firsts = Pieces(
        [Piece.of(f"{path}.firsts", told_in(f"{path}.firsts") or {"index": []}) for path in paths]
    )
    counts = firsts.counts(ranges)
    before = np.cumsum(counts) - counts
    blocks = {f"{path}.firsts": place for place, path in enumerate(paths)}
    given = []
    for each in range(ranges):
        holding = firsts.holding([each])
        own = tuple(blocks[path] for path, _ in holding)
        given.append((each, holding, own, int(before[each]), str(room)))
    told = executor.in_order(number_groups, given)
    return Pieces([Piece.of(each["path"], each) for each in told])


def number_groups(
    number: int, holding: Holding, blocks: tuple[int, ...], before: int, folder: str
) -> dict[str, Any]:
    """A task: the numbers of all groups whose first record lies in a range, by their blocks."""
    path = f"{folder}/numbers-{number}.arrow"
    if (told := told_in(path)) is not None:
        return {**told, "path": path}
    first, group, block = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for own, part in zip(blocks, holding, strict=True):
        for batch in batches_in((part,)):
            first.append(batch.column("first").to_numpy())
            group.append(batch.column("group").to_numpy())
            block.append(np.full(batch.num_rows, own))
    order = np.argsort(np.concatenate(first), kind="stable")
    table = pa.table(
        {"group": np.concatenate(group)[order], "number": before + np.arange(len(order), dtype=np.int64)}
    )
    return {**write_piece(path, table, np.concatenate(block)[order], {}), "path": path}


def finish_drawn(
    place: int, path: str, numbers: Holding, layout: Layout, about: tuple[Finishing, int], folder: str
) -> dict[str, Any]:
    """A task: what the groups of a block release that were set aside, now that their numbers are known."""
    target = f"{folder}/drawn-{place}.arrow"
    if (told := told_in(target)) is not None:
        return {**told, "path": target}
    own = pa.Table.from_batches(batches_in(numbers))
    of_groups = np.empty(own.num_rows, np.int64)
    of_groups[own.column("group").to_numpy()] = own.column("number").to_numpy()
    piece = Pieces([Piece.of(path, told_in(path) or {"index": []})])
    rows = gathered(piece.holding([0]))
    labels = rows.column(GROUP).to_numpy()
    rows = rows.drop_columns([GROUP])
    cells = cells_in(rows, layout.variables)
    told = finish_block(about, rows, cells, layout.points(cells), labels, target, of_groups)
    return {**told, "path": target}
