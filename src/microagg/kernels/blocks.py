"""Blocks: spatially compact parts of the points, found by halving them again and again.

A block is halved at the median of its widest column; ties go to the lower record number, so the
blocks depend on the points alone. All blocks are halved equally often: they form a complete binary
tree, and block b of `m` has the sizes and the neighbours that its number says. O(n log(n /
largest)) time besides one look at all columns per level.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part


def kd_order(points: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """(records block by block, where each block starts): blocks of at most `largest` points,
    sizes equal within one.

    The number of blocks is a power of two; `starts` has one entry more, the number of points.

    >>> order, starts = kd_order(np.array([[3.0], [0.0], [2.0], [1.0]]), 2)
    >>> [sorted(order[a:b].tolist()) for a, b in zip(starts[:-1], starts[1:])]
    [[1, 3], [0, 2]]
    """
    n, d = points.shape
    order = np.arange(n, dtype=np.int32)
    keys, low, high = np.empty(n), np.empty(d), np.empty(d)
    starts = np.array([0, n])
    while -(-n // (len(starts) - 1)) > largest:
        _halve(points, order, starts, keys, low, high)
        middles = starts[:-1] + np.diff(starts) // 2
        starts = np.append(np.column_stack([starts[:-1], middles]).ravel(), n)
    return order, starts


@kernel
def _halve(points, order, starts, keys, low, high):
    """Bring the smaller half of each block to its front; the other arrays are room to work in."""
    for b in range(starts.shape[0] - 1):
        first, end = starts[b], starts[b + 1]
        column = _widest_column(points, order, first, end, low, high)
        for t in range(first, end):
            keys[t] = points[order[t], column]
        _split_at(keys, order, first, end, first + (end - first) // 2)


@part
def _widest_column(points, order, first, end, low, high):
    """The column with the largest range, the first of several."""
    d = points.shape[1]
    for j in range(d):
        low[j], high[j] = np.inf, -np.inf
    for t in range(first, end):
        record = order[t]
        for j in range(d):
            x = points[record, j]
            if x < low[j]:
                low[j] = x
            if x > high[j]:
                high[j] = x
    widest, column = -1.0, 0
    for j in range(d):
        if high[j] - low[j] > widest:
            widest, column = high[j] - low[j], j
    return column


@part
def _split_at(keys, order, first, end, middle):
    """Quickselect by (key, record): the smaller ones come before `middle`, the others from there
    on.
    """
    low, high = first, end - 1
    while low < high:
        pivot, record = _middle_of_three(keys, order, low, high)
        i, j = low, high
        while i <= j:
            while keys[i] < pivot or (keys[i] == pivot and order[i] < record):
                i += 1
            while keys[j] > pivot or (keys[j] == pivot and order[j] > record):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@part
def _middle_of_three(keys, order, low, high):
    """(key, record) of the median of the first, the middle and the last entry."""
    a, b, c = low, (low + high) // 2, high
    if keys[b] < keys[a] or (keys[b] == keys[a] and order[b] < order[a]):
        a, b = b, a
    if keys[c] < keys[b] or (keys[c] == keys[b] and order[c] < order[b]):
        b = c
        if keys[b] < keys[a] or (keys[b] == keys[a] and order[b] < order[a]):
            b = a
    return keys[b], order[b]
