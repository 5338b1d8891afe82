"""K-C against plain k-means for every number of clusters, with the same random numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import plain
from dice import Dice
from microagg.datasets.reference import load_reference
from microagg.methods.clustering.kc import numbers_of_clusters


def plus_plus(points: np.ndarray, count: int, dice: Dice) -> list[int]:
    """k-means++: each next record in proportion to its squared distance from the nearest one
    drawn.
    """
    everybody = range(len(points))
    chosen = [dice.below(len(points))]
    near = plain.squared_distances(points, everybody, points[chosen[0]])
    while True:
        total = 0.0
        for weight in near:
            total += weight
        if total == 0.0:
            return chosen
        mark, running = dice.unit() * total, 0.0
        for record in np.flatnonzero(near > 0).tolist():
            running += near[record]
            if running > mark:
                break
        if len(chosen) == count:
            return chosen
        chosen.append(record)
        near = np.minimum(near, plain.squared_distances(points, everybody, points[record]))


def lloyd(points: np.ndarray, centres: list[np.ndarray]) -> list[plain.Group]:
    """Every record to the nearest centre, every centre to the mean of its records, until nothing
    moves.
    """
    for _ in range(300):
        distances = np.array(
            [plain.squared_distances(points, range(len(points)), c) for c in centres]
        )
        nearest = distances.argmin(axis=0)
        groups = [np.flatnonzero(nearest == g).tolist() for g in range(len(centres))]
        new = [
            plain.centroid(points, group) if group else c
            for group, c in zip(groups, centres, strict=True)
        ]
        if all((a == b).all() for a, b in zip(new, centres, strict=True)):
            break
        centres = new
    return [group for group in groups if group]


def exact_sse(points: np.ndarray, groups: list[plain.Group]) -> float:
    return plain.exact_sum((points[group] - plain.centroid(points, group)) ** 2 for group in groups)


def k_c(points: np.ndarray, k: int, dice: Dice, restarts: int, start: str) -> np.ndarray:
    """Kabir, Mahmood and Mustafa, table 1."""
    n = len(points)
    best = [list(range(n))]
    least = exact_sse(points, best)
    for count in range(2, n // k + 1):
        for turn in range(restarts if start != "both" else 2 * restarts):
            spread = start == "k-means++" or (start == "both" and turn % 2 == 0)
            first = plus_plus(points, count, dice) if spread else dice.permutation(n)[:count]
            groups = lloyd(points, [points[record] for record in first])
            if min(len(group) for group in groups) >= k and exact_sse(points, groups) < least:
                best, least = groups, exact_sse(points, groups)
    return plain.labels_from_groups(n, best)


@pytest.mark.parametrize("start", ["both", "k-means++", "records"])
@pytest.mark.parametrize("seed", range(42))
def test_kc_equals_the_oracle(seed: int, start: str) -> None:
    points, k = plain.hard_problem(7_000 + seed)
    points, restarts = points[:60], 1 + seed % 2
    k = min(k, len(points))
    labels = ma.partition(points, k=k, method="kc", seed=seed, restarts=restarts, start=start)
    expected = k_c(points, k, Dice(seed, "kc"), restarts, start)
    np.testing.assert_array_equal(labels, expected)


def test_clear_clusters_are_found() -> None:
    centres = np.repeat(20.0 * np.eye(5), [4, 5, 6, 7, 7], axis=0)
    points = centres + np.random.default_rng(1).normal(size=centres.shape)
    expected = np.repeat(np.arange(5), [4, 5, 6, 7, 7])
    assert ma.partition(points, k=4, method="kc").tolist() == expected.tolist()


def usual_restarts(n: int, k: int, count: int) -> int:
    return min(50, min(10, max(1, 2_500 // n)) * (n // k) // count)


@pytest.mark.slow
def test_by_default_few_clusters_get_more_starts() -> None:
    points, k, dice = (
        np.random.default_rng(2).lognormal(0.0, 1.0, (60, 3)),
        5,
        Dice(4, "kc"),
    )
    best, least = [list(range(60))], np.inf
    for count in range(2, 13):
        for turn in range(2 * usual_restarts(60, k, count)):
            first = (
                plus_plus(points, count, dice) if turn % 2 == 0 else dice.permutation(60)[:count]
            )
            groups = lloyd(points, [points[record] for record in first])
            if min(len(group) for group in groups) >= k and exact_sse(points, groups) < least:
                best, least = groups, exact_sse(points, groups)
    expected = plain.labels_from_groups(60, best)
    assert ma.partition(points, k=k, method="kc", seed=4).tolist() == expected.tolist()


def test_the_schedule_for_large_data() -> None:
    numbers = numbers_of_clusters(20_000, 5)
    assert numbers[:63] == list(range(2, 65))
    assert numbers[-1] == 4_000
    steps = np.diff(numbers[62:])
    assert (steps > 0).all()
    assert (steps <= np.array(numbers[62:-1]) / 10).all()
    assert len(numbers) < 120
    assert numbers_of_clusters(5_000, 5) == list(range(2, 1_001))
    assert numbers_of_clusters(6_000, 4_000) == []


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(
    ("k", "printed"), [(3, 20.2425), (4, 20.2425), (5, 20.2425), (10, 23.9761)]
)
def test_no_more_is_lost_on_tarragona_than_in_print(
    reference_data: Path, k: int, printed: float
) -> None:
    points = load_reference("Tarragona", folder=reference_data)
    labels = ma.partition(points, k=k, method="kc")
    assert np.bincount(labels).min() >= k
    assert ma.information_loss(points, labels) <= printed
