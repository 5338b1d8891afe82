"""The assignment under size bounds against all assignments, and against successive shortest paths
in plain Python.
"""

import itertools
import math

import numpy as np
import pytest

import plain
from microagg.kernels import assignment
from microagg.kernels.assignment import assign


def cost_matrix(points: np.ndarray, centres: np.ndarray, *, squared: bool) -> list[list[float]]:
    distances = [[plain.squared_distance(x, q) for q in centres] for x in points]
    return distances if squared else [[math.sqrt(d) for d in row] for row in distances]


def total_cost(costs: list[list[float]], labels: np.ndarray) -> float:
    return math.fsum(row[label] for row, label in zip(costs, labels, strict=True))


def least_of_all(costs: list[list[float]], k: int) -> float:
    """The least total over every assignment whose clusters all get k to 2k - 1 records."""
    clusters = range(len(costs[0]))
    return min(
        math.fsum(row[label] for row, label in zip(costs, labels, strict=True))
        for labels in itertools.product(clusters, repeat=len(costs))
        if all(k <= labels.count(c) < 2 * k for c in clusters)
    )


def least_by_flow(costs: list[list[float]], k: int) -> float:
    """Min-cost flow by successive shortest paths: source -> records -> clusters -> sink, one unit a
    record.

    Each cluster's first k places come with a reward no cost can outweigh, so all of them are
    filled.
    """
    n, clusters = len(costs), len(costs[0])
    reward = 1.0 + 2.0 * sum(map(max, costs))
    source, sink = n + clusters, n + clusters + 1
    edges: list[list[float]] = []  # from, to, capacity, cost; edge e ^ 1 is the way back of edge e

    def connect(a: int, b: int, capacity: int, cost: float) -> None:
        edges.extend([[a, b, capacity, cost], [b, a, 0, -cost]])

    for x in range(n):
        connect(source, x, 1, 0.0)
        for c in range(clusters):
            connect(x, n + c, 1, costs[x][c])
    for c in range(clusters):
        connect(n + c, sink, k, -reward)
        connect(n + c, sink, k - 1, 0.0)
    for _ in range(n):
        push_one(edges, source, sink, 1e-12 * reward)
    assigned = (e for e in edges[::2] if e[0] < n and e[2] == 0)
    return math.fsum(e[3] for e in assigned)


def push_one(edges: list[list[float]], source: int, sink: int, tolerance: float) -> None:
    """One unit along a shortest path, by Bellman and Ford."""
    distance, came_by = {source: 0.0}, {}
    changed = True
    while changed:
        changed = False
        for number, (a, b, capacity, cost) in enumerate(edges):
            if (
                capacity > 0
                and a in distance
                and distance[a] + cost < distance.get(b, math.inf) - tolerance
            ):
                distance[b], came_by[b], changed = distance[a] + cost, number, True
    node = sink
    while node != source:
        edges[came_by[node]][2] -= 1
        edges[came_by[node] ^ 1][2] += 1
        node = edges[came_by[node]][0]


def some_labels(rng: np.random.Generator, n: int, clusters: int, k: int) -> np.ndarray:
    """A random assignment that keeps the sizes."""
    more = rng.permutation(np.repeat(np.arange(clusters), k - 1))[: n - k * clusters]
    return rng.permutation(np.concatenate([np.repeat(np.arange(clusters), k), more])).astype(
        np.int32
    )


