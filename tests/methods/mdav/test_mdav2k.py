"""mdav2k against a transcription of the published algorithm."""

import math

import numpy as np
import pytest

import microagg
import plain


def mdav2k(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV2k: Chettri and Borah 2012, algorithm 6.

    As in their text, each of the k candidates is tried unless the group is full. The last step
    splits when 2k remain, as in their other algorithms.
    """
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= 3 * k:
        r = plain.farthest(points, remaining, plain.centroid(points, remaining))
        neighbours = plain.nearest(points, remaining, points[r], 2 * k)
        group = neighbours[:k]
        remaining = plain.without(remaining, group)
        for candidate in neighbours[k:]:
            if len(group) < 2 * k - 1 and belongs(points, group, r, candidate, remaining, k):
                group.append(candidate)
                remaining.remove(candidate)
        groups.append(group)
    if len(remaining) >= 2 * k:
        r = plain.farthest(points, remaining, plain.centroid(points, remaining))
        groups.append(plain.nearest(points, remaining, points[r], k))
        remaining = plain.without(remaining, groups[-1])
    groups.append(remaining)
    return plain.labels_from_groups(len(points), groups)


def belongs(
    points: np.ndarray, group: plain.Group, r: int, candidate: int, remaining: list[int], k: int
) -> bool:
    """Is the candidate nearer to the group than, by a factor, to the group it could open itself?"""
    middle = plain.centroid(points, group)
    rivals = plain.nearest(points, remaining, points[candidate], k)  # the candidate is one of them
    d1 = math.sqrt(plain.squared_distance(points[r], middle))
    d2 = math.sqrt(plain.squared_distance(points[candidate], middle))
    d3 = math.sqrt(plain.squared_distance(points[candidate], plain.centroid(points, rivals)))
    gamma = d3 / d1 if d1 > 0.0 else math.inf
    if gamma > 1.0:
        gamma = 1.0 + 1.0 / (5.0 + gamma)
    return d2 < gamma * d3


@pytest.mark.parametrize("seed", range(700, 830))
def test_mdav2k_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="mdav2k")
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, mdav2k(points, k))


# Worked by hand, k = 2: with these far away, record 0 at the origin is the farthest from the
# centroid. It
# takes record 1; records 2 and 3 are the candidates, in this order.
FAR = [[0.0, -100.0 - i] for i in range(6)]


def test_the_last_candidate_is_tried_when_one_before_was_refused() -> None:
    """2 has a neighbour of its own, 4, at 0.9: d1 = 0.56, d3 = 0.45, gamma = 0.80, and d2 = 3.5 is
    too far.

    3 has nobody nearer than 2: d3 = 3.1, gamma = 1.09, and d2 = 2.7 < 3.4.
    """
    near = [[0.0, 0.0], [1.0, -0.5], [-3.0, -0.5], [3.2, -0.5], [-3.9, -0.5]]
    labels = microagg.partition(np.array(near + FAR), k=2, method="mdav2k")
    assert labels[:5].tolist() == [0, 0, 1, 0, 1]


def test_a_full_group_takes_no_more() -> None:
    """2 is added: d2 = 2.7, d3 = 2.7, gamma = 1.10. So would be 3, all alone now, but 2k - 1 = 3
    are in.
    """
    near = [[0.0, 0.0], [1.0, -0.5], [-2.2, -0.5], [3.2, -0.5]]
    labels = microagg.partition(np.array(near + FAR), k=2, method="mdav2k")
    assert labels[:4].tolist() == [0, 0, 0, 1]
