"""Orders of the records against plain transcriptions, or against what they promise."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import plain
from microagg.errors import InputError
from microagg.methods.ordered.orders import ORDERS, by_column
from microagg.problem.problem import Problem

SEEDS = range(2000, 2060)


def order_of(name: str, points: np.ndarray, k: int = 2, **params: int) -> list[int]:
    return ORDERS[name](Problem.of(points, k), None, None, **params).tolist()


def sorted_by(keys: list[float]) -> list[int]:
    return sorted(range(len(keys)), key=lambda record: (keys[record], record))


def zscore(points: np.ndarray, k: int) -> list[int]:
    """By the sum of z-scores; a constant column has none."""
    keys = [0.0] * len(points)
    for column in points.T.tolist():
        if min(column) == max(column):
            continue
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((x - mean) * (x - mean) for x in column) / len(column))
        keys = [key + (x - mean) / deviation for key, x in zip(keys, column, strict=True)]
    return sorted_by(keys)


def multidsort(points: np.ndarray, k: int) -> list[int]:
    """By the sum of a record's ranks in all columns."""
    keys = [0] * len(points)
    for column in points.T.tolist():
        for rank, record in enumerate(sorted_by(column)):
            keys[record] += rank
    return sorted_by(keys)


def meansort(points: np.ndarray, k: int) -> list[int]:
    """By the sum of a record's deviations from the column means."""
    means = plain.centroid(points, range(len(points))).tolist()
    keys = []
    for row in points.tolist():
        total = 0.0
        for x, mean in zip(row, means, strict=True):
            total += x - mean
        keys.append(total)
    return sorted_by(keys)


def npn(points: np.ndarray, k: int) -> list[int]:
    """From the record farthest from the centroid, always on to the nearest one left."""
    remaining = list(range(len(points)))
    path = [plain.farthest(points, remaining, plain.centroid(points, remaining))]
    while len(path) < len(points):
        remaining = plain.without(remaining, path[-1:])
        path += plain.nearest(points, remaining, points[path[-1]], 1)
    return path


def chained(points: np.ndarray, groups: list[plain.Group]) -> list[int]:
    """From the first group on to the nearest centroid; records towards the next one, the last
    group's away.
    """
    if len(groups) == 1:
        return sorted(groups[0])
    centroids = np.array([plain.centroid(points, group) for group in groups])
    chain, left = [0], list(range(1, len(groups)))
    while left:
        chain += plain.nearest(centroids, left, centroids[chain[-1]], 1)
        left = plain.without(left, chain)
    path: list[int] = []
    for here, following in itertools.pairwise(chain):
        away = {r: plain.squared_distance(points[r], centroids[following]) for r in groups[here]}
        path += sorted(groups[here], key=lambda r: (-away[r], r))
    away = {r: plain.squared_distance(points[r], centroids[chain[-2]]) for r in groups[chain[-1]]}
    return path + sorted(groups[chain[-1]], key=lambda r: (away[r], r))


def mdav(points: np.ndarray, k: int) -> list[int]:
    return chained(points, plain.mdav_groups(points, k))


def cbfs(points: np.ndarray, k: int) -> list[int]:
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= k:
        r = plain.farthest(points, remaining, plain.centroid(points, remaining))
        groups.append(plain.nearest(points, remaining, points[r], k))
        remaining = plain.without(remaining, groups[-1])
    plain.join_one_by_one(points, groups, remaining)
    return chained(points, groups)


def md(points: np.ndarray, k: int) -> list[int]:
    """The groups as formed, from their first records outwards; the last one from the first record
    before it.
    """
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= 2 * k:
        for end in plain.farthest_pair(points, remaining):
            groups.append(plain.nearest(points, remaining, points[end], k))
            remaining = plain.without(remaining, groups[-1])
    seeds = [group[0] for group in groups]
    if len(remaining) >= k:
        groups.append(remaining)
        seeds.append(seeds[-1] if seeds else remaining[0])
    else:
        plain.join_as_block(points, groups, remaining)
    path: list[int] = []
    for seed, group in zip(seeds, groups, strict=True):
        away = {r: plain.squared_distance(points[r], points[seed]) for r in group}
        path += sorted(group, key=lambda r: (away[r], r))
    return path


