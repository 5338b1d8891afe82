"""Who is near whom: the only groups worth looking at are made of near records."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.problem.pointset import PointSet

SCANNED = 12_000  # up to here every pair of records is looked at; above, a kd-tree is asked
TOLD_EVERY = 1024


class Neighbours(NamedTuple):
    """For each record those near it, in both directions: j is listed with i where either is
    among the other's m nearest.

    Two records that are not listed with each other are at least as far apart as `reach` says of
    each of them.
    """

    starts: np.ndarray
    """Where each record's list starts; one more than there are records."""
    others: np.ndarray
    """int32, nearest first."""
    squares: np.ndarray
    """The squared distances."""
    reach: np.ndarray
    """The squared distance of each record to its m-th nearest; infinite if all others are
    listed.
    """


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


@kernel
def _both_ways(near, records):
    """Lists in both directions: starts, others and squared distances, each record's sorted by
    distance.
    """
    n, m = near.shape
    counts = np.zeros(n + 1, np.int64)
    for i in range(n):
        for p in range(m):
            j = records[i, p]
            counts[i + 1] += 1
            mutual = False
            for q in range(m):
                if records[j, q] == i:
                    mutual = True
                    break
            if not mutual:
                counts[j + 1] += 1
    for i in range(n):
        counts[i + 1] += counts[i]
    others = np.empty(counts[n], np.int32)
    squares = np.empty(counts[n])
    size = np.zeros(n, np.int64)
    for i in range(n):
        for p in range(m):
            others[counts[i] + p] = records[i, p]
            squares[counts[i] + p] = near[i, p]
        size[i] = m
    for i in range(n):
        for p in range(m):
            j = records[i, p]
            mutual = False
            for q in range(m):
                if records[j, q] == i:
                    mutual = True
                    break
            if not mutual:  # at least as far from j as all that j listed itself
                x, at = near[i, p], counts[j] + size[j]
                while at > counts[j] and squares[at - 1] > x:
                    others[at] = others[at - 1]
                    squares[at] = squares[at - 1]
                    at -= 1
                others[at] = i
                squares[at] = x
                size[j] += 1
    return counts, others, squares


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
                found = tree.nearest(i, m + 1)
                found = found[found != i][
                    :m
                ]  # with many duplicates the record itself may not be among them
                difference = points[found] - points[i]
                near[i], records[i] = (difference * difference).sum(axis=1), found
        if stop is not None and stop():
            return near, records, last == n
    return near, records, True


def listed_both_ways(near: np.ndarray, records: np.ndarray) -> Neighbours:
    """The lists of `nearest_others` in both directions."""
    n, m = near.shape
    starts, others, squares = _both_ways(near, records)
    reach = np.full(n, np.inf) if m >= n - 1 else near[:, m - 1].copy()
    return Neighbours(starts, others, squares, reach)
