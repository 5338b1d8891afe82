"""K-C: k-means with more and more clusters, of which the best without a small cluster is kept.

Source: Kabir, Mahmood and Mustafa (K-means clustering microaggregation), table 1 and section 4.

1. All records as one cluster are the first solution. 2. For each number of clusters up to ⌊n / k⌋:
k-means (Lloyd's turns until nothing moves) from several starts. 3. A clustering counts if each of
its clusters has k records. Of those that count, the one with the least SSE is the result.

Of clusterings with equal loss the one found first stays; a record as near to two centres goes to
the first of them.

Readings. The paper says neither how k-means starts nor how often, and its own figures are local
optima that better starts undercut. Here two kinds of starts are made in turns: from records drawn
by k-means++, whose eye for far-off records finds low losses with few clusters, and from any
records, whose clusters stay large when there are many. `restarts` says how many of each; by default
about as much work goes into each number of clusters, so few clusters get more starts. Whether there
is a clustering that counts is not monotone in the number of clusters: after ten numbers without
one, the eleventh may have one. So every number is tried for up to 5,000 records; beyond that every
number up to 64, and from there on each time about a tenth more, the last one ⌊n / k⌋ itself. A
cluster that loses all its records is left out. Groups have no largest size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from microagg.kernels import random, sums
from microagg.kernels.kmeans import lloyd, spread_records
from microagg.methods.method import Choice, Method, Number, Partition
from microagg.problem.problem import Problem, Progress

TURNS = 300
TRY_ALL = 5_000  # records
DENSE = 64  # clusters
MOST_RESTARTS = 50


def kc(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    restarts: int | None = None,
    start: str = "both",
) -> np.ndarray:
    """The best of many runs of k-means that leave no cluster smaller than k."""
    points, k = problem.points, problem.k
    n = len(points)
    best = np.zeros(n, np.int32)
    least = sums.squared_error(points, sums.group_means(points, best, 1), best)
    numbers = numbers_of_clusters(n, k)
    work, done = sum(numbers), 0
    for count in numbers:
        runs = _usual_restarts(n, k, count) if restarts is None else restarts
        for records in _starts(points, count, runs, start, rng):
            labels, centres = lloyd(points, points[records], TURNS)
            if _smallest(labels, len(centres)) >= k:
                loss = sums.squared_error(points, centres, labels)
                if loss < least:
                    best, least = labels, loss
        done += count
        if progress is not None:
            progress(n * done // work, n)
    return sums.number_by_first_record(best)


def numbers_of_clusters(n: int, k: int) -> list[int]:
    """The numbers of clusters to try, ascending, besides the single one.

    >>> numbers_of_clusters(20, 3)
    [2, 3, 4, 5, 6]
    >>> numbers_of_clusters(6_000, 60)[-8:]
    [62, 63, 64, 70, 77, 84, 92, 100]
    """
    most = n // k
    if n <= TRY_ALL:
        return list(range(2, most + 1))
    numbers = list(range(2, min(most, DENSE) + 1))
    while numbers and numbers[-1] < most:
        numbers.append(min(most, numbers[-1] + numbers[-1] // 10))
    return numbers


def _usual_restarts(n: int, k: int, count: int) -> int:
    """How many starts of each kind: inversely to the number of clusters, and for large data one."""
    if n > TRY_ALL:
        return 1
    at_most_clusters = min(10, max(1, TRY_ALL // 2 // n))
    return min(MOST_RESTARTS, at_most_clusters * (n // k) // count)


def _starts(
    points: np.ndarray, count: int, restarts: int, start: str, rng: np.ndarray
) -> Iterator[np.ndarray]:
    """Records to start from, drawn one set after the other."""
    for _ in range(restarts):
        if start != "records":
            yield spread_records(points, count, rng)
        if start != "k-means++":
            yield random.permutation(rng, len(points))[:count]


def _smallest(labels: np.ndarray, clusters: int) -> int:
    """The size of the smallest cluster that has records."""
    sizes = sums.group_sizes(labels, clusters)
    return int(sizes[sizes > 0].min())


KC = Method(
    name="kc",
    family="clustering",
    source="Kabir, Mahmood and Mustafa (K-C)",
    summary="k-means for every number of clusters; keeps the best result without a cluster "
    "smaller than k",
    good_for="data with a few natural clusters; high loss otherwise",
    run=cast(Partition, kc),
    complexity="O(restarts (n/k)² n d), up to 5,000 records; O(restarts (n/k) n d) beyond; both "
    "times Lloyd's turns",
    parameters=(
        Number(
            "restarts",
            1,
            1e6,
            None,
            "starts of each kind for each number of clusters; by default more of them "
            "for fewer clusters",
            whole=True,
        ),
        Choice(
            "start",
            ("both", "k-means++", "records"),
            "both",
            "initial centroids: records far apart (k-means++), any records, or both kinds in turn",
        ),
    ),
    seeded=True,
)
