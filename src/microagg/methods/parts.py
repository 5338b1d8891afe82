"""The parts that a method works on one by one."""

from __future__ import annotations

import numpy as np


def records_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The records of label 0, those of label 1, and so on, each in ascending order.

    >>> [records.tolist() for records in records_by_label(np.array([0, 1, 0, 1, 1]))]
    [[0, 2], [1, 3, 4]]
    """
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
