"""Facts for the notes on an out-of-core release, from merged statistics of blocks and passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.figures import FigureInputs
from microagg.pipeline.loss import SpaceLoss
from microagg.pipeline.note_facts import capped_counts, with_schema_facts
from microagg.pipeline.selection import RecordSelection
from microagg.release.effects import effects_from
from microagg.release.note import Note
from microagg.release.note_counts import (
    approximated_columns,
    numbers_as_text,
    rounded_columns,
    strata_facts,
)
from microagg.release.note_facts import (
    DominatedColumn,
    NoteFacts,
    SharedValueColumn,
    StrataFacts,
    WeightFacts,
)
from microagg.table.aggregates import aggregate_of
from microagg.table.capping import Capped
from microagg.table.columns.profile import ColumnProfile, ProfileStats
from microagg.table.schema import Kind
from microagg.table.variable import Variable

if TYPE_CHECKING:
    from microagg.pipeline.out_of_core import OutOfCoreRun

LEFT_OUT = ("dropped-records", "strata-left-out")


@dataclass(frozen=True)
class OutOfCoreFacts:
    """Counts of an out-of-core run, from the statistics that its blocks and passes left."""

    run: OutOfCoreRun
    layout: TaskContext
    finishing: BlockOutputConfig
    grouped: GroupingResult
    manifest: Mapping[str, Any]
    measured: FigureInputs
    capped: Mapping[str, Capped]
    selection: RecordSelection
    profiles: Sequence[ColumnProfile]
    """Profiles of the columns that are released as they are."""

    def facts(self) -> NoteFacts:
        """Return the facts that notes are made of."""
        settings, variables = self.run.settings, self.layout.variables
        names = [variable.name for variable in variables]
        decimals = [column["decimals"] for column in self.manifest["scaling"].values()]
        reasons = [precision.reason for precision in self.finishing.precisions]
        formulas = {name for block in self._blocks for name in block["formulas"]}
        facts = NoteFacts(
            settings.k,
            self.layout.records,
            dominated=self._dominated(),
            capped=capped_counts(self.capped),
            dropped_records=self.selection.dropped,
            scale=settings.scale,
            columns_with_gaps=_columns_with_gaps(variables),
            approximated=approximated_columns(names, self.layout.spaces[0]),
            equal_columns=self._equal_columns(),
            numbers_as_text=numbers_as_text(variables, settings.columns.kinds),
            rounded=rounded_columns(names, decimals, reasons),
            shared_values=self._shared_values(),
            formulas=[name for name in self.run.schema.released() if name in formulas],
            records_without_value=self._records_without_value(),
            strata=self._strata(),
            weight=self._weight(),
            effects=effects_from(self.manifest["effects"]),
            unique_records=int(self.manifest["all_columns"]["unique_records"]),
        )
        return with_schema_facts(
            facts,
            self.run.schema,
            self.layout.space,
            (self.manifest["loss"]["IL"], self._loss_unrounded()),
            self.run.rules,
            self.profiles,
            settings.accept_risk,
        )

    @property
    def _blocks(self) -> list[Mapping[str, Any]]:
        """Statistics of each block."""
        return [piece["measured"] for piece in self.grouped.pieces]

    def _dominated(self) -> list[DominatedColumn]:
        columns, stats = [], self.measured.facts
        for variable in self.layout.variables:
            name = variable.name
            aggregate = aggregate_of(variable, self.run.settings.aggregates)
            if name not in stats.dominated or not aggregate.dominance_applies:
                continue
            is_indicator = all(name in block["indicators"] for block in self._blocks)
            if stats.dominated[name] and not is_indicator:
                columns.append(DominatedColumn(name, stats.dominated[name], stats.averaged[name]))
        return columns

    def _equal_columns(self) -> list[list[str]]:
        """Return the sets of columns whose cells have the same hashes in all records."""
        columns: dict[tuple[int, Kind], list[str]] = {}
        variables = self.layout.variables
        constant = {variables[j].name for j in self.measured.scores.constant}
        for j, variable in enumerate(variables):
            total = sum(block["prints"][j] for block in self._blocks) % 2**64
            if variable.name not in constant:
                columns.setdefault((total, variable.kind), []).append(variable.name)
        return [names for names in columns.values() if len(names) > 1]

    def _loss_unrounded(self) -> float:
        space = self.layout.spaces[0]
        totals = self.grouped.totals.by_space(self.layout.spaces)[0]
        errors = [{"sse": block["unrounded"], "within": [], "one": None} for block in self._blocks]
        return SpaceLoss.of(space, totals, errors).il

    def _shared_values(self) -> list[SharedValueColumn]:
        columns, stats = [], self.measured.facts
        for name, (groups, records) in stats.sharing.items():
            values = [block["values"][name] for block in self._blocks]
            different = {value for block_values, _ in values for value in block_values}
            only = sum(count for _, count in values) if len(different) == 1 else None
            columns.append(SharedValueColumn(name, groups, records, stats.classes, only))
        return columns

    def _records_without_value(self) -> dict[str, int]:
        promised = self.layout.promised
        if self.run.settings.promise.diversity is None or promised is None:
            return {}
        return {
            column.name: int(column.counts[column.known :].sum()) for column in promised.columns
        }

    def _strata(self) -> StrataFacts | None:
        selection, sizes = self.selection, self.selection.sizes
        if sizes is None:
            return None
        return strata_facts(sizes, selection.strata_left_out, selection.records_left_out)

    def _weight(self) -> WeightFacts | None:
        weighting, weight = self.manifest.get("weighting"), self.run.settings.weight
        if weight is None or not weighting:
            return None
        measured, unique = self.measured, None
        if measured.aside.kept == (weight,) and measured.kept is not None:
            unique = measured.kept.sizes.get(1, 0)
        return WeightFacts(
            weight,
            sum(block["heavy"] for block in self._blocks),
            sum(piece["groups"] for piece in self.grouped.pieces),
            weighting["sum_changed_by"],
            weighting["totals_changed_by_percent"],
            unique,
        )


def left_out_first(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Return the notes with those on records left out before all others.

    Reports of out-of-core runs list them first, and their bytes stay what they are.
    """
    first = [note for note in notes if note.code in LEFT_OUT]
    return (*first, *(note for note in notes if note.code not in LEFT_OUT))


def estimate_distinct(blocks: Sequence[Mapping[str, Any]], stats: ProfileStats) -> int:
    """Estimate the number of different values of a column from those whose hash is low.

    These are all there are in a small table.
    """
    counts: dict[int, int] = {}
    for block in blocks:
        for value, count in zip(*block["low"].get(stats.name, ((), ())), strict=True):
            counts[value] = counts.get(value, 0) + count
    cells = sum(counts.values())
    return max(1, round(stats.values * len(counts) / cells)) if cells else min(1, stats.values)


def _columns_with_gaps(variables: Sequence[Variable]) -> list[str]:
    return [
        variable.name
        for variable in variables
        if variable.kind is not Kind.NOMINAL
        and bool(getattr(variable, "has_atoms", bool(variable.marks)))
    ]
