"""Replacing the values of a group by one."""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums

FINEST = 9  # a column that needs more decimals than this is taken to have no precision of its own


def group_means_for_records(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n, d): for each record the mean of its group. Order of records and groups does not matter.

    >>> group_means_for_records(np.array([[1.0], [2.0], [9.0]]), np.array([0, 0, 1], np.int32)).tolist()
    [[1.5], [1.5], [9.0]]
    """
    if labels.ndim == 2:  # a partition of its own for each column
        pairs = zip(values.T, labels.T, strict=True)
        columns = [
            group_means_for_records(np.ascontiguousarray(v).reshape(-1, 1), np.ascontiguousarray(g))
            for v, g in pairs
        ]
        return np.concatenate(columns, axis=1)
    means = sums.group_means(values, labels, int(labels.max()) + 1)
    return means[labels]


def decimals_of(column: np.ndarray, *, single: bool = False) -> int | None:
    """How many decimals a column's values have; None if it takes more than nine.

    Values that were stored in single precision carry some seven digits: what lies beyond is not theirs.

    >>> decimals_of(np.array([1.5, 2.25])), decimals_of(np.array([3.0, 4.0])), decimals_of(np.array([1 / 3]))
    (2, 0, None)
    """
    # what rounding left over is small beside the value and the column's usual ones, but one large value excuses no other
    sizes = np.abs(column)
    usual = np.partition(sizes, len(sizes) // 2)[len(sizes) // 2]
    slack = (1e-7 if single else 2e-15) * np.maximum(sizes, usual)
    for decimals in range(FINEST + 1):
        scaled = column * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= slack * 10.0**decimals).all():
            return decimals
    return None


def round_to(column: np.ndarray, decimals: int | None) -> np.ndarray:
    """The column rounded to so many decimals; as it is for None. Never leaves a negative zero."""
    rounded = column if decimals is None else np.round(column, decimals)
    return rounded + 0.0
