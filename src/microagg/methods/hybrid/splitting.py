"""Splitting the records into parts that are grouped one by one."""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.blocks import kd_order
from microagg.methods.clustering.pfsom import pfsom
from microagg.problem.problem import Progress

SPLITS = ("pfsom", "blocks")


def split_into_parts(
    points: np.ndarray,
    k: int,
    *,
    rng: np.ndarray,
    split: str = "pfsom",
    validity: str = "own-spread",
    largest: int = 1000,
    progress: Progress | None = None,
) -> np.ndarray:
    """The part of each record, each of at least k records: clusters of PFSOM, or blocks of at most
    `largest` records.

    >>> from microagg.kernels import random
    >>> points = np.array([[0.0], [0.1], [0.2], [7.0], [7.1], [7.2], [99.0]])
    >>> split_into_parts(points, 2, rng=random.seeded(0)).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    if split == "blocks":
        order, starts = kd_order(points, max(largest, 2 * k))
        labels = np.empty(len(points), np.int32)
        labels[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    else:
        labels = pfsom(points, rng=rng, validity=validity, fewest=2, progress=progress).labels
    return join_small_parts(points, labels, k)


def join_small_parts(points: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """The smallest part of fewer than k records joins the part with the nearest centroid, until
    none is left.

    Ties go to the part with the lower first record.

    >>> join_small_parts(np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, 2]), 2).tolist()
    [0, 0, 0, 0]
    """
    labels = sums.number_by_first_record(labels)
    while True:
        parts = int(labels.max()) + 1
        sizes = sums.group_sizes(labels, parts)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= k or parts == 1:
            return labels
        means = sums.group_means(points, labels, parts)
        others = np.flatnonzero(np.arange(parts) != smallest)
        nearest = others[sums.nearest_mean(means[others], means[smallest])]
        labels = sums.number_by_first_record(
            np.where(labels == smallest, nearest, labels).astype(np.int32)
        )
