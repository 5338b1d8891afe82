"""Equal rows into one group: a transformer gives equal rows equal values, whoever asks for one of
them.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.distances import squared_distances


def equal_rows_together(
    labels: np.ndarray, row: np.ndarray, points: np.ndarray, k: int
) -> np.ndarray:
    """The same groups, no row in two of them: int32 labels, numbered by each group's first record.

    `row` (n,) numbers the different rows from 0. All records of a row go to the group that has most
    of them. Groups that are left with fewer than k records are dissolved, each of their rows to the
    group whose centroid is nearest. Ties go to the lower number.

    >>> row = np.array([0, 0, 1, 1, 1, 2])
    >>> points = row.reshape(-1, 1).astype(float)
    >>> equal_rows_together(np.array([0, 0, 0, 1, 1, 1], np.int32), row, points, k=2).tolist()
    [0, 0, 1, 1, 1, 1]
    """
    counts = _rows_by_group(labels, row)
    home = _group_with_most(counts, int(row.max()) + 1)
    if (home[row] == labels).all():
        return labels
    sizes = np.bincount(home[row], minlength=int(labels.max()) + 1)
    small = (sizes > 0) & (sizes < k)
    if small.any():
        home = _dissolved(home, row, points, sizes, small)
    return _by_first_record(home[row])


def _rows_by_group(
    labels: np.ndarray, row: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of a row and a group that has it, in ascending order, and how often it does."""
    groups = int(labels.max()) + 1
    pairs, counts = np.unique(row.astype(np.int64) * groups + labels, return_counts=True)
    return pairs // groups, pairs % groups, counts


def _group_with_most(counts: tuple[np.ndarray, np.ndarray, np.ndarray], rows: int) -> np.ndarray:
    of_row, of_group, often = counts
    order = np.lexsort((of_group, -often, of_row))
    first = np.searchsorted(of_row[order], np.arange(rows))
    return of_group[order][first]


def _dissolved(
    home: np.ndarray, row: np.ndarray, points: np.ndarray, sizes: np.ndarray, small: np.ndarray
) -> np.ndarray:
    kept = np.flatnonzero((sizes > 0) & ~small)
    if len(kept) == 0:
        return np.zeros_like(home)
    place = np.full(len(sizes), -1, np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    there = place[home[row]] >= 0
    centroids = sums.group_means(
        np.ascontiguousarray(points[there]), place[home[row[there]]], len(kept)
    )
    first = np.full(len(home), len(row))
    np.minimum.at(first, row, np.arange(len(row)))
    moved = home.copy()
    for each in np.flatnonzero(small[home]):
        moved[each] = kept[int(np.argmin(squared_distances(centroids, points[first[each]])))]
    return moved


def _by_first_record(groups: np.ndarray) -> np.ndarray:
    _, first, which = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return number[which.reshape(-1)]
