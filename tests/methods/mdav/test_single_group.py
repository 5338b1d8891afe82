"""mdav-single-group and cbfs, one group a turn, against transcriptions of the published
algorithms.
"""

import numpy as np
import pytest

import microagg
import plain


def single_groups(
    points: np.ndarray, k: int, *, while_at_least: int
) -> tuple[list[plain.Group], list[int]]:
    """One group a turn around the record farthest from the remaining records' centroid."""
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= while_at_least:
        r = plain.farthest(points, remaining, plain.centroid(points, remaining))
        groups.append(plain.nearest(points, remaining, points[r], k))
        remaining = plain.without(remaining, groups[-1])
    return groups, remaining


def mdav_single_group(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV-single-group: Chettri and Borah 2012, algorithm 4.

    Its loop runs while 3k remain and its next step forms one more such group if 2k do: together,
    while 2k do.
    """
    groups, remaining = single_groups(points, k, while_at_least=2 * k)
    groups.append(remaining)
    return plain.labels_from_groups(len(points), groups)


def cbfs(points: np.ndarray, k: int, leftovers: str = "nearest") -> np.ndarray:
    """Centroid-based fixed-size microaggregation: Laszlo and Mukherjee 2005."""
    groups, remaining = single_groups(points, k, while_at_least=k)
    plain.join_one_by_one(points, groups, remaining, updated=leftovers == "nearest-updated")
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(300, 365))
def test_mdav_single_group_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="mdav-single-group")
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, mdav_single_group(points, k))


@pytest.mark.parametrize("leftovers", ["nearest", "nearest-updated"])
@pytest.mark.parametrize("seed", range(400, 465))
def test_cbfs_equals_the_oracle(seed: int, leftovers: str) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="cbfs", leftovers=leftovers)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, cbfs(points, k, leftovers))


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        # from the centroid 12.8 the farthest is 26, which takes 18; fewer than 2k are left and form
        # a group
        ("mdav-single-group", {}, [0, 0, 0, 1, 1]),
        # at least k are left: from their centroid 6.67 the farthest is 0, which takes 7; the
        # leftover 13 is
        # nearer to 22 than to 3.5
        ("cbfs", {}, [0, 0, 1, 1, 1]),
        ("cbfs", {"leftovers": "nearest"}, [0, 0, 1, 1, 1]),
    ],
)
def test_by_hand_with_k_2(method: str, params: dict[str, str], expected: list[int]) -> None:
    points = np.array([[0.0], [7.0], [13.0], [18.0], [26.0]])
    assert microagg.partition(points, k=2, method=method, **params).tolist() == expected
