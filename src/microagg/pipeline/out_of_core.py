"""Driver for tables that are read in chunks, on this machine or on Dask: from a file to a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from microagg.files.stores.locations import Url
from microagg.pipeline.block_output import write_block_output
from microagg.pipeline.block_plan import GroupingResult
from microagg.pipeline.block_specs import PlannedRun, output_config, search_plan, task_context
from microagg.pipeline.column_scan import scan_columns
from microagg.pipeline.feasibility import check_columns, check_size
from microagg.pipeline.fit_space import ScalingOptions, fit
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.one_block import one_block_search
from microagg.pipeline.output import ReleaseWriter
from microagg.pipeline.output_facts import BlockResults
from microagg.pipeline.random_draw import draw_values, uses_draw, write_groups
from microagg.pipeline.run import OutOfCoreRun, RunOptions, open_run
from microagg.pipeline.selection import RecordSelection, key_of_run
from microagg.pipeline.sum_rules import records_in
from microagg.pipeline.unique_values import risks_of_unique_values
from microagg.release.measuring import check_unsearchable
from microagg.release.release import Release
from microagg.release.risks import check_unaccepted
from microagg.release.rules import kept_rules
from microagg.release.settings import Settings
from microagg.release.true_values import risks_of_categories
from microagg.runtime.spill import explain_full_disk
from microagg.table.columns.arrow import release_unused_memory


def protect_out_of_core(
    path: str | Path | Url,
    target: Path,
    settings: Settings,
    budget: MemoryBudget,
    options: RunOptions,
) -> Release:
    """Make and save a release of a table that does not fit into memory.

    Nothing is in place unless it holds its guarantees.
    """
    with (
        open_run(path, target, settings, budget, options) as run,
        explain_full_disk("in the folder of the release"),
    ):
        selection = select_records(run)
        planned = prepare(run, selection)
        if options.before_search is not None:
            options.before_search(planned)
        work_dir = run.spill.room(_work_key(run, selection, planned))
        grouped = form_groups(run, planned, work_dir)
        release_unused_memory()
        params = {**run.settings.params, **grouped.search.params}
        run.settings = replace(run.settings, params=params)
        singles = (count for block in grouped.pieces for count in block["singles"])
        check_unaccepted(run.settings, risks_of_categories(singles))
        results = BlockResults(
            run, planned.layout, planned.config, grouped, selection, planned.fitted.capped
        )
        return ReleaseWriter(results, work_dir, run.format_options, options.expected).save()


def select_records(run: OutOfCoreRun) -> RecordSelection:
    """Scan the columns; leave out records with gaps and strata that are too small, if asked."""
    passes = run.passes_over(run.source)
    scan = scan_columns(passes, run.schema, run.settings)
    if run.options.expected_input is not None:
        run.options.expected_input(scan.digest)
    selection = RecordSelection.of(run, passes, scan)
    run.source = selection.passes.source
    return selection


def prepare(run: OutOfCoreRun, selection: RecordSelection) -> PlannedRun:
    """Fit the space and cut it into blocks; check that a release is possible."""
    settings, budget, passes = run.settings, run.budget, selection.passes
    scan = selection.scan
    variables = scan.variables
    check_size(settings, run.source.records)
    search = one_block_search(
        settings, run.schema, budget, run.source.records, selection.sizes, run.source.schema,
        scan.categories,
    )  # fmt: skip
    check_columns(variables, scan.frequencies, settings)
    run.rules = kept_rules(records_in(passes, variables), variables, settings)
    check_unaccepted(
        settings,
        risks_of_unique_values(passes, variables, settings, run.spill.folder, budget.class_bits),
    )
    scaling = ScalingOptions(settings.scale, settings.importance, settings.cap, budget.for_values)
    fitted = fit(passes, variables, scan.facts, scaling)
    check_unsearchable(fitted.space, settings)
    layout = task_context(run, selection, fitted, search)
    plan = search_plan(run, selection, layout)
    config = output_config(run, scan, layout, fitted)
    return PlannedRun(run.schema, layout, plan.cuts(), budget, plan, config, fitted)


def form_groups(run: OutOfCoreRun, planned: PlannedRun, work_dir: Path) -> GroupingResult:
    """Search for groups block by block; each block writes what its groups release."""
    layout, budget = planned.layout, run.budget
    task = planned.config, layout.records
    if not uses_draw(run.settings):
        return planned.plan.grouped(planned.cuts, work_dir, write_block_output, task)
    grouped = planned.plan.grouped(planned.cuts, work_dir, write_groups, task)
    return draw_values(
        run.executor, grouped, layout, task, work_dir, budget.at_once, budget.a_block_record
    )


def _work_key(run: OutOfCoreRun, selection: RecordSelection, planned: PlannedRun) -> str:
    """Return what blocks that are done already have in common with this run."""
    config = planned.config
    bits = f"{config.row_bits} {config.class_bits} {run.keep_order}"
    return key_of_run(run.settings, selection.scan.digest, planned.cuts.digest, bits)
