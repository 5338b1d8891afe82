"""Specifications of the search and the output of blocks, from facts of the whole table."""

from __future__ import annotations

from dataclasses import dataclass

from microagg.pipeline.aggregation import Aggregation
from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import Cuts, Plan
from microagg.pipeline.block_stats import BlockStatsSpec
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.column_scan import ColumnScanResult, compared_columns
from microagg.pipeline.fit_space import FittedSpace
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.one_block import OneBlockSearch
from microagg.pipeline.run import OutOfCoreRun
from microagg.pipeline.selection import RecordSelection
from microagg.release.note_columns import RELEASED_UNCHANGED
from microagg.release.shuffling import key_of_order
from microagg.release.strata import class_columns
from microagg.table.aggregates import coarse_columns
from microagg.table.column_aggregate import WholeTable
from microagg.table.schema import Kind, Role, Schema


@dataclass(frozen=True)
class PlannedRun:
    """Plan of an out-of-core release before its search."""

    schema: Schema
    layout: TaskContext
    cuts: Cuts
    budget: MemoryBudget
    plan: Plan
    config: BlockOutputConfig
    fitted: FittedSpace


def task_context(
    run: OutOfCoreRun,
    selection: RecordSelection,
    fitted: FittedSpace,
    search: OneBlockSearch | None,
) -> TaskContext:
    """Return what every task of the search knows of the table."""
    schema, settings, variables = run.schema, run.settings, selection.scan.variables
    released = schema.released()
    weights = (name for name in schema.names(Role.WEIGHT) if name not in released)
    plain = all(column.kind is Kind.NUMERIC and not column.has_atoms for column in variables)
    return TaskContext(
        tuple(variables), fitted.space, (*released, *weights), run.source.records, settings.k,
        settings.params.get("effort") or "balanced", None if plain else len(variables),
        selection.strata, selection.promised, fitted.measured, fitted.limits, search,
        compared_columns(schema),
    )  # fmt: skip


def search_plan(run: OutOfCoreRun, selection: RecordSelection, layout: TaskContext) -> Plan:
    """Return the plan of the search in blocks."""
    budget, scan = run.budget, selection.scan
    return Plan(
        selection.passes, layout, scan.facts, run.settings.seed or 0, budget.at_once,
        selection.counts, budget.a_block_record, budget.memory, scan.chunk_digests,
    )  # fmt: skip


def output_config(
    run: OutOfCoreRun, scan: ColumnScanResult, layout: TaskContext, fitted: FittedSpace
) -> BlockOutputConfig:
    """Return what blocks write when their groups are formed."""
    schema, settings, budget = run.schema, run.settings, run.budget
    weight = scan.weight
    of_weight = weight and (weight.column, WholeTable((weight.precision,), (None,), (None,)))
    key = None
    if not run.keep_order:
        first, second = key_of_order(settings.seed or 0, scan.digest).tolist()
        key = int(first), int(second)
    aggregation = Aggregation(
        schema,
        settings,
        layout.space,
        fitted.limits,
        run.rules.sums,
        scan.whole(fitted),
        scan.known,
    )
    return BlockOutputConfig(
        aggregation, tuple(class_columns(schema, settings)), key, budget.row_bits,
        budget.class_bits, of_weight, layout.spaces, scan.categories,
        _stats_spec(run, scan, layout),
    )  # fmt: skip


def _stats_spec(run: OutOfCoreRun, scan: ColumnScanResult, layout: TaskContext) -> BlockStatsSpec:
    """Return the statistics that blocks collect for measures."""
    schema, settings = run.schema, run.settings
    kept = schema.names(Role.KEEP)
    if settings.weight is not None and settings.weight_becomes == "keep":
        kept = [*kept, settings.weight]
    coarse = frozenset(coarse_columns(settings.aggregates))
    return BlockStatsSpec.of(
        layout.variables, scan.facts, layout.records, len(layout.carried), settings.seed or 0,
        tuple(class_columns(schema, settings)), run.budget.class_bits, tuple(kept), coarse,
        tuple(schema.names(Role.CONFIDENTIAL)), tuple(schema.names(*RELEASED_UNCHANGED)),
    )  # fmt: skip
