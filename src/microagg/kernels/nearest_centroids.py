"""The nearest of a set of centroids, by boxes of a kd-tree whose leaves are scanned."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part


@kernel
def fill_nearest(
    columns, starts, low, high, order, first_leaf, end_leaf, visits, near, rows, distances, stack,
    bounds, q, result,
):  # fmt: skip
    """Fill the rows of `result` for the centroids of some leaves: down the tree, the nearer box
    first.
    """
    d, leaves, wanted = columns.shape[0], starts.shape[0] - 1, near.shape[0]
    for home in range(first_leaf, end_leaf):
        for row in range(starts[home], starts[home + 1]):
            for j in range(d):
                q[j] = columns[j, row]
            for t in range(wanted):
                near[t], rows[t] = np.inf, -1
            _look_into(columns, starts[home], starts[home + 1], row, q, distances, near, rows)
            stack[0], bounds[0] = 0, 0.0
            height, visited = 1, 1
            while height > 0 and visited < visits:
                height -= 1
                node = stack[height]
                if bounds[height] >= near[wanted - 1]:
                    continue
                if node >= leaves - 1:
                    leaf = node - leaves + 1
                    if leaf != home:
                        visited += 1
                        _look_into(
                            columns, starts[leaf], starts[leaf + 1], row, q, distances, near, rows
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
                    result[order[row], t] = order[rows[t]]


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
            rank = last
            while rank > 0 and near[rank - 1] > x:
                near[rank], rows[rank] = near[rank - 1], rows[rank - 1]
                rank -= 1
            near[rank], rows[rank] = x, first + t
