"""MDAV by linear scan, twice, compiled: what the kd-tree is measured against.

Both keep the remaining rows contiguous (the last row moves into a gap), sum distances over the
columns in ascending order and give ties to the lower record number. Left-over records join the
group with the nearest centroid as a block. Centroids come from running sums.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

compiled: Any = numba.njit(cache=True)


@compiled
def mdav_as_worded(points, k):
    """One pass per query that writes all distances, then partial selection of the k smallest by
    quickselect.
    """
    n, d = points.shape
    rows, ids, labels = points.copy(), np.arange(n), np.full(n, -1, np.int32)
    distances, order = np.empty(n), np.empty(n, np.int64)
    sums, q = _sums(rows), np.empty(d)
    left, groups = n, 0
    while left >= 2 * k:
        q[:] = sums / left
        for _ in range(2):
            _write_distances(rows, left, q, distances)
            q[:] = rows[_position_of_largest(distances, ids, left)]
            _write_distances(rows, left, q, distances)
            for i in range(left):
                order[i] = i
            _select(distances, ids, order, left, k)
            left = _take(order[:k], groups, rows, ids, labels, sums, left)
            groups += 1
    return _finished(points, labels, ids[:left], groups, k)


@compiled
def mdav_fused(points, k):
    """The fastest scan we could write: one pass per query that keeps the farthest, or the k
    nearest, as it goes.
    """
    n, d = points.shape
    rows, ids, labels = points.copy(), np.arange(n), np.full(n, -1, np.int32)
    sums, q = _sums(rows), np.empty(d)
    near, chosen = np.empty(k), np.empty(k, np.int64)
    left, groups = n, 0
    while left >= 2 * k:
        q[:] = sums / left
        for _ in range(2):
            q[:] = rows[_farthest(rows, ids, left, q)]
            _nearest(rows, ids, left, q, near, chosen)
            left = _take(chosen, groups, rows, ids, labels, sums, left)
            groups += 1
    return _finished(points, labels, ids[:left], groups, k)


@compiled
def _sums(rows):
    sums = np.zeros(rows.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[j] += rows[i, j]
    return sums


@compiled
def _squared_distance(rows, i, q):
    total = 0.0
    for j in range(q.shape[0]):
        x = rows[i, j] - q[j]
        total += x * x
    return total


@compiled
def _write_distances(rows, left, q, distances):
    for i in range(left):
        distances[i] = _squared_distance(rows, i, q)


@compiled
def _position_of_largest(distances, ids, left):
    best = 0
    for i in range(1, left):
        if distances[i] > distances[best] or (
            distances[i] == distances[best] and ids[i] < ids[best]
        ):
            best = i
    return best


@compiled
def _select(distances, ids, order, left, k):
    """Quickselect: bring the k smallest (distance, record) to the front of `order`."""
    low, high = 0, left - 1
    while low < high:
        middle = order[(low + high) // 2]
        pivot, record = distances[middle], ids[middle]
        i, j = low, high
        while i <= j:
            while distances[order[i]] < pivot or (
                distances[order[i]] == pivot and ids[order[i]] < record
            ):
                i += 1
            while distances[order[j]] > pivot or (
                distances[order[j]] == pivot and ids[order[j]] > record
            ):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@compiled
def _farthest(rows, ids, left, q):
    largest, best = -1.0, -1
    for i in range(left):
        x = _squared_distance(rows, i, q)
        if x > largest or (x == largest and ids[i] < ids[best]):
            largest, best = x, i
    return best


@compiled
def _nearest(rows, ids, left, q, near, chosen):
    """Fill `chosen` with the positions of the k nearest rows, kept sorted by insertion."""
    k, size, worst = near.shape[0], 0, np.inf
    for i in range(left):
        x = _squared_distance(rows, i, q)
        if x > worst or (size == k and x == worst and ids[i] > ids[chosen[k - 1]]):
            continue
        size = min(size + 1, k)
        p = size - 1
        while p > 0 and (near[p - 1] > x or (near[p - 1] == x and ids[chosen[p - 1]] > ids[i])):
            near[p], chosen[p] = near[p - 1], chosen[p - 1]
            p -= 1
        near[p], chosen[p] = x, i
        if size == k:
            worst = near[k - 1]


@compiled
def _take(chosen, group, rows, ids, labels, sums, left):
    """Give the rows at these positions to a group and close the gaps; returns how many rows are
    left.
    """
    positions = np.sort(chosen)
    for t in range(positions.shape[0] - 1, -1, -1):
        i = positions[t]
        labels[ids[i]] = group
        left -= 1
        for j in range(rows.shape[1]):
            sums[j] -= rows[i, j]
            rows[i, j] = rows[left, j]
        ids[i] = ids[left]
    return left


@compiled
def _finished(points, labels, records, groups, k):
    """The labels once the records left over have a group too."""
    if records.shape[0] >= k or groups == 0:
        labels[records] = groups
        return labels
    if records.shape[0] == 0:
        return labels
    means, sizes = np.zeros((groups, points.shape[1])), np.zeros(groups)
    for i in range(points.shape[0]):
        if labels[i] >= 0:
            means[labels[i]] += points[i]
            sizes[labels[i]] += 1.0
    for g in range(groups):
        means[g] /= sizes[g]
    block = np.zeros(points.shape[1])
    for record in records:
        block += points[record]
    block /= records.shape[0]
    ids = np.arange(groups)
    nearest = np.empty(1, np.int64)
    _nearest(means, ids, groups, block, np.empty(1), nearest)
    labels[records] = nearest[0]
    return labels