ORACLES = {f.__name__: f for f in (zscore, multidsort, meansort, npn, mdav, cbfs, md)}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_equals_the_oracle(name: str, seed: int) -> None:
    points, k = plain.hard_problem(seed)
    assert order_of(name, points, k) == ORACLES[name](points, k)


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_holds_every_record_once(name: str, seed: int) -> None:
    points, k = plain.hard_problem(seed)
    before = points.copy()
    order = ORDERS[name](Problem.of(points, k), None, None)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(len(points)))
    assert np.array_equal(points, before)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_column_sorts(seed: int) -> None:
    points, _ = plain.hard_problem(seed)
    for column in range(points.shape[1]):
        assert order_of("column", points, column=column) == sorted_by(points[:, column].tolist())


@pytest.mark.parametrize("column", [-1, 2])
def test_a_column_that_is_not_there(column: int) -> None:
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        by_column(Problem.of(np.zeros((4, 2)), 2), column=column)


@pytest.mark.parametrize("seed", range(60))
def test_the_component_is_the_first_one_of_lapack(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    points = rng.normal(size=(150, d)) @ rng.normal(size=(d, d)) * 10.0 ** rng.integers(-3, 4) + 7.0
    _, axes = np.linalg.eigh(np.cov(points, rowvar=False).reshape(d, d))
    axis = axes[:, -1]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    scores = (points - points.mean(axis=0)) @ axis
    ours = scores[order_of("pca", points)]
    assert (np.diff(ours) >= -1e-7 * np.abs(ours).max()).all()


def test_the_component_points_where_its_largest_loading_does() -> None:
    x = np.arange(10.0)
    assert order_of("pca", np.column_stack([x, -3.0 * x])) == list(range(9, -1, -1))
    assert order_of("pca", np.column_stack([1e-170 * x, -1e-171 * x])) == list(range(10))


@pytest.mark.parametrize(("d", "side"), [(2, 16), (3, 8), (4, 4)])
def test_the_hilbert_curve_steps_from_cell_to_cell(d: int, side: int) -> None:
    axes = np.meshgrid(*[np.arange(float(side))] * d, indexing="ij")
    grid = np.random.default_rng(0).permutation(
        np.column_stack([axis.reshape(-1) for axis in axes])
    )
    walked = grid[order_of("hilbert", grid)]
    assert (np.abs(np.diff(walked, axis=0)).sum(axis=1) == 1.0).all()


def test_hilbert_on_one_column_sorts_it_and_many_columns_fit() -> None:
    rng = np.random.default_rng(1)
    column = rng.normal(size=(200, 1))
    assert order_of("hilbert", column) == sorted_by(column[:, 0].tolist())
    assert order_of("hilbert", np.column_stack([np.full(200, 3.0), column])) == order_of(
        "hilbert", column
    )
    wide = rng.normal(size=(50, 40))
    assert order_of("hilbert", wide) == order_of("hilbert", wide[:, :16])


def path_length(points: np.ndarray, order: list[int]) -> float:
    return float(np.sqrt((np.diff(points[order], axis=0) ** 2).sum(axis=1)).sum())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "make", [plain._gaussian, plain._heavy_tails, plain._clustered, plain._one_decimal]
)
def test_the_hamiltonian_path_is_short(make: Callable[..., Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = make(rng, 400, int(rng.integers(1, 6)))
    nearest_next = path_length(points, order_of("npn", points))
    assert path_length(points, order_of("tsp", points)) <= nearest_next * (1.0 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_no_exchange_along_a_near_neighbour_shortens_the_path(seed: int) -> None:
    """Any part turned round, if one of the new edges leads to a near neighbour and is shorter than
    the old one there.
    """
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(120, 2))
    order = order_of("tsp", points)
    length = path_length(points, order)
    near = [set(plain.nearest(points, range(120), points[i], 5)) for i in range(120)]
    for i, j in itertools.combinations(range(1, 119), 2):
        (p, a), (c, d) = order[i - 1 : i + 1], order[j : j + 2]  # p a ... c d becomes p c ... a d
        for here, old, new in ((p, a, c), (c, d, p), (a, p, d), (d, c, a)):
            shorter = math.dist(points[here], points[new]) < math.dist(points[here], points[old])
            if new in near[here] and shorter:
                turned = order[:i] + order[i : j + 1][::-1] + order[j + 1 :]
                assert path_length(points, turned) >= length - 1e-6


def test_a_line_is_walked_from_end_to_end_and_duplicates_stay_together() -> None:
    line = np.array([[3.0], [1.0], [2.0], [1.0], [9.0], [3.0], [0.0], [4.0], [5.0], [6.0], [7.0]])
    assert order_of("tsp", line) in (
        sorted_by(line[:, 0].tolist()),
        [4, 10, 9, 8, 7, 0, 5, 2, 1, 3, 6],
    )
    assert order_of("tsp", np.zeros((6, 2))) == list(range(6))
