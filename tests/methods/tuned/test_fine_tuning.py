"""The second stage against its oracle where groups are many, sizes are capped or nothing can
move.
"""

from __future__ import annotations

import numpy as np
import pytest

import plain
from microagg.methods.mdav.mdav import mdav1
from microagg.methods.parts import split_oversized
from microagg.methods.tuned.fine_tuning import dispersed, last_first, widest_first


def random_groups(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    return (np.arange(n) // size).clip(max=n // size - 1)[rng.permutation(n)].astype(np.int32)


def as_lists(labels: np.ndarray) -> list[plain.Group]:
    return [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("largest", [None, 7])
@pytest.mark.parametrize("size", [2, 3])
def test_many_groups_that_move_again_and_again(size: int, largest: int | None) -> None:
    points = np.round(np.random.default_rng(size).normal(size=(700, 2)), 1)
    # neighbours in one column, not in the other
    points = points[np.argsort(points[:, 0], kind="stable")]
    labels = (np.arange(700) // size).clip(max=700 // size - 1).astype(np.int32)
    groups = as_lists(labels)
    for order, numbers in (
        (last_first, list(range(len(groups)))[::-1]),
        (widest_first, plain.widest_first(points, groups)),
    ):
        expected = plain.take_apart(points, groups, numbers, np.inf if largest is None else largest)
        result = dispersed(points, labels, order, largest)
        assert [np.flatnonzero(result == g).tolist() for g in range(len(groups))] == expected
        assert sum(not group for group in expected) > 60, "too little happens here to test anything"


def test_random_groups_with_a_cap() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points, k = plain.hard_problem(1_300 + seed)
        if len(points) < 2 * k:
            continue
        labels = random_groups(rng, len(points), k)
        groups = as_lists(labels)
        for largest in (2 * k - 1, 2 * k, 3 * k):
            expected = plain.take_apart(points, groups, list(range(len(groups)))[::-1], largest)
            result = dispersed(points, labels, last_first, largest)
            assert [np.flatnonzero(result == g).tolist() for g in range(len(groups))] == expected


def test_where_all_others_are_full_nothing_is_taken_apart() -> None:
    points = np.array([[0.0], [10.0], [0.1], [9.9]])
    labels = np.array([0, 0, 1, 1], np.int32)
    assert dispersed(points, labels, last_first).tolist() == [0, 0, 1, 1], (
        "one group would hold all"
    )
    three = np.array([[0.0], [0.2], [10.0], [10.2], [0.1], [10.1]])
    labels = np.array([0, 0, 1, 1, 2, 2], np.int32)
    assert dispersed(three, labels, last_first).tolist() == [0, 0, 1, 1, 0, 1]
    assert dispersed(three, labels, last_first, 2).tolist() == labels.tolist()


def test_no_loss_is_saved_by_moving_among_equals() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2], np.int32)
    assert dispersed(np.zeros((6, 2)), labels, widest_first).tolist() == labels.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_splitting_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(1_400 + seed)
    labels = np.random.default_rng(seed).integers(0, 4, len(points)).astype(np.int32)
    expected = plain.split_large(points, as_lists(labels), k, plain.mdav1_groups)
    result = split_oversized(points, labels, k, mdav1)
    np.testing.assert_array_equal(result, plain.labels_from_groups(len(points), expected))
