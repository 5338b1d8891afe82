"""Steps that many methods share: running one within a part, splitting large parts, applying a method again to its own parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microagg.kernels.sums import number_by_first_record
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Progress

Heuristic = Callable[..., None]
"""A method that forms one group after another: heuristic(points, groups, k, **parameters)."""


def records_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The records of label 0, those of label 1, and so on, each in ascending order.

    >>> [records.tolist() for records in records_by_label(np.array([0, 1, 0, 1, 1]))]
    [[0, 2], [1, 3, 4]]
    """
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def labels_by(
    heuristic: Heuristic, points: np.ndarray, k: int, progress: Progress | None = None, **params: Any
) -> np.ndarray:
    """The groups that a heuristic forms of these points.

    >>> from microagg.methods.mdav.mdav import mdav
    >>> labels_by(mdav, np.array([[0.0], [1.0], [9.0], [8.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    groups = Groups(points)
    heuristic(PointSet(points, progress), groups, k, **params)
    return groups.labels()


def split_oversized(
    points: np.ndarray, labels: np.ndarray, k: int, splitter: Heuristic, progress: Progress | None = None
) -> np.ndarray:
    """Groups of 2k or more records, each partitioned on its own; labels numbered by first record.

    >>> from microagg.methods.mdav.mdav import mdav1
    >>> split_oversized(np.array([[0.0], [1.0], [9.0], [8.0]]), np.zeros(4, np.int32), 2, mdav1).tolist()
    [0, 0, 1, 1]
    """
    split, formed, done = labels.astype(np.int32), int(labels.max()) + 1, 0
    for records in records_by_label(labels):
        if len(records) >= 2 * k:
            split[records] = formed + labels_by(splitter, points[records], k)
            formed = int(split[records].max()) + 1
        done += len(records)
        if progress is not None:
            progress(done, len(labels))
    return number_by_first_record(split)


def applied_again(
    n: int, k: int, apply: Callable[[np.ndarray], np.ndarray], formed: Callable[[int], None]
) -> np.ndarray:
    """Split all records, then every part of 2k records or more, alone, until none is left.

    `apply` is given the records of a part and labels them, two labels or more; `formed` hears after each group how many records have
    theirs. Parts come in the order of their first records, each with all of its own parts before the next.

    >>> applied_again(6, 2, lambda records: np.arange(len(records)) // 2, lambda done: None).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    labels, groups, done = np.empty(n, np.int32), 0, 0
    waiting = [np.arange(n)]
    while waiting:
        records = waiting.pop()
        if len(records) < 2 * k:
            labels[records] = groups
            groups, done = groups + 1, done + len(records)
            formed(done)
        else:
            parts = number_by_first_record(apply(records))
            waiting.extend(records[part] for part in reversed(records_by_label(parts)))
    return number_by_first_record(labels)
