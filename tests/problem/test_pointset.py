"""PointSet, the remaining records of a heuristic, against brute force on random sequences of
operations.
"""

from collections.abc import Callable

import numpy as np
import pytest

import plain
from microagg.problem.pointset import Groups, PointSet


def random_query(
    rng: np.random.Generator, points: np.ndarray
) -> tuple[int | np.ndarray, np.ndarray]:
    """A query as PointSet takes it (a record number, removed already or not, or a point), and its
    point.
    """
    i, j = (int(record) for record in rng.integers(0, len(points), 2))
    spread = np.ptp(points, axis=0) + 1.0
    queries: list[int | np.ndarray] = [
        i,
        points[i].copy(),
        0.5 * (points[i] + points[j]),  # half way: exact ties between the two
        points[i] + 0.3 * spread * rng.normal(size=points.shape[1]),
        points[i] + 1e6 * spread * rng.choice([-1.0, 1.0], size=points.shape[1]),
    ]
    query = queries[rng.integers(len(queries))]
    return query, points[query] if isinstance(query, int) else query


class Checked:
    """A PointSet beside the plain list of what remains; every operation is done on both and
    compared.
    """

    def __init__(self, points: np.ndarray, rng: np.random.Generator, largest_take: int) -> None:
        self.points, self.rng, self.largest_take = points, rng, largest_take
        self.pointset = PointSet(points)
        self.remaining = list(range(len(points)))

    def random_size(self) -> int:
        return int(self.rng.integers(1, min(len(self.remaining), self.largest_take) + 1))

    def random_records(self, among: list[int]) -> list[int]:
        """In random order and without repetition."""
        size = int(self.rng.integers(1, min(len(among), self.largest_take) + 1))
        return self.rng.permutation(among)[:size].tolist()

    def drop(self, returned: np.ndarray, expected: list[int]) -> None:
        assert sorted(returned.tolist()) == sorted(expected)
        self.remaining = plain.without(self.remaining, expected)
        assert len(self.pointset) == len(self.remaining)
        assert self.pointset.remaining().tolist() == self.remaining

    def centroid(self) -> None:
        expected = plain.centroid(self.points, self.remaining)
        np.testing.assert_array_equal(self.pointset.centroid(), expected)

    def farthest_from_centroid(self) -> None:
        expected = plain.farthest(
            self.points, self.remaining, plain.centroid(self.points, self.remaining)
        )
        assert self.pointset.farthest_from(self.pointset.centroid()) == expected

    def farthest_from(self) -> None:
        query, q = random_query(self.rng, self.points)
        assert self.pointset.farthest_from(query) == plain.farthest(self.points, self.remaining, q)

    def farthest_pair(self) -> None:
        if len(self.remaining) >= 2:
            assert self.pointset.farthest_pair() == plain.farthest_pair(self.points, self.remaining)

    def nearest(self) -> None:
        query, q = random_query(self.rng, self.points)
        m = len(self.remaining) if self.rng.random() < 0.1 else self.random_size()
        result = self.pointset.nearest(query, m)
        assert result.dtype == np.int64
        assert result.tolist() == plain.nearest(self.points, self.remaining, q, m)

    def nearest_to_any(self) -> None:
        records = self.random_records(list(range(len(self.points))))
        taken = plain.without(records, self.remaining)
        records = taken or records  # mostly as a heuristic asks: around records that have left
        result = self.pointset.nearest_to_any(np.array(records, dtype=np.int64))
        assert result == plain.nearest_to_any(self.points, self.remaining, records)

    def too_many(self) -> None:
        query, _ = random_query(self.rng, self.points)
        with pytest.raises(ValueError, match="are left"):
            self.pointset.nearest(query, len(self.remaining) + 1)
        assert len(self.pointset) == len(self.remaining)

    def take(self) -> None:
        records = self.random_records(self.remaining)
        self.drop(self.pointset.take(np.array(records, dtype=np.int64)), records)

    def take_nearest(self) -> None:
        query, q = random_query(self.rng, self.points)
        size = self.random_size()
        expected = plain.nearest(self.points, self.remaining, q, size)
        self.drop(self.pointset.take_nearest(query, size), expected)

    def take_all(self) -> None:
        taken = self.pointset.take_all()
        assert taken.tolist() == self.remaining
        self.drop(taken, self.remaining)

    def run_until_empty(self, *, pairs: float) -> None:
        """`pairs`: how often the farthest pair is asked for, whose brute force alone is
        quadratic.
        """
        queries = [
            self.centroid,
            self.farthest_from_centroid,
            self.farthest_from,
            self.nearest,
            self.nearest_to_any,
        ]
        while self.remaining:
            chance = self.rng.random()
            if chance < pairs:
                self.farthest_pair()
            elif chance < 0.60:
                queries[self.rng.integers(len(queries))]()
            elif chance < 0.63:
                self.too_many()
            # the tree is to be emptied step by step before
            elif chance < 0.70 and len(self.remaining) < 20:
                self.take_all()
            elif chance < 0.80:
                self.take()
            else:
                self.take_nearest()
        assert len(self.pointset) == 0
        assert self.pointset.remaining().tolist() == []


