"""Fine-tuning: the second stage that TFRP-2, DBA-2, MDAV-2 and GSMS-T2 share.

Source: Chang, Li and Huang 2007 (TFRP) and Lin, Wen, Hsieh and Chang 2010 (DBA), as quoted by
Kabir, Mahmood, Mustafa and Wang and by Mortazavi, Jalili and Gohargazi 2013; read so that the
published figures come out.

1. Once through the groups, in the order that the method says: take the group apart on trial. Each
of its records goes to
   the nearest other centroid; centroids stay where they are meanwhile. Where the method has a
   largest size, a group that has reached it takes no more records.
2. If the total SSE falls, however little, that stays, and the centroids of the groups that got
records are computed anew.
   If it does not, or if no group can take a record, the trial is undone.
3. Every group of 2k or more records is then partitioned by the method's own splitter, as if it were
all the data.

Ties between centroids go to the group formed first, so do ties in the order of the groups.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.kernels.distances import squared_distance, squared_distances
from microagg.kernels.neighbourhoods import spread_of
from microagg.methods.heuristics import Heuristic
from microagg.methods.method import Partition
from microagg.methods.parts import records_by_label, split_oversized
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Problem, Progress

Order = Callable[[list[float]], list[int]]


def last_first(spreads: list[float]) -> list[int]:
    """The groups in the reverse of the order in which they were formed."""
    return list(reversed(range(len(spreads))))


def widest_first(spreads: list[float]) -> list[int]:
    """The groups by descending SSE, as it was before any of them was taken apart."""
    return sorted(range(len(spreads)), key=lambda group: -spreads[group])


def tuned(
    heuristic: Heuristic,
    *,
    order: Order,
    splitter: Heuristic,
    largest: Callable[[int], int] | None = None,
) -> Partition:
    """A heuristic and the second stage after it, in the general shape; `largest` gives a largest
    size for k.
    """

    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        points, k = problem.points, problem.k
        first, second = _halves(progress, len(points))
        groups = Groups(points)
        heuristic(PointSet(points, first), groups, k, **params)
        labels = dispersed(
            points, groups.as_formed(), order, None if largest is None else largest(k), second
        )
        return split_oversized(points, labels, k, splitter)

    partition.__doc__ = heuristic.__doc__
    return partition


def _halves(progress: Progress | None, n: int) -> tuple[Progress | None, Progress | None]:
    """Two callbacks, for the first and the second half of the work."""
    if progress is None:
        return None, None
    return (
        lambda done, total: progress(n * done // (2 * total), n),
        lambda done, total: progress((n + n * done // total) // 2, n),
    )


def dispersed(
    points: np.ndarray,
    labels: np.ndarray,
    order: Order,
    largest: int | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Steps 1 and 2. Labels number the groups as they were formed, before and after; those taken
    apart are missing.

    >>> points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [1.5], [10.5]])
    >>> dispersed(points, np.array([0, 0, 0, 1, 1, 2, 2]), last_first).tolist()
    [0, 0, 0, 1, 1, 0, 1]
    """
    trials = _Trials(points, labels, largest)
    groups = order(trials.spreads)
    for done, group in enumerate(groups):
        trials.take_apart(group)
        if progress is not None and done % 64 == 0:
            progress(done, len(groups))
    return trials.labels()


class _Trials:
    """The groups while some are taken apart."""

    def __init__(self, points: np.ndarray, labels: np.ndarray, largest: int | None) -> None:
        self._points = points
        self._largest = math.inf if largest is None else largest
        self._members = records_by_label(labels)
        self._centres = _Centres(sums.group_means(points, labels, len(self._members)))
        self.spreads: list[float] = [spread_of(points, members) for members in self._members]

    def take_apart(self, group: int) -> None:
        """Give the records of a group to the nearest others, if that lowers the SSE."""
        plan = self._plan(group)
        if plan is None:
            return
        grown = {
            other: np.sort(np.concatenate([self._members[other], records]))
            for other, records in plan.items()
        }
        spreads = {other: spread_of(self._points, members) for other, members in grown.items()}
        if not math.fsum(spreads.values()) < math.fsum(self.spreads[g] for g in (group, *plan)):
            return
        self._centres.drop(group)
        self._members[group] = np.empty(0, np.int64)
        for other, members in grown.items():
            self._members[other], self.spreads[other] = members, spreads[other]
            self._centres.move(other, sums.mean_of(self._points, members))

    def _plan(self, group: int) -> dict[int, list[int]] | None:
        """Which records each other group would get; None where one of them finds no group."""
        plan: dict[int, list[int]] = {}

        def has_room(other: int) -> bool:
            return (
                other != group
                and len(self._members[other]) + len(plan.get(other, ())) < self._largest
            )

        for record in self._members[group].tolist():
            nearest = self._centres.nearest(self._points[record], has_room)
            if nearest < 0:
                return None
            plan.setdefault(nearest, []).append(record)
        return plan

    def labels(self) -> np.ndarray:
        """The groups as they are now, numbered as in the beginning."""
        labels = np.empty(len(self._points), np.int32)
        for group, members in enumerate(self._members):
            labels[members] = group
        return labels


class _Centres:
    """Centroids of groups: which is nearest, while some of them move and some go.

    Those that have not moved lately are in a kd-tree, the others in a list; when it gets long, the
    tree is built anew.
    """

    def __init__(self, centres: np.ndarray) -> None:
        self._all = centres
        self._there = np.ones(len(centres), np.bool_)
        self._settle()

    def _settle(self) -> None:
        self._rows = np.flatnonzero(self._there)
        self._places = np.full(len(self._all), -1)
        self._places[self._rows] = np.arange(len(self._rows))
        self._tree = PointSet(self._all[self._rows])
        self._moved: list[int] = []
        self._most = 32 + math.isqrt(len(self._rows))

    def nearest(self, q: np.ndarray, allowed: Callable[[int], bool]) -> int:
        """The nearest group of those allowed, the one formed first of several; -1 if there is
        none.
        """
        chosen = self._nearest_at_rest(q, allowed)
        least = math.inf if chosen < 0 else squared_distance(self._all[chosen], q)
        if self._moved:
            distances = squared_distances(self._all[self._moved], q)
            for at in np.flatnonzero(distances <= least).tolist():
                group, x = self._moved[at], distances[at]
                if (x < least or (x == least and group < chosen)) and allowed(group):
                    chosen, least = group, x
        return chosen

    def _nearest_at_rest(self, q: np.ndarray, allowed: Callable[[int], bool]) -> int:
        asked, known = min(2, len(self._tree)), 0
        while asked > known:
            for place in self._tree.nearest(q, asked)[known:]:
                group = int(self._rows[place])
                if allowed(group):
                    return group
            asked, known = min(4 * asked, len(self._tree)), asked
        return -1

    def move(self, group: int, centre: np.ndarray) -> None:
        """This centroid is now there."""
        self._all[group] = centre
        if self._places[group] >= 0:
            self._leave(group)
            bisect.insort(self._moved, group)
            if len(self._moved) > self._most:
                self._settle()

    def drop(self, group: int) -> None:
        """This group is no more."""
        self._there[group] = False
        if self._places[group] >= 0:
            self._leave(group)
        else:
            self._moved.remove(group)

    def _leave(self, group: int) -> None:
        self._tree.take([int(self._places[group])])
        self._places[group] = -1
