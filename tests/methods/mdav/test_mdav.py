"""mdav, mdav1 and mdav-generic against transcriptions of the published algorithms."""

import numpy as np
import pytest

import microagg
import plain

LEFTOVERS = ("block", "nearest", "nearest-updated")


def mdav(points: np.ndarray, k: int, leftovers: str = "block") -> np.ndarray:
    return plain.labels_from_groups(len(points), plain.mdav_groups(points, k, leftovers))


def mdav1(points: np.ndarray, k: int) -> np.ndarray:
    return plain.labels_from_groups(len(points), plain.mdav1_groups(points, k))


def mdav_generic(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV-generic: Domingo-Ferrer and Torra 2005, as in Chettri and Borah 2012, algorithm 2."""
    groups, remaining = plain.pairs_of_groups(points, k, while_at_least=3 * k)
    if len(remaining) >= 2 * k:
        groups.append(plain.farthest_group(points, remaining, k))
        remaining = plain.without(remaining, groups[-1])
    if remaining:
        groups.append(remaining)
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("leftovers", LEFTOVERS)
@pytest.mark.parametrize("seed", range(65))
def test_mdav_equals_the_oracle(seed: int, leftovers: str) -> None:
    points, k = plain.hard_problem(seed)
    labels = microagg.partition(points, k=k, method="mdav", leftovers=leftovers)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, mdav(points, k, leftovers))


@pytest.mark.parametrize("seed", range(100, 165))
def test_mdav1_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    np.testing.assert_array_equal(microagg.partition(points, k=k, method="mdav1"), mdav1(points, k))


@pytest.mark.parametrize("seed", range(200, 265))
def test_mdav_generic_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    np.testing.assert_array_equal(
        microagg.partition(points, k=k, method="mdav-generic"), mdav_generic(points, k)
    )


@pytest.mark.parametrize("seed", range(12))
def test_many_equal_records_equal_the_oracle(seed: int) -> None:
    """Most records are at a few points, so that ties decide which of them go where."""
    rng = np.random.default_rng([14, seed])
    n, d, k = int(rng.integers(100, 500)), int(rng.integers(1, 5)), int(rng.integers(2, 12))
    points = np.round(rng.normal(size=(n, d)), 1)
    equal = rng.random(n) < (0.99 if seed % 2 else 0.8)
    points[equal] = points[rng.integers(0, n, 1 + seed % 4)][
        rng.integers(0, 1 + seed % 4, equal.sum())
    ]
    for method, oracle in (("mdav", mdav), ("mdav1", mdav1), ("mdav-generic", mdav_generic)):
        np.testing.assert_array_equal(
            microagg.partition(points, k=k, method=method), oracle(points, k)
        )


@pytest.mark.parametrize("shape", [(6, 400), (40, 200)])
def test_wide_tables_equal_the_oracle(shape: tuple[int, int]) -> None:
    points = np.round(np.random.default_rng(shape).normal(size=shape), 1)
    np.testing.assert_array_equal(microagg.partition(points, k=3, method="mdav"), mdav(points, 3))


# Worked by hand, k = 3. From the centroid 50.25 the farthest is 0, which takes 1 and 2; from 0 it
# is 100,
# which takes 98 and 99. Their centroids are 1 and 99, and 48 and 54 are left. Together they have
# the centroid
# 51, which is nearer to 99; alone, 48 goes to 1 and 54 to 99; but if 48 moves its new group's
# centroid to
# 12.75, then 54 follows it.
TWO_LEFT = np.array([[0.0], [1.0], [2.0], [48.0], [54.0], [98.0], [99.0], [100.0]])


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("mdav", {}, [0, 0, 0, 1, 1, 1, 1, 1]),
        ("mdav", {"leftovers": "block"}, [0, 0, 0, 1, 1, 1, 1, 1]),
        ("mdav", {"leftovers": "nearest"}, [0, 0, 0, 0, 1, 1, 1, 1]),
        ("mdav", {"leftovers": "nearest-updated"}, [0, 0, 0, 0, 0, 1, 1, 1]),
        ("mdav1", {}, [0, 0, 0, 0, 1, 1, 1, 1]),
        # fewer than 3k records: one group around 0, and the rest
        ("mdav-generic", {}, [0, 0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_fewer_than_k_are_left(method: str, params: dict[str, str], expected: list[int]) -> None:
    assert microagg.partition(TWO_LEFT, k=3, method=method, **params).tolist() == expected


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("mdav", [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
        # of 10, 50, 52, 75 the farthest from their centroid is 10, which takes 50 and 52; 75 is
        # nearest to 99
        ("mdav1", [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]),
        # at least 3k: one pair of groups, and the four that remain are one group
        ("mdav-generic", [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
    ],
)
def test_at_least_k_are_left(method: str, expected: list[int]) -> None:
    points = np.array(
        [[0.0], [1.0], [2.0], [10.0], [50.0], [52.0], [75.0], [98.0], [99.0], [100.0]]
    )
    assert microagg.partition(points, k=3, method=method).tolist() == expected
