"""The nearest of a set of centroids, for each of them: the candidates of the local search."""

from __future__ import annotations

import numpy as np

from microagg.kernels.blocks import kd_order
from microagg.kernels.nearest_centroids import fill_nearest
from microagg.refine.construct import in_order

LEAF = 32
VISITS = 64  # leaves looked into at most for one centroid
LEAVES_A_JOB = 128
DEPTH = 64  # more nodes than can wait at once


def nearest_centroids(centroids: np.ndarray, wanted: int, threads: int = 1) -> np.ndarray:
    """(n, wanted) int32: the rows of the nearest other centroids, nearest first, -1 where there
    are no more.

    Exact where so many leaves are enough to be sure; else the nearest found by then. So the time
    stays O(n log n) whatever the number of columns.

    >>> nearest_centroids(np.array([[0.0], [1.0], [3.0]]), 2).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    order, starts = kd_order(centroids, LEAF)
    columns = np.ascontiguousarray(centroids[order].T)
    low, high = _boxes(columns, starts, np.minimum), _boxes(columns, starts, np.maximum)
    result = np.full((len(centroids), wanted), -1, np.int32)
    leaves = len(starts) - 1

    def fill(job: int) -> None:
        near, rows, distances = np.empty(wanted), np.empty(wanted, np.int64), np.empty(LEAF)
        stack, bounds, q = np.empty(DEPTH, np.int64), np.empty(DEPTH), np.empty(len(columns))
        first = job * LEAVES_A_JOB
        end = min(first + LEAVES_A_JOB, leaves)
        fill_nearest(
            columns,
            starts,
            low,
            high,
            order,
            first,
            end,
            VISITS,
            near,
            rows,
            distances,
            stack,
            bounds,
            q,
            result,
        )

    for _ in in_order(fill, -(-leaves // LEAVES_A_JOB), threads):
        pass
    return result


def _boxes(columns: np.ndarray, starts: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """A side of the boxes around all nodes of the tree: node i has the children 2i + 1 and 2i +
    2, leaves come last.
    """
    levels = [extreme.reduceat(columns, starts[:-1], axis=1).T]
    while len(levels[-1]) > 1:
        levels.append(extreme(levels[-1][0::2], levels[-1][1::2]))
    return np.ascontiguousarray(np.concatenate(levels[::-1]))
