"""What blocks have set aside for measures, reports and notes, put together before the spill
goes.
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
from microagg.pipeline.block_plan import (
    NUMBER,
    GroupingResult,
    SpillFile,
    SpillIndex,
    TaskContext,
    batches_in,
)
from microagg.pipeline.class_stats import (
    ClassStats,
    KeptColumnStats,
    class_stats_in_bucket,
    kept_in_bucket,
)
from microagg.pipeline.figures import FigureCounts, FigureInputs
from microagg.pipeline.loss import SpaceLoss, summed
from microagg.pipeline.row_order import schema_of_piece
from microagg.runtime.spill import read_result

if TYPE_CHECKING:
    from microagg.pipeline.out_of_core import OutOfCoreRun


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
    told, by_column = [each["measured"] for each in grouped.pieces], None
    weighted = run.settings.weight is not None
    asked = aside.asked(layout.variables, weighted=weighted)
    facts, kept = ClassStats(), KeptColumnStats()
    for more in pieces.in_buckets(".groups", class_stats_in_bucket, asked):
        facts.combine(more)
    for more in pieces.in_buckets(".kept", kept_in_bucket) if aside.kept else ():
        kept.combine(more)
    scores, totals = layout.spaces[-1], grouped.totals.by_space(layout.spaces)[-1]
    lost = [each["lost"][-1] for each in grouped.pieces]
    if len(lost[0]["sse"]) > 1:
        parts = summed([each["sse"] for each in lost]), totals
        errors, whole = ([float(sums.rounded(each, 0)) for each in part] for part in parts)
        by_column = errors, whole
    searched = layout.space if len(layout.spaces) == 1 and finishing.limits is None else None
    counts = FigureCounts.of(told)
    for name, own in (("filled", counts.filled), ("blanked", counts.blanked)):
        own.extend(
            sum(each[name][j] for each in grouped.pieces) for j in range(len(layout.variables))
        )
    found = SpaceLoss.of(scores, totals, lost)
    return FigureInputs(
        aside, layout.variables, scores, searched, run.settings.k, weighted,
        counts, ClassSizes.of(sizes), facts, asked, kept if aside.kept else None,
        {"IL": found.il, "SSE": found.sse}, by_column, pieces.sample(0), pieces.sample(1),
    )  # fmt: skip


@dataclass(frozen=True)
class _MergedStats:
    """What lies beside the pieces of blocks."""

    run: OutOfCoreRun
    finishing: BlockOutputConfig
    grouped: GroupingResult

    def in_buckets(self, suffix: str, task: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """What a task returns for each bucket of what lies there under a name of that kind."""
        pieces, budget = self._pieces(suffix), self.run.budget
        given = (
            (pieces.holding([bucket]), *arguments)
            for bucket in range(1 << self.finishing.class_bits)
        )
        return self.run.executor.map_ordered(
            task, given, budget.at_once, itertools.repeat(budget.a_bucket)
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
        paths = [f"{told['path']}{suffix}" for told in self.grouped.pieces]
        return SpillIndex(
            [SpillFile.of(path, read_result(path) or {"index": []}) for path in paths]
        )
