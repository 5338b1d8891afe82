"""Sums of parts of a table that are put together: in whatever order, they come to what the whole
comes to (see `sums.py`).
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.sums import add_exactly, rounded


@kernel
def add_sums(total, more):
    """Add the sums `more` to `total`, both (3, d)."""
    for row in range(3):
        for j in range(total.shape[1]):
            add_exactly(total, more[row, j], j)


@kernel
def square_sums(points, centre):
    """(3, d): the sums of squared differences from `centre` (d,), column by column."""
    n, d = points.shape
    sums = np.zeros((3, d))
    for i in range(n):
        for j in range(d):
            x = points[i, j] - centre[j]
            add_exactly(sums, x * x, j)
    return sums


@kernel
def squared_error_sums(points, others, rows):
    """(3, 1): `sums.squared_error` before it is rounded."""
    n, d = points.shape
    total = np.zeros((3, 1))
    for i in range(n):
        for j in range(d):
            x = points[i, j] - others[rows[i], j]
            add_exactly(total, x * x, 0)
    return total


@kernel
def group_error_sums(errors, labels, groups):
    """(groups, 3): the sums of the errors (n, d) of each group's records, all columns together."""
    sums = np.zeros((groups, 3, 1))
    add_group_errors(sums, errors, labels)
    return sums[:, :, 0].copy()


@kernel
def add_group_errors(sums, errors, labels):
    """Add the errors (n, d) of records to the sums of their groups, (groups, 3, 1)."""
    for i in range(errors.shape[0]):
        for j in range(errors.shape[1]):
            add_exactly(sums[labels[i]], errors[i, j], 0)


@kernel
def rounded_each(parts):
    """(n,): the numbers that sums in three parts, (n, 3), come to."""
    numbers = np.empty(parts.shape[0])
    column = np.empty((3, 1))
    for i in range(parts.shape[0]):
        for row in range(3):
            column[row, 0] = parts[i, row]
        numbers[i] = rounded(column, 0)
    return numbers
