"""P-S, the pairwise-systematic method: groups from both ends of a sorted list.

Source: Kabir, Mahmood, Mustafa and Wang (the sorting framework: MultiDSort or Meansort, then P-S).

1. Sort the records once, ascending: MultiDSort by the sum of their ranks in all columns, Meansort
by the sum of their
   deviations from the column means.
2. While 3k records remain: the first one in that order starts a group, which grows to k by the
record nearest to its
   current centroid, again and again, but never by the last one in the order. Then the last one
   starts a group likewise.
3. With 2k to 3k - 1 left: the first one's group as before, and the rest form another. With fewer,
all of them do.

Ties go to the lower record number. Readings, which give the published figures on unscaled data: the
paper sorts anew every turn, which for the records left is nearly the same order, and here the first
order stays; "nearest records that cause less SSE" is read as nearest to the current centroid; the
last record is kept for its own group, as the paper expects of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.methods.method import Method, Partition, below_two_k
from microagg.methods.ordered.orders import Order, meansort, multidsort
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Problem, Progress


def pairwise_systematic(points: PointSet, groups: Groups, k: int, order: np.ndarray) -> None:
    """Groups around the first and the last record left in the order, two a turn."""
    line = _Line(order)
    while len(points) >= 3 * k:
        first, last = line.ends()
        groups.add(line.leave(_grown(points, first, k, spared=last)))
        groups.add(line.leave(_grown(points, last, k)))
    if len(points) >= 2 * k:
        first, last = line.ends()
        groups.add(_grown(points, first, k, spared=last))
    groups.add(points.take_all())


def _grown(points: PointSet, start: int, k: int, spared: int = -1) -> list[int]:
    """A group of k that starts from one record and takes the nearest to its centroid, but not the
    one to spare.
    """
    group = [start]
    points.take(group)
    while len(group) < k:
        nearest, second = points.nearest(points.centroid_of(group), 2).tolist()
        chosen = second if nearest == spared else nearest
        points.take([chosen])
        group.append(chosen)
    return group


class _Line:
    """The records in order, and who of them is still there."""

    def __init__(self, order: np.ndarray) -> None:
        self._order = order
        self._there = np.ones(len(order), np.bool_)
        self._low, self._high = 0, len(order) - 1

    def ends(self) -> tuple[int, int]:
        """The first and the last record that are still there."""
        while not self._there[self._order[self._low]]:
            self._low += 1
        while not self._there[self._order[self._high]]:
            self._high -= 1
        return int(self._order[self._low]), int(self._order[self._high])

    def leave(self, records: list[int]) -> list[int]:
        """These records leave."""
        self._there[records] = False
        return records


def _after(sort: Order) -> Partition:
    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        points, groups = PointSet(problem.points, progress), Groups(problem.points)
        pairwise_systematic(points, groups, problem.k, sort(problem, rng))
        return groups.labels()

    partition.__doc__ = "Groups from both ends of a sorted list."
    return partition


SOURCE = "Kabir, Mahmood, Mustafa and Wang"
COMPLEXITY = "O(n²) at worst, near O(n log n) on real data"

PS_MULTIDSORT = Method(
    name="ps-multidsort",
    family="pairwise-systematic",
    source=f"{SOURCE} (MultiDSort and P-S)",
    summary="forms two groups per turn from the ends of the list sorted by the sum of ranks",
    good_for="comparing with the paper; columns on different scales",
    run=_after(multidsort),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)

PS_MEANSORT = Method(
    name="ps-meansort",
    family="pairwise-systematic",
    source=f"{SOURCE} (Meansort and P-S)",
    summary="forms two groups per turn from the ends of the list sorted by the sum of deviations "
    "from the means",
    good_for="comparing with the paper; columns on one scale",
    run=_after(meansort),
    complexity=COMPLEXITY,
    largest_group=below_two_k,
)
