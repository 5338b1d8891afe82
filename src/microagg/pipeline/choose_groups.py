"""The better of two groupings by what is released.

A search lowers the variation within groups (IL_within). The loss of what is released (IL) also
counts rounding, modes, medians, weights and filled gaps, so a longer search can end with a little
more of it than `quick`, above all in small tables. There quick is cheap, so it is run as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from microagg.kernels import sums
from microagg.methods.method import Grouping, Method
from microagg.methods.registry import DEFAULT
from microagg.methods.search import blockwise
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.encoder import Space
from microagg.table.variable import Cells

MOST_RECORDS = 10_000  # in larger tables the difference is lost among some thousand groups
CLEARLY = 1.0 - 1e-9
QUICK_WAS_BETTER = "the groups of quick, for they lose less in what is released"


def quick_groups(
    method: Method,
    problem: Problem,
    settings: Settings,
    search: Grouping,
    strata: np.ndarray | None,
) -> Grouping | None:
    """Find the groups of effort="quick"; None where there is nothing to compare.

    They are for a longer search of the default method that was not stopped, on a small table.
    """
    effort = settings.params.get("effort") or "balanced"
    stopped = search.stopped is not None or settings.params.get("stop_after") is not None
    if method.name != DEFAULT or effort in ("quick", "prove") or stopped:
        return None
    # blocks are done beyond memory, too
    if len(problem.points) > min(MOST_RECORDS, blockwise.MOST_AS_ONE):
        return None
    kept = {
        name: value
        for name, value in settings.params.items()
        if name not in ("time_limit", "stop_after")
    }
    params = {**kept, "effort": "quick"}
    quick = run_method(
        method, problem, params, seed=settings.seed or 0, refine=settings.refine, strata=strata
    )
    return None if np.array_equal(quick.labels, search.labels) else quick


def loses_less(space: Space, cells: Cells, one: Aggregated, other: Aggregated) -> bool:
    """Return whether the first of two releases of these cells loses less."""
    return _squared_error(space, cells, one) < CLEARLY * _squared_error(space, cells, other)


def with_groups_of(search: Grouping, quick: Grouping) -> Grouping:
    """Return what a search found with the groups of another in place of its own."""
    return replace(search, labels=quick.labels, chosen=(*search.chosen, QUICK_WAS_BETTER))


def _squared_error(space: Space, cells: Cells, made: Aggregated) -> float:
    if cells.is_plain and made.is_plain:
        errors = (space.points(cells) - space.points(made.cells.values)) ** 2
    else:
        errors = space.record_errors(cells, made.cells, made.labels)
    return sums.rounded(sums.column_sums(np.ascontiguousarray(errors).reshape(-1, 1)), 0)
