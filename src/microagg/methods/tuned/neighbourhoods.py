"""The k nearest of every record that remains, kept up to date: what DBA and GSMS choose from."""

from __future__ import annotations

import numpy as np

from microagg.kernels import neighbourhoods as kernels
from microagg.problem import PointSet


class Neighbourhoods:
    """For every remaining record the set of it and its k - 1 nearest, with the set's mean and spread (its SSE).

    >>> sets = Neighbourhoods(PointSet(np.array([[0.0], [1.0], [2.0], [7.0]])), 2)
    >>> sets.spreads.tolist()
    [0.5, 0.5, 0.5, 12.5]
    >>> sorted(sets.take(1).tolist()), sets.there.tolist()
    ([0, 1], [False, False, True, True])
    >>> sets.changed.tolist(), sets.spreads[2:].tolist()
    ([2], [12.5, 12.5])
    """

    def __init__(self, points: PointSet, k: int) -> None:
        self._set, self._k = points, k
        n, d = points.matrix.shape
        self._members = kernels.all_neighbourhoods(k, points.handle)
        self._first, self._following = kernels.chained(self._members)
        self._room = np.empty(n, np.int64)
        self.there = np.ones(n, np.bool_)
        """Which records remain."""
        self.centres, self.spreads = np.empty((n, d)), np.empty(n)
        """Of each record's set, the mean and the sum of squared distances to it; of no meaning once the record is taken."""
        self.changed = np.arange(n)
        """The remaining records whose sets have changed when the last group was taken."""
        kernels.describe(points.matrix, self._members, self.changed, self.centres, self.spreads)

    def take(self, record: int) -> np.ndarray:
        """Remove a record's set from the points and return it."""
        group = self._set.take(self._members[record].copy())
        self.there[group] = False
        count = 0
        if len(self._set) >= self._k:
            count = kernels.renew(
                group, self._members, self._first, self._following, self._room, self._set.handle
            )
        self.changed = self._room[:count]
        kernels.describe(self._set.matrix, self._members, self.changed, self.centres, self.spreads)
        return group
