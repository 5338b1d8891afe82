"""max-distance and diameter, which start from the farthest pair, against plain transcriptions."""

import numpy as np
import pytest

import microagg
import plain


def groups_of_farthest_pairs(points: np.ndarray, k: int) -> tuple[list[plain.Group], list[int]]:
    """While 2k remain: a group around each end of the farthest pair. Fewer than k records are left
    over.

    Among duplicates or equidistant points the second end may already be in the first one's group:
    the second group is still sought around its point.
    """
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= 2 * k:
        for end in plain.farthest_pair(points, remaining):
            groups.append(plain.nearest(points, remaining, points[end], k))
            remaining = plain.without(remaining, groups[-1])
    if len(remaining) >= k:
        return [*groups, remaining], []
    return groups, remaining


def max_distance(points: np.ndarray, k: int) -> np.ndarray:
    """Maximum distance: Domingo-Ferrer and Mateo-Sanz 2002; leftovers join as a block."""
    groups, leftovers = groups_of_farthest_pairs(points, k)
    plain.join_as_block(points, groups, leftovers)
    return plain.labels_from_groups(len(points), groups)


def diameter(points: np.ndarray, k: int) -> np.ndarray:
    """Diameter-based fixed-size microaggregation: Laszlo and Mukherjee 2005; leftovers join one by
    one.
    """
    groups, leftovers = groups_of_farthest_pairs(points, k)
    plain.join_one_by_one(points, groups, leftovers)
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(900, 965))
def test_max_distance_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="max-distance")
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, max_distance(points, k))


@pytest.mark.parametrize("seed", range(1000, 1065))
def test_diameter_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="diameter")
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, diameter(points, k))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # 48 and 54 are left beside {0, 1, 2} and {98, 99, 100}: their centroid 51 is nearer to 99
        # than to 1
        ("max-distance", [0, 0, 0, 1, 1, 1, 1, 1]),
        ("diameter", [0, 0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_fewer_than_k_are_left(method: str, expected: list[int]) -> None:
    points = np.array([[0.0], [1.0], [2.0], [48.0], [54.0], [98.0], [99.0], [100.0]])
    assert microagg.partition(points, k=3, method=method).tolist() == expected


def test_the_second_end_may_be_taken_by_the_first() -> None:
    """Four corners of a simplex: the pair is (0, 1), and 1 is as near to 0 as any, so {0, 1} it
    is.
    """
    assert microagg.partition(np.eye(4), k=2, method="max-distance").tolist() == [0, 0, 1, 1]
