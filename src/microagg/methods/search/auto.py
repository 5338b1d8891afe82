"""auto: what microagg does when it is asked for k and nothing more.

1. Where one column alone varies, the optimal cut of its order: no partition loses less (Hansen and
Mukherjee 2003).
   Where every record has k - 1 equals and no promise is to be kept, groups of equal records:
   nothing is lost.
2. Else groups by MDAV within compact blocks of the records, improved by local search (`quick`),
then by annealing
   (`balanced`); `thorough` anneals longer, or, for up to 2,500 records and k up to 5, goes on with
   integer programs over the groups that good partitions can have. Where l, t or units are asked
   for, the groups are made to keep it first, with t in two ways of which the better is kept
   (`enforce.py`); no search after that breaks it, and there are no integer programs.
3. More than 500,000 records: step 2 within blocks of some 250,000 neighbouring records, then local
search once more within blocks
   whose borders lie elsewhere (`blockwise.py`). The blocks depend on the data and the seed only.
   Not so with `thorough` and `prove`.
4. `prove` works from both sides: search, and a lower bound that no partition can go below, until
they meet or no time is left.

How much each word means depends on the numbers of records and columns and on k, and is stated in
what `auto` chose; a number is a number of steps for each record. Effort is an amount of work: the
same seed gives the same groups on any machine, with any number of threads. A time limit ends the
search at a checkpoint, and the manifest keeps its number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from microagg.bounds.bound import Bound
from microagg.bounds.lower import best_of_one_column, lower_bound, varying_columns
from microagg.kernels import sums
from microagg.kernels.equal import chain_equal
from microagg.kernels.precompile import expect, stages_of
from microagg.methods.lns.effort import WORDS as SEARCHES
from microagg.methods.lns.effort import Work, default_work, searching_while_proving
from microagg.methods.lns.lns import STOPPING, settings_of, share_of_start, through_ruins
from microagg.methods.method import Effort, Grouping, Method, Partition, below_two_k
from microagg.methods.search.blockwise import in_blocks, needs_blocks, varying_in_words
from microagg.methods.search.enforce import (
    start_with_promise,
    starts_along_paths,
    work_with_promise,
)
from microagg.methods.search.prove import check_weights, improve_by_set_partitioning, prove
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch

WORDS = (*SEARCHES, "prove")
MOST_FOR_PROGRAMS, LARGEST_K_FOR_PROGRAMS = 2500, 5
FIRST_SEARCH = 20  # the search before any bound gets so much less work than those after it


@dataclass(frozen=True)
class Plan:
    """The way that auto takes, and why."""

    way: str
    """one group | one column | equal records | search | search and programs | prove"""
    work: Work
    why: tuple[str, ...]


def plan(problem: Problem, effort: str | float) -> Plan:
    """Choose what fits these points, this k and this effort.

    >>> plan(Problem.of(np.arange(8.0), k=2), "balanced").why
    ('one column varies: its optimal cut, which no grouping can beat',)
    """
    n, k = len(problem.points), problem.k
    varying = len(varying_columns(problem.points))
    if effort == "prove":
        work = searching_while_proving(n)
    else:
        work = default_work(n, k, effort, problem.of_records)
    if n < 2 * k:
        return Plan("one group", work, (f"{n} records cannot form two groups of {k}: one group",))
    if varying <= 1 and problem.accept is None and problem.weights is None:
        what = "column" if problem.columns is None else "axis"
        reason = f"one {what} varies: its optimal cut, which no grouping can beat"
        return Plan("one column", work, (reason,))
    if effort != "prove" and problem.accept is None and _all_have_equals(problem):
        reason = (
            f"every record has at least {k - 1} equals: groups of equal records, which lose nothing"
        )
        return Plan("equal records", work, (reason,))
    start = (
        f"{n:,} records, {varying_in_words(varying, problem.columns)}, k = {k}: MDAV within "
        "blocks, then local search"
    )
    why = (start, work.why)
    if effort == "prove":
        return Plan("prove", work, (*why, "a proven lower bound from the other side"))
    free = problem.weights is None and problem.accept is None
    if effort == "thorough" and free and _fit_for_programs(problem):
        programs = "then integer programs over the groups that good partitions can have"
        return Plan("search and programs", work, (start, work.why, programs))
    return Plan("search", work, why)


def _all_have_equals(problem: Problem) -> bool:
    """Return whether no record is equal to fewer than k - 1 others."""
    points, k = np.ascontiguousarray(problem.points, np.float64), problem.k
    firsts, _ = chain_equal(points, np.arange(len(points), dtype=np.int32))
    return len(firsts) * k <= len(points) and int(_numbers_of_equals(points)[1].min()) >= k


def _numbers_of_equals(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(records, equals side by side and in ascending order; how many are equal to each; its
    number among them).
    """
    order = np.lexsort(points.T[::-1])
    new = np.ones(len(points), bool)
    new[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    starts, which = np.flatnonzero(new), np.cumsum(new) - 1
    counts = np.diff(np.append(starts, len(points)))
    return order, counts[which], np.arange(len(points)) - starts[which]


def _groups_of_equals(points: np.ndarray, k: int) -> np.ndarray:
    """Labels of groups of k to 2k - 1 equal records, lower record numbers first."""
    order, counts, numbers = _numbers_of_equals(points)
    opens = (numbers % k == 0) & (numbers // k < counts // k)
    labels = np.empty(len(points), np.int32)
    labels[order] = np.cumsum(opens) - 1
    return sums.number_by_first_record(labels)


def _fit_for_programs(problem: Problem) -> bool:
    """Return whether the proof, from which the integer programs have their groups, can be
    expected to come to its end.
    """
    return (
        problem.of_records or len(problem.points)
    ) <= MOST_FOR_PROGRAMS and problem.k <= LARGEST_K_FOR_PROGRAMS


def auto(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    effort: str | float = "balanced",
    time_limit: float | None = None,
    stop_after: int | None = None,
) -> Grouping:
    """Choose construction, refinement and amount of work from the numbers of records and columns
    and k.
    """
    paths = ("paths",) if starts_along_paths(problem) else ()
    expect((*paths, *stages_of(effort)), problem.threads)
    if effort in ("thorough", "prove") or not needs_blocks(problem):
        return work_block(
            problem,
            rng=rng,
            progress=progress,
            effort=effort,
            time_limit=time_limit,
            stop_after=stop_after,
        )
    watch = Watch(progress, len(problem.points), time_limit=time_limit, stop_after=stop_after)
    return in_blocks(problem, BLOCK, rng=rng, effort=effort, watch=watch)


def work_block(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    effort: str | float = "balanced",
    time_limit: float | None = None,
    stop_after: int | None = None,
) -> Grouping:
    """Work on records as a whole: all of a table, or one block of it."""
    chosen = plan(problem, effort)
    watch = Watch(progress, len(problem.points), time_limit=time_limit, stop_after=stop_after)
    bound, why = None, chosen.why
    if chosen.way in ("one group", "one column"):
        labels = np.zeros(len(problem.points), np.int32)
        if chosen.way == "one column":
            labels = best_of_one_column(problem.points, problem.k)
        if effort == "prove":
            check_weights(problem)
            watch.stage(0.1, 1.0)
            with watch.searching():
                bound = lower_bound(problem.points, problem.k, labels=labels, watch=watch)
    elif chosen.way == "equal records":
        labels = _groups_of_equals(problem.points, problem.k)
    else:
        share = share_of_start(chosen.work, len(problem.points))
        labels, kept = start_with_promise(problem, rng, watch, share=share)
        work = work_with_promise(problem, labels, chosen.work, effort)
        why = (*why[:1], *kept, work.why, *why[2:])
        with watch.searching():
            if chosen.way == "prove":
                labels, bound = _proven(problem, labels, work, rng, watch)
            else:
                programs = chosen.way == "search and programs"
                watch.stage(share, 0.4 if programs else 1.0)
                labels = through_ruins(problem, labels, work, rng, watch)
                watch.stage(0.4, 1.0)
                if programs and watch.stopped is None:
                    labels = improve_by_set_partitioning(
                        problem,
                        labels,
                        watch,
                        lambda best: through_ruins(problem, best, work, rng, watch),
                    )
    return Grouping(labels, why, settings_of(watch), watch.stopped, bound, passed=watch.passed)


def _proven(
    problem: Problem, labels: np.ndarray, work: Work, rng: np.ndarray, watch: Watch
) -> tuple[np.ndarray, Bound]:
    """Search and bound in turns; the time is shared, so a search is kept short, and the first
    one shorter still.

    Not so with many records or a large k: there the bound takes whatever time is left, and a second
    turn hardly comes.
    """
    first = work.steps // FIRST_SEARCH if _fit_for_programs(problem) else work.steps

    def search(labels: np.ndarray, rng: np.ndarray, turn: int) -> np.ndarray:
        watch.stage(0.1, 0.3)
        steps = work.steps if turn > 0 else first
        labels = through_ruins(problem, labels, replace(work, steps=steps), rng, watch)
        watch.stage(0.3, 1.0)
        return labels

    return prove(problem, labels, rng=rng, watch=watch, search=search)


AUTO = Method(
    name="auto",
    family="search",
    source="microagg",
    summary="the default: chooses how groups are built and how long they are improved",
    good_for="everyday use: low loss at any size",
    run=cast(Partition, auto),
    complexity="quick O(n log n) in practice; balanced and thorough in proportion to their steps",
    parameters=(
        Effort(
            "effort",
            WORDS,
            "balanced",
            "how hard to search; prove adds a proven lower bound",
        ),
        *STOPPING,
    ),
    largest_group=below_two_k,
    seeded=True,
    heeds_promise=True,
)
BLOCK = replace(AUTO, run=cast(Partition, work_block))
