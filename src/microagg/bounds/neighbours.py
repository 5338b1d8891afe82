"""Who is near whom: the only groups worth looking at are made of near records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.problem.pointset import PointSet

SCANNED = 12_000  # up to here every pair of records is looked at; above, a kd-tree is asked
TOLD_EVERY = 1024


@kernel
def _scan(points, first, near, records):
    """The nearest others of the records first, first + 1, ...: as many as `near` has columns,
    nearest first.
    """
    n, d = points.shape
    m = near.shape[1]
    for t in range(near.shape[0]):
        i = first + t
        size = 0
        for j in range(n):
            if j == i:
                continue
            x = 0.0
            for c in range(d):
                difference = points[i, c] - points[j, c]
                x += difference * difference
            if size == m:
                if x >= near[t, m - 1]:
                    continue
            else:
                size += 1
            p = size - 1
            while p > 0 and near[t, p - 1] > x:
                near[t, p] = near[t, p - 1]
                records[t, p] = records[t, p - 1]
                p -= 1
            near[t, p] = x
            records[t, p] = j


def nearest_others(
    points: np.ndarray, m: int, stop: Callable[[], bool] | None = None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """(n, m) squared distances and record numbers of the m nearest other records, nearest first;
    and whether it is all done.

    When `stop` says so it ends early, and the rest are zeros. Memory O(n m).

    >>> near, records, complete = nearest_others(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> records.tolist()
    [[1], [0], [1]]
    """
    n = len(points)
    near, records = np.zeros((n, m)), np.zeros((n, m), np.int32)
    tree = PointSet(points) if n > SCANNED else None
    for first in range(0, n, TOLD_EVERY):
        last = min(first + TOLD_EVERY, n)
        if tree is None:
            _scan(points, first, near[first:last], records[first:last])
        else:
            for i in range(first, last):
                nearest = tree.nearest(i, m + 1)
                nearest = nearest[nearest != i][
                    :m
                ]  # with many duplicates the record itself may not be among them
                difference = points[nearest] - points[i]
                near[i], records[i] = (difference * difference).sum(axis=1), nearest
        if stop is not None and stop():
            return near, records, last == n
    return near, records, True
