"""Facts of an out-of-core release, from counts and sums of its blocks and its written rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.guarantees.k import Anonymity
from microagg.kernels import sums
from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.loss import SpaceLoss, summed
from microagg.pipeline.output_check import VerifiedOutput
from microagg.pipeline.selection import RecordSelection
from microagg.pipeline.sum_rules import records_in_pieces
from microagg.release.effects import ColumnEffect, EffectSums
from microagg.release.facts import ColumnOutcome, InputFacts, ReleaseFacts
from microagg.release.rules import released_variables, rules_as_data
from microagg.release.weight_totals import WeightTotals
from microagg.table.aggregates import AGGREGATES, aggregate_of
from microagg.table.capping import Capped
from microagg.table.reduction import combine_chunks

if TYPE_CHECKING:
    from microagg.pipeline.run import OutOfCoreRun


@dataclass(frozen=True)
class BlockResults:
    """Everything that is known of an out-of-core release before its rows are written."""

    run: OutOfCoreRun
    layout: TaskContext
    config: BlockOutputConfig
    grouped: GroupingResult
    selection: RecordSelection
    capped: dict[str, Capped]

    @property
    def blocks(self) -> Sequence[dict[str, Any]]:
        """Statistics that each block wrote with its rows."""
        return self.grouped.pieces

    def facts(self, verified: VerifiedOutput) -> ReleaseFacts:
        """Return the facts that manifests state."""
        run, layout, selection = self.run, self.layout, self.selection
        loss, share = self._loss(verified.counts.largest_error)
        scan = selection.scan
        return ReleaseFacts(
            run.settings, run.schema, layout.records, layout.space, self._columns(),
            self.grouped.search.outcome(), InputFacts(run.path.name, scan.digest, scan.sketch),
            loss, share, self._anonymity(verified), verified.exposure, self.capped, self._rules(),
            selection.dropped, selection.strata_as_data(), self._weighting(), self.effects,
        )  # fmt: skip

    @functools.cached_property
    def effects(self) -> tuple[ColumnEffect, ...]:
        """Mean, total, spread and categories of each quasi-identifier before and after."""
        sums = combine_chunks(EffectSums(block["effects"]) for block in self.blocks)
        totals = self.run.settings.weight_becomes != "drop"
        return sums.finish(self.layout.variables, totals=totals)

    def _anonymity(self, verified: VerifiedOutput) -> Anonymity:
        """Return the classes of the file by their sizes; which records they have is not kept."""
        none = np.zeros(1, bool)  # a class that fails would have been refused
        return Anonymity(
            self.run.settings.k,
            verified.counts.class_sizes(),
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            findings=tuple(replace(finding, failing=none) for finding in verified.counts.findings),
        )

    def _columns(self) -> list[ColumnOutcome]:
        """Return the outcome of each quasi-identifier."""
        settings, columns = self.run.settings, []
        variables = zip(self.layout.variables, self.config.precisions, strict=True)
        for j, (variable, precision) in enumerate(variables):
            how = aggregate_of(variable, settings.aggregates).name
            rounded = AGGREGATES[how].rounds and settings.precision == "column"
            filled, blanked = (
                sum(block[name][j] for block in self.blocks) for name in ("filled", "blanked")
            )
            decimals = precision.decimals if rounded else None
            columns.append(ColumnOutcome(variable.name, how, decimals, filled, blanked))
        return columns

    def _rules(self) -> list[dict[str, Any]]:
        """Return the sums that hold in the released rows."""
        run, paths = self.run, [block["path"] for block in self.blocks]
        variables = released_variables(self.layout.variables, run.settings)
        records = records_in_pieces(run.executor, paths, variables, run.budget.at_once)
        return rules_as_data(run.settings, records)

    def _loss(self, largest_error: float) -> tuple[dict[str, float], float]:
        """Return the loss, and the share of the class with the largest error."""
        by_space = self.grouped.totals.by_space(self.layout.spaces)
        lost = [
            SpaceLoss.of(space, totals, [block["lost"][number] for block in self.blocks])
            for number, (space, totals) in enumerate(zip(self.layout.spaces, by_space, strict=True))
        ]
        loss = {"IL": lost[0].il, "SSE": lost[0].sse}
        scores = {"IL_zscore": lost[-1].il} if len(lost) > 1 else {}
        within = {"IL_within": lost[0].il_within}
        if not self.blocks[0]["numbers"]:
            loss |= within | scores
        else:  # the mean of plain numbers is the middle of their group, but for a weighted one
            loss |= scores | (within if self.run.settings.weight is not None else {})
        total = sums.rounded(summed([[block["errors"]] for block in self.blocks])[0], 0)
        if not math.isfinite(total):
            return loss, 1.0
        return loss, largest_error / total if total > 0.0 else 0.0

    def _weighting(self) -> dict[str, Any] | None:
        """Return the changes of weighted totals; None without weights."""
        if self.run.settings.weight is None:
            return None
        totals = combine_chunks(WeightTotals(block["totals"]) for block in self.blocks)
        return {"aggregate": self.run.settings.weight_becomes, **totals.finish()}
