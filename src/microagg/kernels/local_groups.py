"""Means and errors of the groups of the local search."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, rounded


@kernel
def settle(points, weights, slots, sizes, centres, from_mean):
    """Work out means and errors of all groups."""
    for group in range(sizes.shape[0]):
        refresh(points, weights, slots, sizes, centres, from_mean, group)


@kernel
def weighted_error(points, weights, labels, means):
    """The squared error with weights, from exact sums; leaves the means of the groups in
    `means`.
    """
    n, d = points.shape
    groups = means.shape[0]
    totals, sums, error = np.zeros((groups, 3, 1)), np.zeros((groups, 3, d)), np.zeros((3, 1))
    for i in range(n):
        add_exactly(totals[labels[i]], weights[i], 0)
        for j in range(d):
            add_exactly(sums[labels[i]], weights[i] * points[i, j], j)
    for g in range(groups):
        for j in range(d):
            means[g, j] = rounded(sums[g], j) / rounded(totals[g], 0)
    for i in range(n):
        for j in range(d):
            x = points[i, j] - means[labels[i], j]
            add_exactly(error, weights[i] * x * x, 0)
    return rounded(error, 0)


@part
def refresh(points, weights, slots, sizes, centres, from_mean, group):
    """Mean, weight, error and radius of a group, from its members."""
    d, g = points.shape[1], np.uintp(group)
    first = np.uintp(slots[g, 0])
    total, error, widest = 0.0, 0.0, 0.0
    for j in range(d + 3):
        centres[g, j] = 0.0
    if sizes[g] == 0:
        return
    for s in range(sizes[g]):
        record = np.uintp(slots[g, s])
        w = weights[record]
        total += w
        for j in range(d):
            centres[g, j] += w * (points[record, j] - points[first, j])
    for j in range(d):
        centres[g, j] = points[first, j] + centres[g, j] / total
    for s in range(sizes[g]):
        x = distance(points, slots[g, s], centres, group)
        from_mean[g, s] = x
        error += weights[slots[g, s]] * x
        widest = max(widest, x)
    centres[g, d], centres[g, d + 1], centres[g, d + 2] = total, error, np.sqrt(widest)


@part
def distance(points, record, others, row):
    """The squared distance between a record and a row of other points."""
    p, q = (
        np.uintp(record),
        np.uintp(row),
    )  # an index that cannot be negative is three times as fast
    total = 0.0
    for j in range(points.shape[1]):
        x = points[p, j] - others[q, j]
        total += x * x
    return total
