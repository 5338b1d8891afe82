"""Sums that do not depend on the order of their terms, and what is built on them.

A sum is kept as three numbers (its leading part and what rounding left over, twice), some 160 bits
in all, so the mean of a set of records is the same whichever way the set was reached: record by
record, by removal, in another order.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def add_exactly(total, x, j):
    """Add x to column j of the sums `total`, a (3, d) array of leading parts and remainders."""
    a = total[0, j]
    high = a + x
    shadow = high - a
    error = (a - (high - shadow)) + (x - shadow)
    b = total[1, j]
    middle = b + error
    shadow = middle - b
    total[0, j] = high
    total[1, j] = middle
    total[2, j] += (b - (middle - shadow)) + (error - shadow)


@kernel
def rounded(total, j):
    """The sum of column j as one number."""
    a, b = total[0, j], total[1, j]
    high = (
        a + b
    )  # either may be the larger one: what is left of a may be less than what rounding gave b
    shadow = high - a
    low = (a - (high - shadow)) + (b - shadow)
    return high + (low + total[2, j])


@kernel
def column_sums(points):
    """(3, d): the sums of all columns."""
    n, d = points.shape
    sums = np.zeros((3, d))
    for i in range(n):
        for j in range(d):
            add_exactly(sums, points[i, j], j)
    return sums


@kernel
def mean_of(points, records):
    """The mean of some records: the correctly rounded sum, divided by their number."""
    d = points.shape[1]
    sums = np.zeros((3, d))
    mean = np.empty(d)
    for t in range(records.shape[0]):
        for j in range(d):
            add_exactly(sums, points[records[t], j], j)
    for j in range(d):
        mean[j] = rounded(sums, j) / records.shape[0]
    return mean


@kernel
def column_moments(points):
    """(2, d): mean and population standard deviation of each column."""
    n, d = points.shape
    moments = np.empty((2, d))
    sums = column_sums(points)
    for j in range(d):
        moments[0, j] = rounded(sums, j) / n
    squares = np.zeros((3, d))
    for i in range(n):
        for j in range(d):
            x = points[i, j] - moments[0, j]
            add_exactly(squares, x * x, j)
    for j in range(d):
        moments[1, j] = np.sqrt(rounded(squares, j) / n)
    return moments


@kernel
def group_sizes(labels, groups):
    """Count the records of each label; negative labels are ignored."""
    sizes = np.zeros(groups, np.int64)
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            sizes[labels[i]] += 1
    return sizes


@kernel
def group_means(points, labels, groups):
    """(groups, d): the mean of each group; records with a negative label count nowhere."""
    n, d = points.shape
    sizes = group_sizes(labels, groups)
    sums = np.zeros((groups, 3, d))
    for i in range(n):
        if labels[i] >= 0:
            for j in range(d):
                add_exactly(sums[labels[i]], points[i, j], j)
    means = np.empty((groups, d))
    for g in range(groups):
        for j in range(d):
            means[g, j] = rounded(sums[g], j) / sizes[g]
    return means


@kernel
def squared_error(points, others, rows):
    """Sum over all records i of |points[i] - others[rows[i]]|^2."""
    n, d = points.shape
    total = np.zeros((3, 1))
    for i in range(n):
        for j in range(d):
            x = points[i, j] - others[rows[i], j]
            add_exactly(total, x * x, 0)
    return rounded(total, 0)


@kernel
def nearest_mean(means, q):
    """The row of `means` nearest to q; the first of several."""
    best, chosen = np.inf, -1
    for g in range(means.shape[0]):
        total = 0.0
        for j in range(means.shape[1]):
            x = means[g, j] - q[j]
            total += x * x
        if total < best:
            best, chosen = total, g
    return chosen


@kernel
def number_by_first_record(labels):
    """The same partition with groups numbered 0, 1, ... in the order of their first records."""
    n = labels.shape[0]
    highest = -1
    for i in range(n):
        highest = max(highest, labels[i])
    new = np.full(highest + 1, -1, np.int32)
    result = np.empty(n, np.int32)
    groups = 0
    for i in range(n):
        g = labels[i]
        if new[g] < 0:
            new[g] = groups
            groups += 1
        result[i] = new[g]
    return result


@kernel
def total_and_mean(points):
    """(5, d): the sums of all columns in three parts, the mean, and (in the first column) the
    number of points.
    """
    n, d = points.shape
    totals, sums = np.zeros((5, d)), column_sums(points)
    totals[4, 0] = n
    for j in range(d):
        for row in range(3):
            totals[row, j] = sums[row, j]
        totals[3, j] = rounded(sums, j) / max(n, 1)
    return totals
