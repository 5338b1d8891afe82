"""k-means against the plain algorithm: the same labels and centres, ties included."""

from __future__ import annotations

import numpy as np
import pytest

import plain
from microagg.kernels.kmeans import lloyd, spread_records
from microagg.kernels.random import permutation, seeded


def plain_lloyd(
    points: np.ndarray, centres: np.ndarray, turns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Every record to its nearest centre, every centre to the mean of its records, until nothing
    moves.
    """
    for _ in range(turns):
        everybody = range(len(points))
        labels = np.array([plain.squared_distances(points, everybody, c) for c in centres]).argmin(
            axis=0
        )
        new = centres.copy()
        for g in np.unique(labels):
            new[g] = plain.centroid(points, np.flatnonzero(labels == g).tolist())
        if (new == centres).all():
            break
        centres = new
    return labels, centres


@pytest.mark.parametrize("seed", range(42))
def test_lloyd_equals_the_plain_algorithm(seed: int) -> None:
    points, _ = plain.hard_problem(8_000 + seed)
    count = 1 + seed * len(points) // 84
    starts = points[permutation(seeded(seed), len(points))[:count]]
    before = starts.copy()
    for turns in (1, 2, 300):
        labels, centres = lloyd(points, starts, turns)
        expected, expected_centres = plain_lloyd(points, starts, turns)
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(centres, expected_centres)
    np.testing.assert_array_equal(starts, before)


@pytest.mark.parametrize("count", [7, 60, 300])
def test_many_turns_on_more_records(count: int) -> None:
    points = np.random.default_rng(count).lognormal(0.0, 1.0, (1_200, 3))
    points[600:] = np.round(points[600:], 1)
    starts = points[:count]
    labels, centres = lloyd(points, starts, 300)
    expected, expected_centres = plain_lloyd(points, starts, 300)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(centres, expected_centres)


def test_starts_are_distinct_points_and_far_ones_are_likely() -> None:
    points = np.repeat([[0.0], [1.0], [1_000.0]], [50, 49, 1], axis=0)
    assert sorted(points[spread_records(points, 10, seeded(0))].ravel().tolist()) == [
        0.0,
        1.0,
        1_000.0,
    ]
    drawn = [spread_records(points, 2, seeded(seed)) for seed in range(200)]
    assert sum(99 in records for records in drawn) > 195, "its weight is at least 1000^2 of all"
    firsts = np.bincount([records[0] // 50 for records in drawn], minlength=2)
    assert abs(firsts[0] - 100) < 30, "the first is any record"
