"""The nearest of a set of centroids, for each of them: the candidates of the local search."""

from __future__ import annotations

import numpy as np

from microagg.kernels.blocks import kd_order
from microagg.kernels.compiling import kernel, part
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
        _nearest(
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


@kernel
def _nearest(
    columns,
    starts,
    low,
    high,
    order,
    first_leaf,
    end_leaf,
    visits,
    near,
    rows,
    distances,
    stack,
    bounds,
    q,
    result,
):
    """Fill the rows of `result` for the centroids of some leaves: down the tree, the nearer box
    first.
    """
    d, leaves, wanted = columns.shape[0], starts.shape[0] - 1, near.shape[0]
    for own in range(first_leaf, end_leaf):
        for at in range(starts[own], starts[own + 1]):
            for j in range(d):
                q[j] = columns[j, at]
            for t in range(wanted):
                near[t], rows[t] = np.inf, -1
            _look_into(columns, starts[own], starts[own + 1], at, q, distances, near, rows)
            stack[0], bounds[0] = 0, 0.0
            height, visited = 1, 1
            while height > 0 and visited < visits:
                height -= 1
                node = stack[height]
                if bounds[height] >= near[wanted - 1]:
                    continue
                if node >= leaves - 1:
                    leaf = node - leaves + 1
                    if leaf != own:
                        visited += 1
                        _look_into(
                            columns, starts[leaf], starts[leaf + 1], at, q, distances, near, rows
                        )
                    continue
                farther, nearer = 2 * node + 1, 2 * node + 2
                to_farther, to_nearer = (
                    _to_box(low, high, farther, q),
                    _to_box(low, high, nearer, q),
                )
                if to_farther <= to_nearer:
                    farther, nearer, to_farther, to_nearer = nearer, farther, to_nearer, to_farther
                if to_farther < near[wanted - 1]:
                    stack[height], bounds[height] = farther, to_farther
                    height += 1
                stack[height], bounds[height] = nearer, to_nearer
                height += 1
            for t in range(wanted):
                if rows[t] >= 0:
                    result[order[at], t] = order[rows[t]]


@part
def _to_box(low, high, node, q):
    """The squared distance from q to the box of a node."""
    total = 0.0
    for j in range(q.shape[0]):
        x = max(low[node, j] - q[j], q[j] - high[node, j], 0.0)
        total += x * x
    return total


@part
def _look_into(columns, first, end, skipped, q, distances, near, rows):
    """Merge the points of a leaf into the sorted list of the nearest."""
    last = near.shape[0] - 1
    leaf = distances[: end - first]  # views from 0 on are what gets compiled to vector code
    for t in range(leaf.shape[0]):
        leaf[t] = 0.0
    for j in range(q.shape[0]):
        column, y = columns[j, first:end], q[j]
        for t in range(leaf.shape[0]):
            x = column[t] - y
            leaf[t] += x * x
    for t in range(leaf.shape[0]):
        x = leaf[t]
        if x < near[last] and first + t != skipped:
            at = last
            while at > 0 and near[at - 1] > x:
                near[at], rows[at] = near[at - 1], rows[at - 1]
                at -= 1
            near[at], rows[at] = x, first + t
