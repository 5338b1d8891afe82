"""Driver for tables in memory: from a table and settings to a verified release."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from microagg.kernels.precompile import expect, stages_of
from microagg.methods.registry import DEFAULT
from microagg.pipeline.choose_groups import quick_groups
from microagg.pipeline.preparation import Prepared, open_table, prepare
from microagg.pipeline.run_method import run_method
from microagg.pipeline.table_output import Groups, aggregate_table, verify_table
from microagg.pipeline.table_release import build_release
from microagg.problem.problem import Progress, checked_threads
from microagg.problem.watch import handle_interrupt
from microagg.release.manifest import FORMAT
from microagg.release.release import Release
from microagg.release.settings import Settings

_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data


@handle_interrupt()
def protect(
    table: Any,
    settings: Settings,
    *,
    file: str | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    before_search: Callable[[Prepared], object] | None = None,
    format: int = FORMAT,
) -> Release:
    """Return a release of a table that holds its guarantees.

    `file` is the name of the file that the table was read from; the internal manifest keeps it.
    `before_search` gets the plan and the problem, and may raise: a dry run ends there. `format` is
    that of the manifest: a release of an older one is repeated by the rules of that format.
    """
    opened = open_table(table, settings)
    if opened.settings.chosen_method.name == DEFAULT:
        expect(stages_of(opened.settings.params.get("effort")), checked_threads(threads))
    prepared = prepare(opened, threads)
    if before_search is not None:
        before_search(prepared)
    groups = form_groups(prepared, progress)
    plan = prepared.plan
    del prepared  # with the points, which take as much memory as the table
    plan = plan.after_search(groups.search)
    output = aggregate_table(plan, groups)
    anonymity = verify_table(plan, output)
    return build_release(plan, output, anonymity, file, format)


def form_groups(prepared: Prepared, progress: Progress | bool | None) -> Groups:
    """Search for groups, within strata if there are some."""
    settings, problem, strata = prepared.plan.settings, prepared.problem, prepared.plan.strata
    method, labels = settings.chosen_method, None if strata is None else strata.labels
    _log.info(
        "grouping %d records on %d axes, k = %d, method %s",
        *problem.points.shape,
        problem.k,
        method.name,
    )
    begun = time.perf_counter()
    search = run_method(
        method,
        problem,
        settings.params,
        seed=settings.seed or 0,
        refine=settings.refine,
        progress=progress,
        strata=labels,
    )
    quick = quick_groups(method, problem, settings, search, labels)
    _log.info("%d groups found in %.2f s", search.labels.max() + 1, time.perf_counter() - begun)
    return Groups(search, quick)
