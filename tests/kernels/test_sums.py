"""Sums that are right to the last bit, in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from microagg.kernels import sums


def ill_conditioned(seed: int, n: int = 200) -> np.ndarray:
    """Numbers of very different sizes that nearly cancel."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n // 2, 2)) * 10.0 ** rng.integers(-12, 12, (n // 2, 2))
    both = np.concatenate([half, -half[::-1] + rng.normal(size=half.shape)])
    return both[rng.permutation(n)]


@pytest.mark.parametrize("seed", range(20))
def test_sums_equal_exact_arithmetic(seed: int) -> None:
    points = ill_conditioned(seed)
    total = sums.column_sums(points)
    for j in range(2):
        assert sums.rounded(total, j) == math.fsum(points[:, j])
    mean = sums.mean_of(points, np.arange(len(points)))
    assert mean.tolist() == [math.fsum(points[:, j]) / len(points) for j in range(2)]


def test_what_was_added_can_be_taken_away() -> None:
    points = ill_conditioned(1)
    total = sums.column_sums(points)
    rest = np.random.default_rng(2).permutation(len(points))
    for record in rest[:150]:
        for j in range(2):
            sums.add_exactly(total, -points[record, j], j)
    for j in range(2):
        assert sums.rounded(total, j) == math.fsum(points[rest[150:], j])


@pytest.mark.parametrize("seed", range(5))
def test_moments(seed: int) -> None:
    points = np.random.default_rng(seed).normal(1e6, 1.0, (300, 2))
    mean, deviation = sums.column_moments(points)
    for j in range(2):
        centre = math.fsum(points[:, j]) / 300
        assert mean[j] == centre
        squares = [(x - centre) * (x - centre) for x in points[:, j]]
        assert deviation[j] == math.sqrt(math.fsum(squares) / 300)


def test_groups() -> None:
    points = ill_conditioned(3, 60)
    labels = np.random.default_rng(4).integers(-1, 6, 60).astype(np.int32)
    means = sums.group_means(points, labels, 6)
    assert sums.group_sizes(labels, 6).tolist() == [int((labels == g).sum()) for g in range(6)]
    for g in range(6):
        members = points[labels == g]
        assert means[g].tolist() == [math.fsum(members[:, j]) / len(members) for j in range(2)]


def test_squared_error() -> None:
    points, others = ill_conditioned(5, 40), ill_conditioned(6, 40)
    rows = np.random.default_rng(7).integers(0, 40, 40).astype(np.int32)
    differences = (points - others[rows]).ravel()
    assert sums.squared_error(points, others, rows) == math.fsum(
        (differences * differences).tolist()
    )


def test_the_nearest_mean_is_the_first_of_several() -> None:
    means = np.array([[5.0], [1.0], [-1.0], [1.0]])
    assert sums.nearest_mean(means, np.array([0.0])) == 1
    assert sums.nearest_mean(means, np.array([-0.1])) == 2


def test_groups_are_numbered_by_their_first_record() -> None:
    labels = np.array([4, 2, 4, 0, 2, 9], np.int32)
    numbered = sums.number_by_first_record(labels)
    assert numbered.tolist() == [0, 1, 0, 2, 1, 3]
    assert numbered.dtype == np.int32
