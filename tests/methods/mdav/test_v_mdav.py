"""v-mdav against a transcription of the published algorithm."""

import math

import numpy as np
import pytest

import microagg
import plain


def v_mdav(points: np.ndarray, k: int, gamma: float = 0.2) -> np.ndarray:
    """V-MDAV: Solanas and Martinez-Balleste 2006, as in Chettri and Borah 2012, algorithm 5.

    The centroid is that of all records, computed once. Leftovers join the nearest centroid, not
    updated.
    """
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    middle = plain.centroid(points, remaining)
    while len(remaining) >= k:
        r = plain.farthest(points, remaining, middle)
        groups.append(plain.nearest(points, remaining, points[r], k))
        remaining = extend(points, groups[-1], plain.without(remaining, groups[-1]), k, gamma)
    plain.join_one_by_one(points, groups, remaining)
    return plain.labels_from_groups(len(points), groups)


def extend(
    points: np.ndarray, group: plain.Group, remaining: list[int], k: int, gamma: float
) -> list[int]:
    """Grow the group in place, to 2k - 1 records at most; what still remains comes back."""
    while len(group) < 2 * k - 1 and remaining:
        candidate, squared_in = plain.nearest_to_any(points, remaining, group)
        others = plain.without(remaining, [candidate])
        if others:  # the very last record has nobody else to be near to: it is added
            _, squared_out = plain.nearest_to_any(points, others, [candidate])
            if not math.sqrt(squared_in) < gamma * math.sqrt(squared_out):
                break
        group.append(candidate)
        remaining = others
    return remaining


@pytest.mark.parametrize("seed", range(500, 565))
def test_v_mdav_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="v-mdav")
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, v_mdav(points, k))


@pytest.mark.parametrize("gamma", [0.7, 1.1, 2.0])
@pytest.mark.parametrize("seed", range(600, 639))
def test_v_mdav_with_a_given_gamma_equals_the_oracle(seed: int, gamma: float) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="v-mdav", gamma=gamma)
    np.testing.assert_array_equal(labels, v_mdav(points, k, gamma))


# Worked by hand, k = 2. From the fixed centroid 16.57 the farthest is 40, which takes 39. Nearest
# to them is
# 30, 9 away, whose own nearest is 4, 26 away: added if 9 < 26 gamma, which fills the group (2k - 1
# = 3). Then
# 0 takes 1. Nearest to them is 2, 1 away, whose own nearest is 4, 2 away: added if 1 < 2 gamma.
LINE = np.array([[0.0], [1.0], [2.0], [4.0], [30.0], [39.0], [40.0]])


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        # neither is added; 2 takes 4, and 30, the only record that remains, is added whatever gamma
        # is
        (0.2, [0, 0, 1, 1, 1, 2, 2]),
        # 30 is added and 2 is not: it takes 4
        (0.4, [0, 0, 1, 1, 2, 2, 2]),
        # both are added, and the leftover 4 joins the nearest centroid
        (0.6, [0, 0, 0, 0, 1, 1, 1]),
    ],
)
def test_gamma_decides_who_is_added(gamma: float, expected: list[int]) -> None:
    assert microagg.partition(LINE, k=2, method="v-mdav", gamma=gamma).tolist() == expected
