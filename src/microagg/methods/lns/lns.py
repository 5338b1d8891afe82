"""LNS: annealing by small ruins, from groups that local search has improved.

Source: microagg's own. The principles are those of ruin and recreate (Schrimpf, Schneider,
Stamm-Wilbrandt and Dueck 2000) and of large neighbourhood search (Shaw 1998); the ruins are small
ones, see `refine/lns.py`.

1. Start: MDAV within compact blocks of the records (`start=mdav`: of all records at once), improved
by local search. Where l, t or
   units are asked for, groups that miss it are merged first, and nothing after that enters a
   grouping that misses it.
2. Steps: each tries 128 changes among neighbouring groups: two records exchanged, one shifted, a
group dissolved or founded.
   What costs something is accepted by a temperature that falls to 0. The best groups met are kept,
   place by place.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from microagg.methods.heuristics import labels_by
from microagg.methods.lns.effort import Work, work_of
from microagg.methods.mdav.mdav import mdav
from microagg.methods.method import Choice, Effort, Grouping, Method, Number, Partition, below_two_k
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch
from microagg.refine.construct import block_groups
from microagg.refine.lns import anneal
from microagg.refine.local import improve
from microagg.refine.merging import repair

STOPPING = (
    Number(
        "time_limit",
        0.0,
        1e7,
        None,
        "seconds after which the search stops at its next checkpoint",
        public=False,
    ),
    Number(
        "stop_after",
        0,
        2**53,
        None,
        "the checkpoint to stop at: repeats a run that was stopped",
        whole=True,
        public=False,
    ),
)
ROUNDS = 2  # of local search: a third gains next to nothing
STEPS_OF_START = 10  # what takes as long as a start, for each record


def lns(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    effort: str | float = "balanced",
    start: str = "blocks",
    time_limit: float | None = None,
    stop_after: int | None = None,
) -> Grouping:
    """Annealing by small ruins, from groups that local search has improved."""
    watch = Watch(progress, len(problem.points), time_limit=time_limit, stop_after=stop_after)
    work = work_of(len(problem.points), effort, problem.of_records)
    share = share_of_start(work, len(problem.points))
    labels = improved_start(problem, watch, start, share=share)
    with watch.searching():
        watch.stage(share, 1.0)
        labels = through_ruins(problem, labels, work, rng, watch)
    return Grouping(labels, (work.why,), settings_of(watch), watch.stopped, passed=watch.passed)


def share_of_start(work: Work, records: int) -> float:
    """Return the share of the whole time that groups to search from take.

    >>> share_of_start(Work(0, ""), 1000), share_of_start(Work(90_000, ""), 1000)
    (1.0, 0.1)
    """
    return STEPS_OF_START / (STEPS_OF_START + work.steps / records)


def improved_start(
    problem: Problem, watch: Watch, start: str = "blocks", *, share: float = 0.1
) -> np.ndarray:
    """Construct groups to search from, and improve them by local search. It cannot be stopped with
    something to keep. `share` of the whole time is shown as done at its end.
    """
    watch.stage(0.0, 0.4 * share)
    if start == "blocks":
        labels = block_groups(problem, progress=watch.tell)
    else:
        labels = labels_by(mdav, problem.points, problem.k, watch.tell)
    watch.stage(0.4 * share, share)
    return improve(problem, repair(problem, labels), rounds=ROUNDS, progress=watch.tell)


def through_ruins(
    problem: Problem, labels: np.ndarray, work: Work, rng: np.ndarray, watch: Watch
) -> np.ndarray:
    """Return the best groups found in so much work, starting from these."""
    if work.steps == 0 or len(problem.points) < 2 * problem.k:
        return labels
    return anneal(problem, labels, steps=work.steps, rng=rng, watch=watch, schedule=work.schedule)


def settings_of(watch: Watch) -> dict[str, Any]:
    """Return the parameters that repeat a search which was stopped early."""
    return {} if watch.stopped is None else {"stop_after": watch.passed}


LNS = Method(
    name="lns",
    family="search",
    source="microagg; after Shaw 1998 and Schrimpf et al. 2000",
    summary="simulated annealing over small changes to neighbouring groups, after local search",
    good_for="research: the search alone, from a start of your choice",
    run=cast(Partition, lns),
    complexity="in proportion to the steps: 10 to 25 microseconds each, growing with columns and k",
    parameters=(
        Effort("effort", ("quick", "balanced", "thorough"), "balanced", "how hard to search"),
        Choice(
            "start",
            ("blocks", "mdav"),
            "blocks",
            "MDAV within compact blocks, or on all records at once",
        ),
        *STOPPING,
    ),
    largest_group=below_two_k,
    seeded=True,
    heeds_promise=True,
)
