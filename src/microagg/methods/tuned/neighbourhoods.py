"""The k nearest of every record that remains, kept up to date: what DBA and GSMS choose from."""

from __future__ import annotations

import numpy as np

from microagg.kernels import neighbourhoods as kernels
from microagg.problem.pointset import PointSet


class Neighbourhoods:
    """For the remaining records the set of each and its k - 1 nearest, with the set's mean and
    spread (its SSE).

    Of several records at the same point only the first that remains is a candidate: the others have
    the same set.

    >>> sets = Neighbourhoods(PointSet(np.array([[0.0], [1.0], [2.0], [7.0], [7.0]])), 2)
    >>> sets.candidates.tolist(), sets.spreads[sets.candidates].tolist()
    ([True, True, True, True, False], [0.5, 0.5, 0.5, 0.0])
    >>> sorted(sets.take(1).tolist()), sets.candidates.tolist()
    ([0, 1], [False, False, True, True, False])
    >>> sets.changed.tolist(), sets.spreads[2].tolist()
    ([2], 12.5)
    """

    def __init__(self, points: PointSet, k: int) -> None:
        self._set, self._k = points, k
        n, d = points.matrix.shape
        self._twins = _next_at_the_same_point(points.matrix)
        self.candidates = np.ones(n, np.bool_)
        """Which records have a set of their own."""
        self.candidates[self._twins[self._twins >= 0]] = False
        self._members = kernels.all_neighbourhoods(k, self.candidates, points.handle)
        self._first, self._following = kernels.chained(self._members, self.candidates)
        self._room = np.empty(n, np.int64)
        self.centres, self.spreads = np.zeros((n, d)), np.zeros(n)
        """Of each candidate's set, the mean and the sum of squared distances to it."""
        self.changed = np.flatnonzero(self.candidates)
        """The candidates whose sets are new since the last group was taken."""
        kernels.describe(points.matrix, self._members, self.changed, self.centres, self.spreads)

    def take(self, record: int) -> np.ndarray:
        """Remove a candidate's set from the points and return it."""
        group = self._set.take(self._members[record].copy())
        count = 0
        if len(self._set) >= self._k:
            count = kernels.renew(
                group,
                self._members,
                self._first,
                self._following,
                self._twins,
                self.candidates,
                self._room,
                self._set.handle,
            )
        self.changed = self._room[:count]
        kernels.describe(self._set.matrix, self._members, self.changed, self.centres, self.spreads)
        return group


def _next_at_the_same_point(points: np.ndarray) -> np.ndarray:
    """For each record the next one with the same coordinates, or -1."""
    order = np.lexsort(points.T)
    same = (points[order[1:]] == points[order[:-1]]).all(axis=1)
    twins = np.full(len(points), -1)
    twins[order[:-1][same]] = order[1:][same]
    return twins
