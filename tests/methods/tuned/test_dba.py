"""dba1, dba2 and dba2p against a transcription of the published algorithm."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain


def dba1(points: np.ndarray, k: int, p: int = 0) -> list[plain.Group]:
    """Lin, Wen, Hsieh and Chang 2010: all densities computed anew for every group."""
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= k:
        sets = [plain.nearest(points, remaining, points[record], k) for record in remaining]
        spreads = [plain.spread(points, members) for members in sets]
        wanted = max(spreads) if len(groups) < p else min(spreads)
        groups.append(sets[spreads.index(wanted)])
        remaining = plain.without(remaining, groups[-1])
    plain.join_one_by_one(points, groups, remaining)
    return groups


def tuned(points: np.ndarray, k: int, groups: list[plain.Group]) -> np.ndarray:
    """The second stage, the last group first."""
    groups = plain.take_apart(points, groups, range(len(groups) - 1, -1, -1))
    return plain.labels_from_groups(
        len(points), plain.split_large(points, groups, k, plain.mdav1_groups)
    )


@pytest.mark.parametrize("seed", range(1_500, 1_570))
def test_dba_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    groups = dba1(points, k)
    expected = plain.labels_from_groups(len(points), groups)
    np.testing.assert_array_equal(ma.partition(points, k=k, method="dba1"), expected)
    np.testing.assert_array_equal(
        ma.partition(points, k=k, method="dba2"), tuned(points, k, groups)
    )


@pytest.mark.parametrize("seed", range(1_600, 1_642))
def test_dba2p_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    p = (0, 1, 3, 1_000)[seed % 4]
    labels = ma.partition(points, k=k, method="dba2p", p=p)
    np.testing.assert_array_equal(labels, tuned(points, k, dba1(points, k, p)))


def test_without_p_it_is_dba2() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    dba2 = ma.partition(points, k=4, method="dba2")
    assert ma.partition(points, k=4, method="dba2p", p=0).tolist() == dba2.tolist()
    assert ma.partition(points, k=4, method="dba2p", p=40).tolist() != dba2.tolist()


@pytest.mark.slow
def test_many_ties_among_neighbours() -> None:
    points = np.random.default_rng(1).integers(0, 6, (400, 2)).astype(float)
    expected = plain.labels_from_groups(400, dba1(points, 5))
    assert ma.partition(points, k=5, method="dba1").tolist() == expected.tolist()


# Worked by hand, k = 2. The densest pair is 10, 10.1; then 0, 0.5; of 3, 4.2 and 20 the pair 3,
# 4.2; 20 joins 10, 10.1.
def test_the_densest_come_first() -> None:
    points = np.array([[0.0], [3.0], [0.5], [10.0], [4.2], [10.1], [20.0]])
    assert ma.partition(points, k=2, method="dba1").tolist() == [0, 1, 0, 2, 1, 2, 2]