@pytest.mark.parametrize("seed", range(2000, 2130))
def test_any_sequence_of_operations_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = plain.hard_points(rng, seed % len(plain.KINDS))
    Checked(points, rng, largest_take=8).run_until_empty(pairs=0.15)


def test_every_operation_on_every_kind_of_input() -> None:
    """In a fixed order, so that chance leaves no operation out."""
    for kind in range(len(plain.KINDS)):
        rng = np.random.default_rng(kind)
        checked = Checked(plain.hard_points(rng, kind), rng, largest_take=5)
        for operation in (
            checked.centroid,
            checked.farthest_from_centroid,
            checked.farthest_from,
            checked.farthest_pair,
            checked.nearest,
            checked.nearest_to_any,
            checked.too_many,
            checked.take,
            checked.take_nearest,
            checked.take_all,
        ):
            if checked.remaining:
                operation()


def clusters(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    centres = 20.0 * rng.normal(size=(12, d))
    return centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, d))


def fine_grid(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 12, (n, d)).astype(float)


def few_distinct(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """More equal rows than a leaf can hold: no cut separates them."""
    return rng.normal(size=(9, d))[rng.integers(0, 9, n)]


def nearly_all_equal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """One point holds 99 % of the records, which share one slot of the tree."""
    points = rng.normal(size=(n, d))
    points[rng.random(n) < 0.99] = 0.1
    return points


def heavy_tails(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.lognormal(0.0, 2.0, (n, d))


def far_off(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Spread by a few units, a billion units from the origin: a bound that rounds carelessly prunes
    a tie.
    """
    return 1e9 + rng.integers(0, 12, (n, d))


def mixed_scales(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * 10.0 ** np.linspace(-6.0, 6.0, d)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "d"),
    [
        (clusters, 2),
        (clusters, 12),
        (fine_grid, 2),
        (fine_grid, 5),
        (few_distinct, 3),
        (nearly_all_equal, 2),
        (heavy_tails, 8),
        (far_off, 3),
        (mixed_scales, 6),
    ],
)
def test_deep_trees_equal_brute_force(
    make: Callable[[np.random.Generator, int, int], np.ndarray], d: int
) -> None:
    rng = np.random.default_rng([3000, d])
    points = make(rng, 3000, d)
    Checked(points, rng, largest_take=30).run_until_empty(pairs=0.01)


@pytest.mark.parametrize(("n", "d"), [(5, 300), (200, 150), (60, 64), (64, 60)])
@pytest.mark.parametrize(
    "make", [clusters, fine_grid, few_distinct, nearly_all_equal, mixed_scales]
)
def test_wide_tables_equal_brute_force(
    make: Callable[[np.random.Generator, int, int], np.ndarray], n: int, d: int
) -> None:
    """Their axes are not turned."""
    rng = np.random.default_rng([n, d])
    points = np.ascontiguousarray(make(rng, n, d))
    Checked(points, rng, largest_take=8).run_until_empty(pairs=0.05)


def test_the_next_of_equal_records_takes_the_place_of_the_one_taken() -> None:
    points = PointSet(np.array([[1.0], [3.0], [1.0], [3.0], [1.0], [1.0]]))
    points.take([2])
    assert points.nearest(4, 3).tolist() == [0, 4, 5]
    points.take([0])
    assert points.farthest_from(1) == 4
    assert points.farthest_pair() == (1, 4)
    points.take([4, 1])
    assert points.farthest_pair() == (3, 5)
    with pytest.raises(ValueError, match="record 4 is not in the set"):
        points.take([4])
    assert points.take_all().tolist() == [3, 5]


def test_the_points_are_left_as_they_were() -> None:
    points = plain.hard_points(np.random.default_rng(1), 1)
    before = points.copy()
    pointset = PointSet(points)
    pointset.take_nearest(0, 2)
    pointset.take_all()
    np.testing.assert_array_equal(points, before)


def extreme_points(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Scales that leave the range of float32, and single records that dwarf all others."""
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 8))
    points = rng.normal(size=(n, d))
    if kind == "huge":
        points *= 1e90
    elif kind == "minute":
        points *= 1e-90
    elif kind == "every-scale":
        points *= 10.0 ** rng.uniform(-60, 60, size=d)
    elif kind == "far-from-zero":
        points = points * 1e-6 + 1e9
    elif kind == "one-far-out":
        points[rng.integers(n)] = 1e30
    else:
        points = np.round(points, 1)
        points[0] *= 1e20
    return points


@pytest.mark.parametrize(
    "kind", ["huge", "minute", "every-scale", "far-from-zero", "one-far-out", "first-far-out"]
)
@pytest.mark.parametrize("seed", range(12))
def test_extreme_scales(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = extreme_points(rng, kind)
    pointset, remaining = PointSet(points), list(range(len(points)))
    while remaining:
        mean = pointset.centroid()
        assert np.array_equal(mean, plain.centroid(points, remaining))
        assert pointset.farthest_from(mean) == plain.farthest(points, remaining, mean)
        record, m = (
            remaining[int(rng.integers(len(remaining)))],
            min(len(remaining), int(rng.integers(1, 12))),
        )
        query = (
            points[record]
            + (rng.random() < 0.3) * rng.normal(size=points.shape[1]) * np.abs(points).max()
        )
        assert pointset.farthest_from(query) == plain.farthest(points, remaining, query)
        assert pointset.nearest(query, m).tolist() == plain.nearest(points, remaining, query, m)
        remaining = plain.without(remaining, pointset.take_nearest(record, m).tolist())


def test_extremes_are_those_of_the_records_that_remain() -> None:
    pointset = PointSet(np.array([[0.0, -3.0], [9.0, 1.0], [2.0, 8.0]]))
    assert pointset.extremes() == (-3.0, 9.0)
    pointset.take([1])
    assert pointset.extremes() == (-3.0, 8.0)
    pointset.take([0, 2])
    with pytest.raises(ValueError, match="0 are left"):
        pointset.extremes()


def test_groups_keep_the_order_in_which_they_were_formed() -> None:
    groups = Groups(np.array([[0.0], [1.0], [5.0], [6.0]]))
    groups.add([2, 3])
    with pytest.raises(RuntimeError, match="without a group"):
        groups.as_formed()
    groups.add([0, 1])
    assert groups.as_formed().tolist() == [1, 1, 0, 0]
    assert groups.labels().tolist() == [0, 0, 1, 1]
