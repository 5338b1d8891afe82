"""IMHM and RIMHM: assignment to centroids under size bounds, and optimal cuts of paths through the
clusters, in turns.

Source: Mortazavi, Jalili and Gohargazi 2013 (Applied Intelligence 39), figures 2 and 4 and sections
4.2, 5.2 and 5.4.

1. Start. IMHM: the groups of MDAV whose leftovers join their nearest centroids, which move (or, for
large data, runs of k
   records along the sum of z-scores). RIMHM: the records along the sum of z-scores, shuffled within
   runs of n p records (the last one longer), and the optimal cut of that order.
2. Sort the centroids by their distance from the one farthest from the centre of centroids; npb
blocks of consecutive
   clusters are worked on one by one. Of c clusters, block b starts with number ⌊c b / npb⌋.
3. At most 100 times: assign the records to the centroids at the least total cost, every cluster
getting k to 2k - 1;
   compute the centroids.
4. If that does not lower the block's IL by more than 1e-7: order the records along a path through
the clusters, cut it
   optimally, and repeat both until IL changes by less than 1e-7 (at most 100 times). If IL is still
   no lower, stop.

Ties go to the lower record number and the lower cluster number. Readings: the paper bounds the size
of a block and does not say where blocks end; with their number given and the ends above, five of
its eight EIA cells with four blocks come out as printed, the others within 0.003. IL is relative to
the block's own total sum of squares. Departures: the best groups found in a block are kept, the
start included, so that it never ends worse than it started; `cost="squared"` assigns by squared
distances, whose total is the loss itself, which is usually a little better than the paper's plain
distances.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels import random, sums
from microagg.kernels.assignment import assign
from microagg.kernels.cut import optimal_cut
from microagg.kernels.distances import squared_distances
from microagg.methods.heuristics import labels_by
from microagg.methods.imhm.path import path_through
from microagg.methods.mdav.mdav import mdav
from microagg.methods.method import Choice, Method, Number, Partition, below_two_k
from microagg.methods.ordered.axis import runs_along
from microagg.methods.ordered.orders import by_zscores
from microagg.problem.problem import Problem, Progress

TURNS = 100
LEAST_CHANGE = 1e-7


def imhm(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    npb: int = 1,
    cost: str = "distance",
    start: str = "mdav",
) -> np.ndarray:
    """Assignment to centroids and optimal cuts, from the groups of MDAV or from runs along the sum
    of z-scores.
    """
    points, k = problem.points, problem.k
    reports = _Reports(progress, len(points), npb)
    first = (
        _mdav_groups(points, k, reports) if start == "mdav" else runs_along(by_zscores(problem), k)
    )
    return _improved(points, k, first, npb, cost == "squared", reports)


def rimhm(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    npb: int = 1,
    p: float = 0.1,
    cost: str = "distance",
) -> np.ndarray:
    """As IMHM, from the optimal cut of an order that is random within runs of n p records."""
    points, k = problem.points, problem.k
    first, _ = optimal_cut(points, _shuffled_within_runs(by_zscores(problem), p, rng), k)
    return _improved(points, k, first, npb, cost == "squared", _Reports(progress, len(points), npb))


class _Reports:
    """Tells of one turn of work after another as a share of the records: the start counts as much
    as a block.
    """

    def __init__(self, progress: Progress | None, n: int, blocks: int) -> None:
        self._progress, self._n, self._parts = progress, n, blocks + 1

    def starting(self, done: int, total: int) -> None:
        self._tell(done / total)

    def improving(self, block: int, turn: int) -> None:
        self._tell(1 + block + turn / TURNS)

    def _tell(self, parts: float) -> None:
        if self._progress is not None:
            self._progress(int(self._n * parts / self._parts), self._n)


def _mdav_groups(points: np.ndarray, k: int, reports: _Reports) -> np.ndarray:
    return labels_by(mdav, points, k, reports.starting, leftovers="nearest-updated")


def _shuffled_within_runs(order: np.ndarray, p: float, rng: np.ndarray) -> np.ndarray:
    """The order, random within runs of n p records; the last run is longer."""
    n, shuffled = len(order), order.copy()
    length = max(1, int(n * p + 1e-9))
    firsts = np.arange(n // length) * length
    for first, last in zip(firsts, [*firsts[1:], n], strict=True):
        shuffled[first:last] = order[first:last][random.permutation(rng, last - first)]
    return shuffled


def _improved(
    points: np.ndarray, k: int, start: np.ndarray, npb: int, squared: bool, reports: _Reports
) -> np.ndarray:
    """Steps 2 to 4, block by block."""
    labels, formed = np.empty(len(points), np.int32), 0
    along = _sorted_clusters(sums.group_means(points, start, int(start.max()) + 1))
    blocks = min(npb, len(along))
    for number, clusters in enumerate(np.split(along, np.arange(1, blocks) * len(along) // blocks)):
        chosen = np.flatnonzero(np.isin(start, clusters))
        block = sums.number_by_first_record(start[chosen])
        block = _improved_block(points[chosen], k, block, squared, reports, number)
        labels[chosen] = block + formed
        formed += int(block.max()) + 1
    return sums.number_by_first_record(labels)


def _sorted_clusters(centroids: np.ndarray) -> np.ndarray:
    """The clusters by their distance from the one farthest from the centre of centroids."""
    centre = sums.mean_of(centroids, np.arange(len(centroids)))
    outermost = int(squared_distances(centroids, centre).argmax())
    return np.argsort(squared_distances(centroids, centroids[outermost]), kind="stable")


def _improved_block(
    points: np.ndarray, k: int, start: np.ndarray, squared: bool, reports: _Reports, number: int
) -> np.ndarray:
    """Steps 3 and 4; the best groups found, which may be those given."""
    total = _squared_error(points, np.zeros(len(points), np.int32))
    if total == 0.0 or start.max() == 0:
        return start
    labels, loss = start, np.inf
    best, least = start, 100.0 * _squared_error(points, start) / total
    for turn in range(TURNS):
        reports.improving(number, turn)
        labels = assign(points, _centroids(points, labels), labels, k, squared)
        new_loss = 100.0 * _squared_error(points, labels) / total
        if not new_loss < loss - LEAST_CHANGE:
            labels, new_loss = _cut_again_and_again(points, k, labels, new_loss, total)
            if not new_loss < loss - LEAST_CHANGE:
                break
        loss = new_loss
        if loss < least:
            best, least = labels, loss
    return best


def _cut_again_and_again(
    points: np.ndarray, k: int, labels: np.ndarray, loss: float, total: float
) -> tuple[np.ndarray, float]:
    """Paths and optimal cuts in turns until IL changes by less than 1e-7; the groups and their
    IL.
    """
    centre = sums.mean_of(points, np.arange(len(points)))
    outermost = int(squared_distances(points, centre).argmax())
    for _ in range(TURNS):
        if labels.max() == 0:
            break
        path = path_through(points, _centroids(points, labels), labels, int(labels[outermost]))
        labels, _ = optimal_cut(points, path, k)
        before, loss = loss, 100.0 * _squared_error(points, labels) / total
        if before - loss < LEAST_CHANGE:
            break
    return labels, loss


def _centroids(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return sums.group_means(points, labels, int(labels.max()) + 1)


def _squared_error(points: np.ndarray, labels: np.ndarray) -> float:
    return sums.squared_error(points, _centroids(points, labels), labels)


COMPLEXITY = (
    "O(n² d / k) a turn in each block of n records, at most 100 turns; more blocks for large data"
)
NPB = Number(
    "npb",
    1,
    1e6,
    1,
    "number of blocks of neighbouring groups, each improved separately",
    whole=True,
)
COST = Choice(
    "cost",
    ("distance", "squared"),
    "distance",
    "cost of an assignment: the distance to the centroid, or its square",
)

IMHM = Method(
    name="imhm",
    family="imhm",
    source="Mortazavi, Jalili and Gohargazi 2013 (IMHM)",
    summary="improves MDAV by alternating optimal assignment to centroids and optimal cuts of "
    "paths",
    good_for="low loss without randomness, for a few thousand records",
    run=cast(Partition, imhm),
    complexity=COMPLEXITY,
    parameters=(
        NPB,
        COST,
        Choice(
            "start",
            ("mdav", "zscore"),
            "mdav",
            "initial groups: from MDAV, or runs sorted by the sum of z-scores",
        ),
    ),
    largest_group=below_two_k,
)

RIMHM = Method(
    name="rimhm",
    family="imhm",
    source="Mortazavi, Jalili and Gohargazi 2013 (RIMHM)",
    summary="like imhm, from a random start; the seed repeats a run",
    good_for="lower loss than imhm, where several runs are affordable",
    run=cast(Partition, rimhm),
    complexity=COMPLEXITY,
    parameters=(
        NPB,
        Number(
            "p",
            0.0,
            1.0,
            0.1,
            "share of the records that are shuffled together; 0 for no randomness",
        ),
        COST,
    ),
    largest_group=below_two_k,
    seeded=True,
)
