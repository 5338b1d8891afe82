"""Searching with a promise: where to start from when l, t or units are asked for, and how much
work that leaves.

Any groups can be repaired by merging (`refine/merging.py`). Where t is asked for, groups built from
strata of a confidential column (`t-first`) mostly lose less: merging must go on until whole regions
of the table are one group if the column goes with the quasi-identifiers. Which is better depends on
the table, so both are built, improved by local search, and the one with the lower squared error is
kept. From then on no search enters a grouping that misses the promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from microagg.kernels import sums
from microagg.methods.confidential.t_first import t_first
from microagg.methods.lns.effort import THOROUGH, WORDS, Work
from microagg.methods.lns.lns import ROUNDS, improved_start
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.construct import WHOLE, block_groups
from microagg.refine.local import improve
from microagg.refine.merging import repair

# What balanced means where nearly every trial is judged, which makes a step some seven times as
# dear: less of everything.
MOST_FOR_EACH = 150
SHARED = 100_000
LEAST_FOR_EACH = 0.25
MORE_STARTS = (2, 4, 8)  # blocks of further starts
FEWEST_GROUPS = 4  # of a block of these
PATHS = ("npn", "tsp")  # orders whose optimal cuts are further starts
FEWEST_FOR_PATHS = 2048  # records; paths need further kernels, which take long to compile
MOST_FOR_PATHS = 10_000  # of the whole table: strata and blocks of a larger one have none
MOST_AXES = 64  # beyond, a path takes as long as a fifth of the annealing
LARGEST_K_OF_TREES = 10
CLEARLY = 1.0 - 1e-12


def start_with_promise(
    problem: Problem, rng: np.ndarray, watch: Watch, *, share: float = 0.1
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return groups that keep the promise, and how they came about; without a promise, the usual
    start. `share` of the whole time is shown as done at its end.
    """
    accept = problem.accept
    if accept is None:
        return best_start(problem, rng, watch, share), ()
    labels = improved_start(problem, watch, share=share)
    name = accept.promise.name
    merging = f"{name}: groups that missed it merged, then local search that keeps it"
    if accept.promise.closeness is None:
        return labels, (merging,)
    strata = improve(
        problem, repair(problem, t_first(problem, rng=rng)), rounds=ROUNDS, progress=watch.tell
    )
    by_merging, by_strata = (_squared_error(problem, start) for start in (labels, strata))
    if by_merging <= by_strata:
        return labels, (
            f"{merging}; groups from strata of a confidential column (t-first) lost no less",
        )
    why = (
        f"{name}: groups from strata of a confidential column (t-first), then local search "
        "that keeps it"
    )
    return strata, (f"{why}; merging the groups that missed it lost more",)


def best_start(problem: Problem, rng: np.ndarray, watch: Watch, share: float = 0.1) -> np.ndarray:
    """Return the best of several starts for a small table: MDAV on all records, and within ever
    smaller blocks of them; in tables of 2,049 to 10,000 records also optimal cuts of paths, and
    trees.

    Local search ends at another partition from each, above all where groups are few because k is
    large, or where a few records far out have most of the error; a start takes hundredths of a
    second.
    """
    best = improved_start(problem, watch, share=share)
    if len(problem.points) > MOST_FOR_PATHS or problem.weights is not None:
        return best
    least = _squared_error(problem, best)
    for start in _more_starts(problem, rng):
        labels = improve(problem, start, rounds=ROUNDS)
        error = _squared_error(problem, labels)
        if error < least * CLEARLY:
            best, least = labels, error
    return best


def starts_along_paths(problem: Problem) -> bool:
    """Return whether cuts of paths are among the starts."""
    n, axes = problem.points.shape
    whole = problem.of_records or n
    fits = n > FEWEST_FOR_PATHS and whole <= MOST_FOR_PATHS and axes <= MOST_AXES
    return fits and problem.accept is None and problem.weights is None


def _more_starts(problem: Problem, rng: np.ndarray) -> Iterator[np.ndarray]:
    n, k = len(problem.points), problem.k
    for blocks in MORE_STARTS if n <= WHOLE else ():
        if n < blocks * FEWEST_GROUPS * k:
            break
        yield block_groups(problem, block=-(-n // blocks), fewest=FEWEST_GROUPS)
    if starts_along_paths(problem):
        yield from _along_paths(problem, rng)


def _along_paths(problem: Problem, rng: np.ndarray) -> Iterator[np.ndarray]:
    # imported here: most runs have no use for these, and a small one would wait for them
    from microagg.methods.ordered.mhm import cut_along
    from microagg.methods.ordered.orders import order_named
    from microagg.methods.trees.mu_approx import mu_approx

    for path in PATHS:
        yield cut_along(problem, order_named(path, problem, rng, None, 0))
    if problem.k <= LARGEST_K_OF_TREES:
        yield mu_approx(problem, rng=rng)


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
    why = (
        f"effort {effort}: then annealing, {steps / n:.3g} steps for each record, fewer than "
        "usual because each costs more"
    )
    return replace(work, steps=steps, why=why)


def _squared_error(problem: Problem, labels: np.ndarray) -> float:
    means = sums.group_means(problem.points, labels, int(labels.max()) + 1)
    return float(sums.squared_error(problem.points, means, labels))
