"""k-Ward against a transcription that looks at all pairs of groups in every step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.kernels.ward import joined_to_k


def next_pair(
    points: np.ndarray, groups: list[plain.Group], k: int
) -> tuple[plain.Group, plain.Group]:
    """The pair whose joining adds least to the sum of squares; then with fewest records; then with
    the lowest.
    """
    centres = {min(group): plain.centroid(points, group) for group in groups}

    def key(pair: tuple[plain.Group, plain.Group]) -> tuple[float, int, int, int]:
        a, b = (float(len(group)) for group in pair)
        low, high = sorted(min(group) for group in pair)
        return (
            a * b / (a + b) * plain.squared_distance(centres[low], centres[high]),
            int(a + b),
            low,
            high,
        )

    return min((p for p in itertools.combinations(groups, 2) if min(map(len, p)) < k), key=key)


def oracle(points: np.ndarray, records: list[int], k: int) -> list[plain.Group]:
    """Two groups at the ends of the diameter, single records, and Ward's method until all groups
    have k.
    """
    if len(records) < 2 * k:
        return [records]
    groups: list[plain.Group] = []
    left = records
    for extreme in plain.farthest_pair(points, records):
        groups.append(plain.nearest(points, left, points[extreme], k))
        left = plain.without(left, groups[-1])
    groups += [[record] for record in left]
    while any(len(group) < k for group in groups):
        a, b = next_pair(points, groups, k)
        groups = [group for group in groups if group not in (a, b)] + [a + b]
    return [part for group in groups for part in oracle(points, sorted(group), k)]


@pytest.mark.parametrize("seed", range(2200, 2260))
def test_same_groups_as_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    points = points[:70]  # the oracle looks at all pairs in every step
    k = min(k, len(points))
    expected = plain.labels_from_groups(len(points), oracle(points, list(range(len(points))), k))
    assert ma.partition(points, k=k, method="k-ward").tolist() == expected.tolist()


def test_a_large_group_is_worked_on_again() -> None:
    """10, 40 and 130 are each nearer to the group at 0 than to each other; the six are then split
    at their own ends.
    """
    points = np.array([0.0, 0.0, 0.0, 10.0, 40.0, 130.0, 1000.0, 1000.0, 1000.0])[:, None]
    joined = joined_to_k(points, np.array([0, 0, 0, 1, 2, 3, 4, 4, 4]), 3)
    assert np.bincount(joined).tolist() == [6, 3]
    labels = ma.partition(points, k=3, method="k-ward")
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_groups_that_have_k_are_never_joined() -> None:
    """Two pairs that are all but equal stay apart; the record between them and a far one do not."""
    points = np.array([[0.0], [0.0], [0.001], [0.001], [50.0]])
    labels = joined_to_k(points, np.array([0, 0, 1, 1, 2]), 2)
    assert labels[0] == labels[1] != labels[2] == labels[3] == labels[4]


def test_equal_records_make_no_giant_group() -> None:
    """Where everything ties, small pairs are joined first, so nothing has to be split again."""
    points = np.zeros((600, 2))
    joined = joined_to_k(points, np.arange(600), 5)
    sizes = np.bincount(joined)
    assert sizes.min() >= 5
    assert sizes.max() < 10
