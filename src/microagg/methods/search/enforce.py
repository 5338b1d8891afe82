"""Searching with a promise: where to start from when l, t or units are asked for, and how much
work that leaves.

Any groups can be repaired by merging (`refine/merging.py`). Where t is asked for, groups built from
strata of a confidential column (`t-first`) mostly lose less: merging must go on until whole regions
of the table are one group if the column goes with the quasi-identifiers. Which is better depends on
the table, so both are built, improved by local search, and the one with the lower squared error is
kept. From then on no search enters a grouping that misses the promise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from microagg.kernels import sums
from microagg.methods.confidential.t_first import t_first
from microagg.methods.lns.effort import THOROUGH, WORDS, Work
from microagg.methods.lns.lns import ROUNDS, improved_start
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.local import improve
from microagg.refine.merging import repair

# What balanced means where nearly every trial is judged, which makes a step some seven times as
# dear: less of everything.
MOST_FOR_EACH = 150
SHARED = 100_000
LEAST_FOR_EACH = 0.25


def start_with_promise(
    problem: Problem, rng: np.ndarray, watch: Watch
) -> tuple[np.ndarray, tuple[str, ...]]:
    """(groups that keep the promise, how they came about); without a promise, the usual start."""
    labels = improved_start(problem, watch)
    accept = problem.accept
    if accept is None:
        return labels, ()
    name = accept.promise.name
    merging = f"{name}: groups that missed it merged, then local search that keeps it"
    if accept.promise.closeness is None:
        return labels, (merging,)
    strata = improve(
        problem, repair(problem, t_first(problem, rng=rng)), rounds=ROUNDS, progress=watch.tell
    )
    by_merging, by_strata = (_squared_error(problem, found) for found in (labels, strata))
    if by_merging <= by_strata:
        return labels, (
            f"{merging}; groups from strata of a confidential column (t-first) lost no less",
        )
    told = (
        f"{name}: groups from strata of a confidential column (t-first), then local search "
        "that keeps it"
    )
    return strata, (f"{told}; merging the groups that missed it lost more",)


def work_with_promise(
    problem: Problem, labels: np.ndarray, work: Work, effort: str | float
) -> Work:
    """The work that an effort means with a promise: a word means less of it, for each trial
    costs several times as much.

    The larger the groups, the more so. A number of steps is what was asked for and stays.
    """
    n, groups = len(labels), int(labels.max()) + 1
    if problem.accept is None or work.steps == 0 or effort not in WORDS:
        return work
    whole = problem.of_records or n
    most = min(MOST_FOR_EACH * whole, SHARED + LEAST_FOR_EACH * whole) * (n / whole)
    most *= THOROUGH if effort == "thorough" else 1
    steps = max(1, round(min(work.steps, most) * min(1.0, 2.0 * problem.k * groups / n)))
    told = (
        f"effort {effort}: then annealing, {steps / n:.3g} steps for each record, fewer than "
        "usual because each costs more"
    )
    return replace(work, steps=steps, why=told)


def _squared_error(problem: Problem, labels: np.ndarray) -> float:
    means = sums.group_means(problem.points, labels, int(labels.max()) + 1)
    return float(sums.squared_error(problem.points, means, labels))
