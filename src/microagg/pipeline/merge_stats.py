"""Merging of the statistics that blocks wrote for measures, reports and notes, before the spill is
removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.kernels import sums
from microagg.measures.risk.classes import ClassSizes
from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.class_stats import (
    class_stats_in_bucket,
    kept_in_bucket,
)
from microagg.pipeline.figures import FigureCounts, FigureInputs
from microagg.pipeline.loss import SpaceLoss, summed
from microagg.pipeline.row_order import schema_of_piece
from microagg.pipeline.spill_index import NUMBER, SpillFile, SpillIndex, batches_in
from microagg.runtime.spill import read_result
from microagg.table.reduction import combine_chunks

if TYPE_CHECKING:
    from microagg.pipeline.run import OutOfCoreRun


def merge_block_stats(
    run: OutOfCoreRun,
    layout: TaskContext,
    finishing: BlockOutputConfig,
    grouped: GroupingResult,
    sizes: np.ndarray,
) -> FigureInputs:
    """All of it, with the sizes of the classes."""
    aside, pieces = finishing.aside, _MergedStats(run, finishing, grouped)
    assert aside is not None
    block_stats, by_column = [block["measured"] for block in grouped.pieces], None
    weighted = run.settings.weight is not None
    spec = aside.class_spec(layout.variables, weighted=weighted)
    stats = combine_chunks(pieces.in_buckets(".groups", class_stats_in_bucket, spec))
    kept = None
    if aside.kept:
        kept = combine_chunks(pieces.in_buckets(".kept", kept_in_bucket))
    scores, totals = layout.spaces[-1], grouped.totals.by_space(layout.spaces)[-1]
    lost = [block["lost"][-1] for block in grouped.pieces]
    if len(lost[0]["sse"]) > 1:
        parts = summed([block["sse"] for block in lost]), totals
        errors, whole = ([float(sums.rounded(column, 0)) for column in part] for part in parts)
        by_column = errors, whole
    searched = layout.space if len(layout.spaces) == 1 and finishing.limits is None else None
    counts = FigureCounts.of(block_stats)
    for name, counts_by_column in (("filled", counts.filled), ("blanked", counts.blanked)):
        counts_by_column.extend(
            sum(block[name][j] for block in grouped.pieces) for j in range(len(layout.variables))
        )
    loss = SpaceLoss.of(scores, totals, lost)
    return FigureInputs(
        aside, layout.variables, scores, searched, run.settings.k, weighted,
        counts, ClassSizes.of(sizes), stats, spec, kept,
        {"IL": loss.il, "SSE": loss.sse}, by_column, pieces.sample(0), pieces.sample(1),
    )  # fmt: skip


@dataclass(frozen=True)
class _MergedStats:
    """Files that blocks wrote beside their rows."""

    run: OutOfCoreRun
    finishing: BlockOutputConfig
    grouped: GroupingResult

    def in_buckets(self, suffix: str, task: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Run a task on each bucket of the files with this suffix, and yield its results."""
        pieces, budget = self._pieces(suffix), self.run.budget
        tasks = (
            (pieces.holding([bucket]), *arguments)
            for bucket in range(1 << self.finishing.class_bits)
        )
        return self.run.executor.map_ordered(
            task, tasks, budget.at_once, itertools.repeat(budget.a_bucket)
        )

    def sample(self, key: int) -> pa.Table:
        """One of the two samples, by record number."""
        pieces = self._pieces(".sample")
        batches = batches_in(pieces.holding([key]))
        if not batches:
            return schema_of_piece(pieces.pieces[0].path).empty_table()
        rows = pa.Table.from_batches(batches).replace_schema_metadata(None)
        order = np.argsort(rows.column(NUMBER).to_numpy(), kind="stable")
        return rows.take(pa.array(order)).combine_chunks()

    def _pieces(self, suffix: str) -> SpillIndex:
        paths = [f"{block['path']}{suffix}" for block in self.grouped.pieces]
        return SpillIndex(
            [SpillFile.of(path, read_result(path) or {"index": []}) for path in paths]
        )
