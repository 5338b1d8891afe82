"""For heuristics that form one group after another: PointSet, the records left, and Groups, those
formed so far.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from microagg.kernels import sums, tree_build, tree_query, tree_remove
from microagg.kernels.distances import squared_distance
from microagg.kernels.tree import handle_of
from microagg.problem.problem import Progress

# The tree keeps float32 coordinates in units of its first extent. Once the records left lie within
# this share of it (the
# giants of heavy-tailed data are gone), it can hardly tell them apart and is built anew.
SHRUNKEN = 1e-3


class PointSet:
    """The records that a heuristic has not grouped yet, on a kd-tree that supports removal.

    All answers are exact; ties go to the lower record number. Where a method takes `q`, give a
    record number or a point. Building takes O(n log n); a question looks into a few dozen of the
    n/16 leaves on data of ten columns. Equal records count as one there: many of them cost no more
    than few.

    >>> points = PointSet(np.array([[0.0], [1.0], [2.0], [10.0]]))
    >>> points.farthest_from(points.centroid())
    3
    >>> points.take_nearest(3, 2).tolist()
    [3, 2]
    >>> len(points)
    2
    """

    def __init__(self, points: np.ndarray, progress: Progress | None = None) -> None:
        self._points = points
        self._n = self._left = self._report_below = len(points)
        self._progress = progress
        self._look_below, self._look_step = self._n - 1, 1
        self._grow()

    def _grow(self, records: np.ndarray | None = None) -> None:
        """Build the tree, of all records or of those that remain."""
        self._tree = tree_build.build(self._points, records, equals_as_one=True)
        self._handle = handle_of(self._tree)
        self._mean = self._tree.totals[3]

    def __len__(self) -> int:
        return self._left

    def centroid(self) -> np.ndarray:
        """The mean of the remaining records."""
        if self._left == 0:
            self._refuse(1)
        return self._mean.copy()

    def farthest_from(self, q: int | np.ndarray) -> int:
        """The remaining record farthest from q."""
        if self._left == 0:
            self._refuse(1)
        return tree_query.farthest_from(*self._locate(q), self._handle)

    def farthest_pair(self) -> tuple[int, int]:
        """The two remaining records farthest apart, lower number first."""
        if self._left < 2:
            self._refuse(2)
        start = self.farthest_from(self.centroid())
        low, high = tree_query.farthest_pair(start, self._handle)
        if low < 0:
            low, high = (int(record) for record in self.remaining()[:2])
        return low, high

    def nearest(self, q: int | np.ndarray, m: int) -> np.ndarray:
        """The m remaining records nearest to q, nearest first; q itself among them if it is still
        there.
        """
        if not 0 < m <= self._left:
            self._refuse(m)
        near, records = np.empty(m), np.empty(m, np.int64)
        tree_query.nearest(*self._locate(q), near, records, self._handle)
        return records

    def nearest_to_any(self, records: np.ndarray | list[int]) -> tuple[int, float]:
        """The remaining record nearest to any of the given ones, and its squared distance."""
        if self._left == 0:
            self._refuse(1)
        return tree_query.nearest_to_any(np.asarray(records, np.int64), self._handle)

    def take(self, records: np.ndarray | list[int]) -> np.ndarray:
        """Remove these records and return them."""
        records = np.asarray(records, np.int64).reshape(-1)
        refused = tree_remove.take(records, self._handle)
        if refused >= 0:
            raise ValueError(f"record {records[refused]} is not in the set")
        self._leave(len(records))
        return records

    def take_nearest(self, q: int | np.ndarray, k: int) -> np.ndarray:
        """Remove the k remaining records nearest to q and return them, nearest first."""
        if not 0 < k <= self._left:
            self._refuse(k)
        records = np.empty(k, np.int64)
        tree_remove.take_nearest(*self._locate(q), records, self._handle)
        self._leave(k)
        return records

    def take_all(self) -> np.ndarray:
        """Remove all remaining records and return them in ascending order."""
        return self.take(self.remaining())

    def remaining(self) -> np.ndarray:
        """The remaining records in ascending order."""
        return np.flatnonzero(self._tree.places >= 0)

    def extremes(self) -> tuple[float, float]:
        """The least and the largest value of the remaining records in any column."""
        if self._left == 0:
            self._refuse(1)
        there = self._points[self.remaining()]
        return float(there.min()), float(there.max())

    @property
    def handle(self) -> np.ndarray:
        """The tree for a kernel; good until the next record is taken."""
        return self._handle

    @property
    def matrix(self) -> np.ndarray:
        """The coordinates of all records, remaining or not."""
        return self._points

    def point(self, record: int) -> np.ndarray:
        """The coordinates of a record, remaining or not."""
        return self._points[record]

    def centroid_of(self, records: np.ndarray | list[int]) -> np.ndarray:
        """The mean of any records, remaining or not."""
        return sums.mean_of(self._points, np.asarray(records, np.int64))

    def squared_distance(self, record: int, q: int | np.ndarray) -> float:
        """The squared distance between a record, remaining or not, and q."""
        point = q if type(q) is np.ndarray else self._points[q]
        return squared_distance(self._points[record], point)

    def _locate(self, q: int | np.ndarray) -> tuple[np.ndarray, int]:
        """q as a point and as a record number; only one of them counts (-1: the point does)."""
        if type(q) is np.ndarray:
            if q.shape != self._mean.shape:
                raise ValueError(
                    f"a point of {len(self._mean)} columns is needed, not one of shape {q.shape}"
                )
            return q, -1
        if 0 <= q < self._n:
            return self._mean, int(q)
        raise IndexError(f"there is no record {q}")

    def _refuse(self, m: int) -> NoReturn:
        raise ValueError(f"{m} records asked for, {self._left} are left")

    def _leave(self, count: int) -> None:
        self._left -= count
        if self._left <= self._look_below:
            self._look_step = min(2 * self._look_step, max(self._n // 16, 1))
            self._look_below = self._left - self._look_step
            if self._left > 0 and tree_build.extent(self._tree) < SHRUNKEN:
                self._grow(self.remaining())
        if self._progress is not None and self._left <= self._report_below:
            self._report_below = self._left - self._n // 200
            self._progress(self._n - self._left, self._n)


class Groups:
    """The groups formed so far.

    >>> groups = Groups(np.array([[0.0], [1.0], [5.0], [6.0], [7.0]]))
    >>> groups.add(np.array([2, 3])); groups.add(np.array([0, 1]))
    >>> groups.join_nearest(np.array([4]))
    >>> groups.labels().tolist()
    [0, 0, 1, 1, 1]
    """

    def __init__(self, points: np.ndarray) -> None:
        self._points = points
        self._labels = np.full(len(points), -1, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, records: np.ndarray | list[int]) -> None:
        """These records form a new group."""
        self._labels[records] = self._count
        self._count += 1

    def join_nearest(
        self, records: np.ndarray, *, as_block: bool = False, updating: bool = False
    ) -> None:
        """Add records to the groups with the nearest centroids: one by one in ascending order, or
        all as a block.

        With `updating` a group's centroid moves after each addition. Ties go to the group formed
        first.
        """
        if len(records) == 0:
            return
        means = sums.group_means(self._points, self._labels, self._count)
        if as_block:
            self._labels[records] = sums.nearest_mean(means, sums.mean_of(self._points, records))
            return
        for record in np.sort(records):
            group = sums.nearest_mean(means, self._points[record])
            self._labels[record] = group
            if updating:
                means[group] = sums.mean_of(self._points, np.flatnonzero(self._labels == group))

    def labels(self) -> np.ndarray:
        """The group of each record, numbered by each group's first record."""
        return sums.number_by_first_record(self.as_formed())

    def as_formed(self) -> np.ndarray:
        """The group of each record, numbered in the order in which the groups were formed."""
        if (self._labels < 0).any():
            raise RuntimeError("a method left records without a group")
        return self._labels.copy()
