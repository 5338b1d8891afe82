"""MDAV on the points of one block, by plain scans: fast as long as blocks are small."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, rounded

STRETCH = 256  # rows whose distances are worked out together


@kernel
def group_by_mdav(columns, k, labels, records, distances, heap, sums, q):
    """Label the points given column by column, in ascending order of their records; returns the
    number of groups.

    The rows that are left stay together at the front. Distances are worked out by column, as
    vector code. The other arrays are room to work in: making them here would take longer to compile
    than all the rest.
    """
    d, n = columns.shape
    for i in range(n):
        records[i] = i
        labels[i] = -1
        for j in range(d):
            add_exactly(sums, columns[j, i], j)
    left, groups = n, 0
    while left >= 2 * k:
        for j in range(d):
            q[j] = rounded(sums, j) / left
        _measure(columns, left, q, distances)
        for _ in range(2):
            row = _farthest(distances, records, left)
            for j in range(d):
                q[j] = columns[j, row]
            _measure(columns, left, q, distances)
            _choose_nearest(distances, records, left, heap)
            _take(heap, np.int32(groups), columns, records, distances, labels, sums, left)
            left -= k
            groups += 1
    if left >= k or groups == 0:
        for i in range(left):
            labels[records[i]] = groups
        groups += 1
    elif left > 0:
        for j in range(d):
            q[j] = rounded(sums, j) / left
        nearest = _nearest_group(columns, records, left, labels, np.int64(groups), sums, q)
        for i in range(left):
            labels[records[i]] = nearest
    return groups


@part
def _measure(columns, left, q, distances):
    """Squared distances of the rows that are left to q."""
    for first in range(0, left, STRETCH):
        end = min(first + STRETCH, left)
        stretch = distances[first:end]  # views from 0 on are what gets compiled to vector code
        for i in range(stretch.shape[0]):
            stretch[i] = 0.0
        for j in range(columns.shape[0]):
            column, y = columns[j, first:end], q[j]
            for i in range(stretch.shape[0]):
                x = column[i] - y
                stretch[i] += x * x


@part
def _farthest(distances, records, left):
    """The row with the largest distance; of several the one with the lowest record."""
    largest, best = -1.0, 0
    for i in range(left):
        x = distances[i]
        if x >= largest and (x > largest or records[i] < records[best]):
            largest, best = x, i
    return best


@part
def _choose_nearest(distances, records, left, heap):
    """Fill `heap` with the rows of the smallest (distance, record), the largest of them on top."""
    k = heap.shape[0]
    for i in range(k):
        row = i
        while row > 0 and _nearer(distances, records, heap[(row - 1) // 2], i):
            heap[row] = heap[(row - 1) // 2]
            row = (row - 1) // 2
        heap[row] = i
    worst = distances[heap[0]]
    for i in range(k, left):
        if distances[i] <= worst and _nearer(distances, records, i, heap[0]):
            row = 0
            while 2 * row + 1 < k:
                child = 2 * row + 1
                if child + 1 < k and _nearer(distances, records, heap[child], heap[child + 1]):
                    child += 1
                if not _nearer(distances, records, i, heap[child]):
                    break
                heap[row] = heap[child]
                row = child
            heap[row] = i
            worst = distances[heap[0]]


@part
def _nearer(distances, records, a, b):
    return distances[a] < distances[b] or (distances[a] == distances[b] and records[a] < records[b])


@part
def _take(chosen, group, columns, records, distances, labels, sums, left):
    """Give the chosen rows to a group and bring them to the end of those that are left."""
    for t in range(chosen.shape[0]):
        labels[records[chosen[t]]] = group
        for j in range(columns.shape[0]):
            add_exactly(sums, -columns[j, chosen[t]], j)
    end = left
    for t in range(chosen.shape[0]):
        while end > 0 and labels[records[end - 1]] == group:
            end -= 1
        row = chosen[t]
        if row < end:
            end -= 1
            records[row], records[end] = records[end], records[row]
            distances[row] = distances[end]
            for j in range(columns.shape[0]):
                columns[j, row], columns[j, end] = columns[j, end], columns[j, row]


@part
def _nearest_group(columns, records, left, labels, groups, sums, q):
    """The group with the mean nearest to q; of several the one formed first. Rows behind those
    left lie group by group.
    """
    d, n = columns.shape
    nearest, chosen = np.inf, 0
    end = n
    for group in range(groups):
        first = end
        for j in range(3 * d):
            sums[j // d, j % d] = 0.0
        while first > left and labels[records[first - 1]] == group:
            first -= 1
            for j in range(d):
                add_exactly(sums, columns[j, first], j)
        total = 0.0
        for j in range(d):
            x = rounded(sums, j) / (end - first) - q[j]
            total += x * x
        if total < nearest:
            nearest, chosen = total, group
        end = first
    return chosen