def some_problem(seed: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Points, centres (some of them equal to points), a start and k; ties and duplicates in two of
    three.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    clusters = int(rng.integers(1, most // k + 1))
    n = int(rng.integers(k * clusters, min(most, (2 * k - 1) * clusters) + 1))
    d = int(rng.integers(1, 4))
    points = [
        rng.normal(size=(n, d)),
        rng.integers(0, 3, (n, d)) * 1.0,
        np.round(rng.normal(size=(n, d)), 1),
    ]
    centres = [rng.normal(size=(clusters, d)), points[seed % 3][rng.integers(0, n, clusters)]]
    return points[seed % 3], centres[seed // 3 % 2], some_labels(rng, n, clusters, k), k


def check(points: np.ndarray, centres: np.ndarray, start: np.ndarray, k: int, oracle) -> None:
    before = points.copy(), centres.copy(), start.copy()
    for squared in (False, True):
        labels = assign(points, centres, start, k, squared)
        assert labels.dtype == np.int32
        sizes = np.bincount(labels, minlength=len(centres))
        assert sizes.min() >= k
        assert sizes.max() < 2 * k
        costs = cost_matrix(points, centres, squared=squared)
        assert total_cost(costs, labels) == pytest.approx(oracle(costs, k), rel=1e-9, abs=1e-12)
        assert np.array_equal(labels, assign(points, centres, start, k, squared))
        assert np.array_equal(labels, assign(points, centres, labels, k, squared)), (
            "an optimum was left"
        )
    assert all(np.array_equal(a, b) for a, b in zip(before, (points, centres, start), strict=True))


@pytest.mark.parametrize("seed", range(90))
def test_no_assignment_costs_less(seed: int) -> None:
    check(*some_problem(seed, 8), oracle=least_of_all)


@pytest.mark.parametrize("seed", range(60))
def test_the_total_of_successive_shortest_paths(seed: int) -> None:
    check(*some_problem(1_000 + seed, 24 if seed % 4 else 60), oracle=least_by_flow)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e90])
def test_any_scale(scale: float) -> None:
    points, centres, start, k = some_problem(1_003, 24)
    expected = assign(points, centres, start, k, False)
    costs = cost_matrix(points, centres, squared=False)
    labels = assign(points * scale, centres * scale, start, k, False)
    if scale > 1e-150:  # squares of less are zero: then nothing is nearer than anything
        assert total_cost(costs, labels) == pytest.approx(total_cost(costs, expected), rel=1e-9)
    assert np.bincount(labels).min() >= k


def test_far_clusters_are_found_when_the_near_ones_are_full() -> None:
    """Many clusters on one spot and more records there than they can take: the rest must go far,
    beyond NEAR.
    """
    near, k = 3 * assignment.NEAR, 2
    centres = np.concatenate([np.zeros((near, 1)), [[50.0], [60.0]]])
    rng = np.random.default_rng(0)
    n = 3 * near + 4
    points = rng.normal(size=(n, 1))
    start = some_labels(rng, n, near + 2, k)
    labels = assign(points, centres, start, k, False)
    costs = np.array(cost_matrix(points, centres, squared=False))
    far = np.sort(costs[:, near] - costs[:, 0])[:4].sum() + 20.0
    assert total_cost(costs.tolist(), labels) == pytest.approx(costs[:, 0].sum() + far, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("squared", [False, True])
def test_far_clusters_are_found_at_any_scale(*, squared: bool, scale: float) -> None:
    """As above, with limits of distances and of their squares below 1 and above."""
    near, k = 3 * assignment.NEAR, 2
    centres = np.concatenate([np.zeros((near, 1)), [[50.0], [60.0]]]) * scale
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3 * near + 4, 1)) * scale
    start = some_labels(rng, len(points), near + 2, k)
    labels = assign(points, centres, start, k, squared)
    costs = np.array(cost_matrix(points, centres, squared=squared))
    more = costs[:, near:] - costs[:, :1]  # what a record costs more at 50 and at 60
    far = min(
        more[list(at_50), 0].sum() + more[list(at_60), 1].sum()
        for largest in [np.argsort(points[:, 0])[-4:].tolist()]
        for at_50 in itertools.combinations(largest, 2)
        for at_60 in [set(largest) - set(at_50)]
    )
    expected = costs[:, 0].sum() + far
    assert total_cost(costs.tolist(), labels) == pytest.approx(expected, rel=1e-9)


def test_equal_costs_move_nobody() -> None:
    points = np.zeros((9, 2))
    start = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1], np.int32)
    assert assign(points, np.zeros((3, 2)), start, 2, False).tolist() == start.tolist()
