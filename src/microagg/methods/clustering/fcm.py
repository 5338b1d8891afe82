"""Fuzzy c-means microaggregation: fewer and fuzzier clusters until all have k records, again within
large ones.

Source: Domingo-Ferrer and Torra 2003 (Journal of Advanced Computational Intelligence 7) and 2002,
as retold by Kabir, Mahmood, Mustafa and Wang; fuzzy c-means by Bezdek 1981.

1. Run fuzzy c-means on the records with many clusters c and a small exponent m; every record goes
to the cluster that
   it belongs to most. The centres start at c random records and move at most 30 times, until no
   record changes its cluster.
2. If a cluster has fewer than k records, run it again with a smaller c and a larger m.
3. Apply all of it to every cluster of 2k records or more, alone.

The papers' digest names neither values nor steps. Here c starts at ⌊n / k⌋, at most `clusters`, and
becomes the number of clusters that had k records (less than before, at least 2); m is 1.125, 1.25,
1.5 and 2, in this order. Records belong most to the nearest centre; of equally near centres the
first counts. Departures: if clusters are still short of k with m = 2, each of them in turn takes
the records nearest to its centre (of equal ones the lowest), from clusters that have more than k,
until it has k; and records that are all equal are dealt out in their order, k a group. So outliers,
for which no c and m will do, cost no more than that, every application splits what it is given, and
k holds.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels.distances import squared_distances
from microagg.kernels.fuzzy import fuzzy_clusters
from microagg.kernels.random import permutation
from microagg.methods.method import Method, Number, Partition, below_two_k
from microagg.methods.parts import applied_again
from microagg.problem.problem import Problem, Progress

ROUNDS = 30
SHARPEST = 3  # m = 1 + 1 / 2^3; 0 is m = 2


def fcm(
    problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, clusters: int = 8
) -> np.ndarray:
    """Fuzzy c-means with fewer, fuzzier clusters until all have k records, applied again to
    clusters of 2k or more.
    """
    points, k, n = problem.points, problem.k, len(problem.points)

    def split(records: np.ndarray) -> np.ndarray:
        return _split(points[records], k, clusters, rng)

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, n)

    return applied_again(n, k, split, tell)


def _split(points: np.ndarray, k: int, clusters: int, rng: np.ndarray) -> np.ndarray:
    """Steps 1 and 2: at least two clusters, all of k records or more."""
    if (points == points[0]).all():
        return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    c = max(2, min(clusters, len(points) // k))
    for sharpness in range(SHARPEST, 0, -1):
        labels, sizes, _ = _run(points, c, sharpness, rng)
        if sizes.min() >= k:
            return labels
        c = max(2, int((sizes >= k).sum()))  # fewer than before: one was too small
    labels, sizes, centres = _run(points, c, 0, rng)
    _fill_up(points, centres, labels, sizes, k)
    return labels


def _run(
    points: np.ndarray, c: int, sharpness: int, rng: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fuzzy c-means from c random records: (the cluster of each record, their sizes, the
    centres).
    """
    centres = points[permutation(rng, len(points))[:c]]
    labels = fuzzy_clusters(points, centres, sharpness, ROUNDS)
    return labels, np.bincount(labels, minlength=c), centres


def _fill_up(
    points: np.ndarray, centres: np.ndarray, labels: np.ndarray, sizes: np.ndarray, k: int
) -> None:
    """Clusters of fewer than k records take those nearest to their centres from clusters that can
    spare them.
    """
    for short in np.flatnonzero(sizes < k):
        for record in np.argsort(squared_distances(points, centres[short]), kind="stable"):
            if sizes[short] == k:
                break
            if labels[record] != short and sizes[labels[record]] > k:
                sizes[labels[record]] -= 1
                sizes[short] += 1
                labels[record] = short


FCM = Method(
    name="fcm",
    family="clustering",
    source="Domingo-Ferrer and Torra 2002, 2003 (fuzzy c-means microaggregation)",
    summary="fuzzy c-means with ever fewer and fuzzier clusters until all have k records, "
    "repeated within large ones",
    good_for="comparing: groups from fuzzy clusters",
    run=cast(Partition, fcm),
    complexity="O(n c d) a round, at most 30 rounds for each of 4 exponents, again for every level "
    "of clusters",
    parameters=(
        Number("clusters", 2, 1000, 8, "maximum number of clusters tried at once", whole=True),
    ),
    largest_group=below_two_k,
    seeded=True,
)
