"""A dry run: what a release would be, to which columns, in how much time; everything that the real
run refuses before its search is refused.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.files.columnar.parquet_folder import as_target
from microagg.pipeline.estimate import Estimate, search_estimate
from microagg.pipeline.exposure import Exposure, exposure_of_table
from microagg.pipeline.files import anonymize_out_of_core, anonymize_table, in_memory_else, read_for
from microagg.pipeline.memory_budget import exceeds_memory
from microagg.pipeline.preparation import Prepared
from microagg.pipeline.preview import Preview, Previewer
from microagg.pipeline.sources import settings_for_file
from microagg.problem.problem import Problem
from microagg.release.cells import read_cells
from microagg.release.manifest import manifest_paths
from microagg.release.renaming import with_new_names
from microagg.release.risks import check_unaccepted
from microagg.release.saving import report_places
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.release.true_values import risks_of_aggregates
from microagg.table.aggregates import aggregate_of
from microagg.table.schema import Role, Schema
from microagg.table.variable import Variable

if TYPE_CHECKING:
    from microagg.pipeline.block_specs import PlannedRun

BECOMES = {
    Role.IDENTIFIER: "left out",
    Role.UNIT: "left out; every class has k different ones",
    Role.CONFIDENTIAL: "released as it is",
    Role.KEEP: "released as it is",
    Role.STRATUM: "released as it is; no group has records of two strata",
}


@dataclass(frozen=True)
class DryRun:
    """Plan of a release, and its estimated cost."""

    records: int
    left_out: int
    """Records that would be left out: gaps, small strata."""
    axes: int
    strata: int
    columns: tuple[dict[str, str], ...]
    """Of each column its name, role, kind, and what becomes of it."""
    guarantee: tuple[str, ...]
    method: str
    params: dict[str, Any]
    scale: str
    estimate: Estimate
    seconds_before: float
    """Those that reading and encoding took just now."""
    files: tuple[Path, ...]
    blocks: int = 0
    """How many blocks the table would be worked on in, about, in passes over a file that is never
    whole in memory; 0 for a table in memory.
    """
    exposure: Exposure | None = None
    """Records that stand alone in the table as it is; None out of core."""
    preview: Preview | None = None
    """Expected loss and changed cells; None out of core."""

    @property
    def seconds(self) -> float | None:
        """The whole run: reading and encoding as measured, the search as estimated, and about as
        much again for aggregating, verifying, measuring and writing as for reading and encoding.
        """
        search = self.estimate.seconds
        return None if search is None else 2.0 * self.seconds_before + search

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "dry_run": True,
            "records": self.records,
            "left_out": self.left_out,
            "columns": list(self.columns),
            "axes": self.axes,
            "strata": self.strata,
            "blocks_beyond_memory": self.blocks,
            "guarantee": list(self.guarantee),
            "method": self.method,
            "params": {name: value for name, value in self.params.items() if value is not None},
            "scale": self.scale,
            "estimate": {
                "seconds": self.seconds,
                "search_seconds": self.estimate.seconds,
                "from_records": self.estimate.sample,
                "open_end": self.estimate.open_end,
                "efforts": dict(self.estimate.efforts),
            },
            "exposure": None if self.exposure is None else self.exposure.as_data(),
            "preview": None if self.preview is None else self.preview.as_data(),
            "would_write": [str(path) for path in self.files],
        }


class _Reached(Exception):
    """The search would begin here."""

    def __init__(self, what: Any) -> None:
        self.what = what


def _stop(what: Any) -> None:
    raise _Reached(what)


def dry_run_file(
    source: str | Path,
    target: str | Path,
    settings: Settings,
    *,
    report: str | Path | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    spill: str | Path | None = None,
) -> DryRun:
    """Plan what `anonymize_file` would do with a file. Nothing is written, but for temporary files
    of a table that exceeds `memory`.
    """
    settings, target = settings_for_file(settings.resolved(), source), as_target(target)
    if exceeds_memory(source, settings, memory):
        with in_memory_else(memory):
            return _rehearsed_beyond(source, target, settings, memory, report, threads, spill)
    clock, work = time.perf_counter(), time.process_time()
    table = read_for(source, target, settings, report=report)
    try:
        anonymize_table(
            table, source, target, settings, report=report, threads=threads, before_search=_stop
        )
    except _Reached as reached:
        took = min(time.perf_counter() - clock, time.process_time() - work)
        return _rehearsed(
            reached.what, with_new_names(settings), table.num_rows, took, _places(target, report)
        )
    raise AssertionError("a search always begins")


def _places(target: Path, report: str | Path | None) -> tuple[Path, ...]:
    return (target, *manifest_paths(target), *report_places(report))


def _rehearsed_beyond(
    source: str | Path,
    target: Path,
    settings: Settings,
    memory: str | float | None,
    report: str | Path | None,
    threads: int | None,
    spill: str | Path | None,
) -> DryRun:
    """The same for a table that does not fit into memory: the passes before the first record is
    routed.
    """
    clock = time.perf_counter()
    try:
        anonymize_out_of_core(
            source,
            target,
            settings,
            memory,
            report=report,
            threads=threads,
            spill=spill,
            before_search=_stop,
        )
    except _Reached as reached:
        planned: PlannedRun = reached.what
        took = time.perf_counter() - clock
        layout, cuts = planned.layout, planned.cuts
        about = _about(planned.schema, with_new_names(settings), layout.variables)
        return DryRun(
            records=layout.records,
            left_out=0,
            axes=layout.axes,
            strata=0 if layout.strata is None else len(cuts.territories),
            **about,
            estimate=_estimate_beyond(planned, settings),
            seconds_before=took,
            files=_places(target, report),
            blocks=sum(stratum.leaves[0] for stratum in cuts.territories),
        )
    raise AssertionError("a search always begins")


def _estimate_beyond(planned: PlannedRun, settings: Settings) -> Estimate:
    """Estimate the search from the sample that cuts were fitted to: one such search for each sample
    of that size, shared by the threads that work at once.
    """
    sample, layout = planned.cuts.sample, planned.layout
    if len(sample) < 2 * layout.k:
        return Estimate(None, 0)
    problem = replace(Problem.of(sample, layout.k, threads=1), of_records=layout.records)
    estimate = search_estimate(
        settings.chosen_method, problem, settings.params, seed=settings.seed or 0
    )
    times = layout.records / len(sample) / max(1, planned.budget.at_once)
    efforts = tuple((word, seconds * times) for word, seconds in estimate.efforts)
    if estimate.seconds is None:
        return replace(estimate, efforts=efforts)
    return replace(estimate, seconds=estimate.seconds * times, efforts=efforts)


def _rehearsed(
    prepared: Prepared, settings: Settings, records: int, took: float, places: tuple[Path, ...]
) -> DryRun:
    problem, plan = prepared.problem, prepared.plan
    cells = read_cells(plan.frame, plan.schema, settings)
    check_unaccepted(settings, risks_of_aggregates(cells, settings.aggregate))
    estimate = search_estimate(
        settings.chosen_method,
        problem,
        settings.params,
        seed=settings.seed or 0,
        refine=settings.refine,
    )
    left = len(problem.points)
    return DryRun(
        records=left,
        left_out=records - left,
        axes=problem.points.shape[1],
        strata=0 if plan.strata is None else len(plan.strata.sizes),
        **_about(plan.schema, settings, cells.variables),
        estimate=estimate,
        seconds_before=took,
        files=places,
        exposure=exposure_of_table(plan.input),
        preview=Previewer(prepared).preview(),
    )


def _about(schema: Schema, settings: Settings, variables: Sequence[Variable]) -> dict[str, Any]:
    """Return what columns and settings say of a release."""
    how = {
        variable.name: aggregate_of(variable, settings.aggregates).name for variable in variables
    }
    columns = tuple(
        {
            "name": column.name,
            "role": column.role.value,
            "kind": column.kind.value,
            "becomes": _becomes(column.role, how.get(column.name), settings),
        }
        for column in schema.columns
    )
    return {
        "columns": columns,
        "guarantee": _guarantee(schema, settings),
        "method": settings.method,
        "params": settings.params,
        "scale": settings.scale,
    }


def _becomes(role: Role, how: str | None, settings: Settings) -> str:
    if how is not None:
        return f"its group's {how}"
    if role is Role.WEIGHT:
        word = settings.weight_becomes or "mean"
        return {"mean": "its group's mean", "keep": "released as it is", "drop": "left out"}[word]
    return BECOMES[role]


def _guarantee(schema: Schema, settings: Settings) -> tuple[str, ...]:
    columns = ", ".join(class_columns(schema, settings))
    what = (
        "each combination of"
        if settings.chosen_method.scope == "record"
        else "each value of every single column among"
    )
    sentences = [f"{settings.k} or more records share {what} {columns}"]
    if settings.l is not None:
        sentences.append(
            f"{settings.diversity} l-diversity of {settings.l:g} in every confidential column"
        )
    if settings.t is not None:
        sentences.append(f"t-closeness of {settings.t:g} in every confidential column")
    if settings.unit is not None:
        sentences.append(
            f"{settings.k} or more different units in every class, none with more than "
            f"half of its records"
        )
    return tuple(sentences)
