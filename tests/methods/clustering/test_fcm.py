"""Fuzzy c-means microaggregation against a transcription in plain Python, and fuzzy c-means against
its formulas.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import microagg as ma
import plain
from dice import Dice
from microagg.kernels.fuzzy import fuzzy_clusters

Matrix = list[list[float]]


def belonging(x: list[float], centres: Matrix, sharpness: int) -> list[float]:
    """Return how much a record belongs to each centre."""
    distances = []
    for centre in centres:
        total = 0.0
        for a, b in zip(x, centre, strict=True):
            total += (a - b) * (a - b)
        distances.append(total)
    least = min(distances)
    shares = []
    for distance in distances:
        share = 1.0 if distance == least else least / distance
        for _ in range(sharpness):
            share = share * share
        shares.append(share)
    total = 0.0
    for share in shares:
        total += share
    return [share / total for share in shares]


def moved(points: Matrix, centres: Matrix, shares: Matrix, sharpness: int) -> Matrix:
    """The means of all records, weighted by the m-th powers of what belongs to each centre."""
    result = []
    for q, centre in enumerate(centres):
        weights, sums = 0.0, [0.0] * len(centre)
        for x, row in zip(points, shares, strict=True):
            weight = row[q]
            for _ in range(sharpness):
                weight = math.sqrt(weight)
            weight = weight * row[q]
            weights += weight
            sums = [s + weight * a for s, a in zip(sums, x, strict=True)]
        result.append([s / weights for s in sums] if weights > 0.0 else centre)
    return result


def clusters_of(points: Matrix, centres: Matrix, sharpness: int) -> tuple[list[int], Matrix]:
    """(the cluster of each record, the centres) after at most 30 rounds."""
    labels: list[int] = []
    for _ in range(30):
        shares = [belonging(x, centres, sharpness) for x in points]
        before, labels = labels, [row.index(max(row)) for row in shares]
        if labels == before:
            break
        centres = moved(points, centres, shares, sharpness)
    return labels, centres


def split(points: Matrix, k: int, clusters: int, dice: Dice) -> list[int]:
    if all(x == points[0] for x in points):
        return [min(record // k, len(points) // k - 1) for record in range(len(points))]
    c = max(2, min(clusters, len(points) // k))
    labels: list[int] = []
    for sharpness in (3, 2, 1, 0):
        start = [points[record] for record in dice.permutation(len(points))[:c]]
        labels, centres = clusters_of(points, start, sharpness)
        sizes = [labels.count(q) for q in range(c)]
        if min(sizes) >= k:
            return labels
        if sharpness > 0:
            c = max(2, min(c - 1, sum(size >= k for size in sizes)))
    for short in [q for q in range(c) if sizes[q] < k]:
        away = [plain.squared_distance(x, centres[short]) for x in np.array(points)]
        for record in sorted(range(len(points)), key=lambda record: (away[record], record)):
            if (
                labels.count(short) < k
                and labels[record] != short
                and labels.count(labels[record]) > k
            ):
                labels[record] = short
    return labels


def oracle(points: np.ndarray, k: int, clusters: int, dice: Dice) -> np.ndarray:
    groups: list[plain.Group] = []

    def apply(records: list[int]) -> None:
        if len(records) < 2 * k:
            groups.append(records)
            return
        labels = split([points[record].tolist() for record in records], k, clusters, dice)
        for label in dict.fromkeys(labels):
            apply(
                [
                    record
                    for record, assigned in zip(records, labels, strict=True)
                    if assigned == label
                ]
            )

    apply(list(range(len(points))))
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(2400, 2460))
def test_same_groups_as_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    points = np.ascontiguousarray(points[:60])
    k = min(k, len(points))
    labels = ma.partition(points, k=k, method="fcm", clusters=5, seed=seed)
    assert labels.tolist() == oracle(points, k, 5, Dice(seed, "fcm")).tolist()


@pytest.mark.parametrize("sharpness", range(4))
def test_centres_move_as_bezdeks(sharpness: int) -> None:
    """u_q is one over the sum of (d_q / d_p)^(2 / (m - 1)), and centres are means weighted by
    u^m.
    """
    rng = np.random.default_rng(sharpness)
    points, centres = rng.normal(size=(40, 3)), rng.normal(size=(4, 3))
    m = 1 + 0.5**sharpness
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    expected = 1 / ((distances[:, :, None] / distances[:, None, :]) ** (2 / (m - 1))).sum(axis=2)
    weights = expected**m
    new = centres.copy()
    fuzzy_clusters(points, new, sharpness, 1)
    np.testing.assert_allclose(new, weights.T @ points / weights.sum(axis=0)[:, None], rtol=1e-12)


def test_clusters_that_lie_apart_are_found() -> None:
    rng = np.random.default_rng(3)
    centres = np.repeat(100.0 * np.arange(3.0), 5)
    points = centres[:, None] + rng.normal(size=(15, 2))
    assert ma.partition(points, k=3, method="fcm").tolist() == [0] * 5 + [1] * 5 + [2] * 5


def test_outliers_take_whom_they_need() -> None:
    """No c and m give the outlier at 1000 two companions; it takes those nearest to it."""
    points = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 1000.0])[:, None]
    labels = ma.partition(points, k=3, method="fcm")
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
