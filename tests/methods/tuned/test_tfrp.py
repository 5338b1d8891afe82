"""tfrp1 and tfrp2 against a transcription of the published algorithm."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain


def tfrp2(points: np.ndarray, k: int, largest: int | None = None) -> np.ndarray:
    """Chang, Li and Huang 2007, both stages."""
    groups = plain.tfrp1_groups(points, k)
    groups = plain.take_apart(
        points, groups, plain.widest_first(points, groups), largest or 4 * k - 1
    )
    return plain.labels_from_groups(
        len(points), plain.split_large(points, groups, k, plain.tfrp1_groups)
    )


@pytest.mark.parametrize("seed", range(1_000, 1_060))
def test_tfrp1_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    expected = plain.labels_from_groups(len(points), plain.tfrp1_groups(points, k))
    np.testing.assert_array_equal(ma.partition(points, k=k, method="tfrp1"), expected)


@pytest.mark.parametrize("seed", range(1_100, 1_160))
def test_tfrp2_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    np.testing.assert_array_equal(ma.partition(points, k=k, method="tfrp2"), tfrp2(points, k))


def test_no_group_grows_beyond_the_cap() -> None:
    """Thirteen clumps of about seven: without the cap, and with one of 4k, other groups come
    out.
    """
    rng = np.random.default_rng(3319)
    k, d, n = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(20, 120))
    clumps = rng.normal(size=(n // 7, d)) * 10.0
    points = clumps[np.arange(n) % (n // 7)] + rng.normal(size=(n, d)) * 1e-3
    assert (n, d, k) == (92, 3, 3)
    labels = ma.partition(points, k=k, method="tfrp2")
    np.testing.assert_array_equal(labels, tfrp2(points, k))
    for other in (4 * k, n):
        assert not np.array_equal(labels, tfrp2(points, k, largest=other))


# Worked by hand, k = 2: farthest from the overall minimum 0 is 20, which takes 19; farthest from
# the overall maximum 20 is
# 0, which takes 1; then 9 takes 8, and 5 joins the nearest of the centroids 19.5, 0.5 and 8.5.
def test_groups_start_from_both_ends_in_turns() -> None:
    points = np.array([[0.0], [1.0], [5.0], [8.0], [9.0], [19.0], [20.0]])
    assert ma.partition(points, k=2, method="tfrp1").tolist() == [0, 0, 1, 1, 1, 2, 2]


# Worked by hand, k = 2. All values lie between 0 and 6. From (0, 0) the record (1.5, 5.9) is
# farthest (37.06, against 37.0 of
# the first one) and takes (4, 4). From (0, 1), the least values of each column on its own, the
# first one would be farthest
# and would take (4, 4) itself.
def test_a_reference_point_is_the_same_in_every_column() -> None:
    points = np.array([[6.0, 1.0], [4.0, 4.0], [1.5, 5.9], [0.0, 1.0]])
    assert ma.partition(points, k=2, method="tfrp1").tolist() == [0, 1, 1, 0]
