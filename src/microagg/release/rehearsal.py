"""A dry run: what a release would be, to which columns, in how much time; everything that the real run refuses before its search is refused."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.engine.estimate import Estimate, search_estimate
from microagg.problem.problem import Problem
from microagg.release.cells import read_cells
from microagg.release.files import anonymize_table, read_for
from microagg.release.manifest import manifest_paths
from microagg.release.release import Prepared
from microagg.release.risks import refuse_unaccepted
from microagg.release.saving import report_places
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.release.true_values import risks_of_aggregates
from microagg.table.aggregates import aggregate_of
from microagg.table.io.parts import as_target
from microagg.table.schema import Role

BECOMES = {
    Role.IDENTIFIER: "left out",
    Role.UNIT: "left out; every class has k different ones",
    Role.CONFIDENTIAL: "released as it is",
    Role.KEEP: "released as it is",
    Role.STRATUM: "released as it is; no group has records of two strata",
}


@dataclass(frozen=True)
class Rehearsal:
    """What would be done, and at which cost."""

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

    @property
    def seconds(self) -> float | None:
        """The whole run: reading and encoding as measured, the search as estimated, and about as much again for aggregating, verifying,
        measuring and writing as for reading and encoding."""
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
            "guarantee": list(self.guarantee),
            "method": self.method,
            "params": {name: value for name, value in self.params.items() if value is not None},
            "scale": self.scale,
            "estimate": {
                "seconds": self.seconds,
                "search_seconds": self.estimate.seconds,
                "from_records": self.estimate.sample,
                "open_end": self.estimate.open_end,
            },
            "would_write": [str(place) for place in self.files],
        }


class _Reached(Exception):
    """The search would begin here."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared


def rehearse_file(
    source: str | Path,
    target: str | Path,
    settings: Settings,
    *,
    report: str | Path | None = None,
    threads: int | None = None,
) -> Rehearsal:
    """What `anonymize_file` would do with a file. Nothing is written."""
    clock, work = time.perf_counter(), time.process_time()
    settings = settings.settled()
    target = as_target(target)
    table = read_for(source, target, settings, report=report)

    def stop(prepared: Prepared) -> None:
        raise _Reached(prepared)

    try:
        anonymize_table(table, source, target, settings, report=report, threads=threads, before_search=stop)
    except _Reached as reached:
        took = min(time.perf_counter() - clock, time.process_time() - work)
        places = (target, *manifest_paths(target), *report_places(report))
        return _rehearsed(reached.prepared, settings, table.num_rows, took, places)
    raise AssertionError("a search always begins")


def _rehearsed(
    prepared: Prepared, settings: Settings, records: int, took: float, places: tuple[Path, ...]
) -> Rehearsal:
    problem: Problem = prepared.problem
    cells = read_cells(prepared.frame, prepared.schema, settings)
    refuse_unaccepted(settings, risks_of_aggregates(cells, settings.aggregate))
    estimate = search_estimate(
        settings.chosen_method, problem, settings.params, seed=settings.seed or 0, refine=settings.refine
    )
    how = {each.name: aggregate_of(each, settings.aggregates).name for each in cells.variables}
    left = len(problem.points)
    return Rehearsal(
        records=left,
        left_out=records - left,
        axes=problem.points.shape[1],
        strata=0 if prepared.strata is None else len(prepared.strata.sizes),
        columns=tuple(
            {
                "name": column.name,
                "role": column.role.value,
                "kind": column.kind.value,
                "becomes": _becomes(column.role, how.get(column.name), settings),
            }
            for column in prepared.schema.columns
        ),
        guarantee=_guarantee(prepared, settings),
        method=settings.method,
        params=settings.params,
        scale=settings.scale,
        estimate=estimate,
        seconds_before=took,
        files=places,
    )


def _becomes(role: Role, how: str | None, settings: Settings) -> str:
    if how is not None:
        return f"its group's {how}"
    if role is Role.WEIGHT:
        word = settings.weight_becomes or "mean"
        return {"mean": "its group's mean", "keep": "released as it is", "drop": "left out"}[word]
    return BECOMES[role]


def _guarantee(prepared: Prepared, settings: Settings) -> tuple[str, ...]:
    columns = ", ".join(class_columns(prepared.schema, settings))
    what = (
        "each combination of"
        if settings.chosen_method.scope == "record"
        else "each value of every single column among"
    )
    told = [f"{settings.k} or more records share {what} {columns}"]
    if settings.l is not None:
        told.append(f"{settings.diversity} l-diversity of {settings.l:g} in every confidential column")
    if settings.t is not None:
        told.append(f"t-closeness of {settings.t:g} in every confidential column")
    if settings.unit is not None:
        told.append(
            f"{settings.k} or more different units in every class, none with more than half of its records"
        )
    return tuple(told)
