"""imhm and rimhm against a slow transcription of Mortazavi, Jalili and Gohargazi 2013, and against
their figures.
"""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.datasets.reference import load_reference
from microagg.methods.imhm.imhm import IMHM, RIMHM
from microagg.methods.method import Method
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.table.encoder import Space


def run(
    method: Method, points: np.ndarray, k: int, seed: int = 0, progress=None, **params: Any
) -> np.ndarray:
    return run_method(
        method, Problem.of(points, k), method.checked(params), seed=seed, progress=progress
    ).labels


# The slow transcription.


def mdav(points: np.ndarray, k: int) -> list[plain.Group]:
    """MDAV whose fewer than k leftovers join one by one, with centroids that move."""
    return plain.mdav_groups(points, k, "nearest-updated")


def centroids(points: np.ndarray, groups: list[plain.Group]) -> np.ndarray:
    return np.array([plain.centroid(points, group) for group in groups])


def distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    everyone = range(len(points))
    return np.sqrt(np.column_stack([plain.squared_distances(points, everyone, q) for q in centres]))


def assigned(costs: np.ndarray, groups: list[plain.Group], k: int) -> list[plain.Group]:
    """Least total cost with k to 2k - 1 records a cluster: negative cycles, the whole graph at a
    time.
    """
    groups = [sorted(group) for group in groups]
    slack = len(groups)
    while True:
        weights, movers = np.full((slack + 1, slack + 1), np.inf), {}
        for a, group in enumerate(groups):
            for b in range(slack):
                if a != b:
                    movers[a, b] = min(group, key=lambda x: costs[x, b] - costs[x, a])
                    weights[a, b] = costs[movers[a, b], b] - costs[movers[a, b], a]
            weights[slack, a] = 0.0 if len(group) > k else np.inf
            weights[a, slack] = 0.0 if len(group) < 2 * k - 1 else np.inf
        cycle = negative_cycle(weights)
        if not cycle:
            return groups
        for a, b in cycle:
            if slack not in (a, b):
                groups[a].remove(movers[a, b])
                groups[b].append(movers[a, b])


def negative_cycle(weights: np.ndarray) -> list[tuple[int, int]]:
    """The arcs of a negative cycle, if there is one (Bellman and Ford)."""
    length, parents, node = np.zeros(len(weights)), np.zeros(len(weights), int), -1
    for _ in range(len(weights) + 1):
        through = length[:, None] + weights
        better = through.min(axis=0) < length - 1e-12
        if not better.any():
            return []
        parents[better] = through.argmin(axis=0)[better]
        length[better] = through.min(axis=0)[better]
        node = int(np.argmax(better))
    for _ in range(len(weights)):
        node = int(parents[node])
    cycle, b = [], node
    while not cycle or b != node:
        cycle.append((int(parents[b]), b))
        b = int(parents[b])
    return cycle


def path(points: np.ndarray, groups: list[plain.Group]) -> list[int]:
    far = distances(points, centroids(points, groups))
    outermost = plain.farthest(
        points, range(len(points)), plain.centroid(points, range(len(points)))
    )
    current = next(g for g, group in enumerate(groups) if outermost in group)
    unvisited = [g for g in range(len(groups)) if g != current]
    order: list[int] = []
    while True:
        following = min(unvisited, key=lambda g: min(far[x, g] for x in groups[current]))
        order += sorted(sorted(groups[current]), key=lambda x: -far[x, following])
        unvisited.remove(following)
        if not unvisited:
            return order + sorted(sorted(groups[following]), key=lambda x: far[x, current])
        current = following


def error(points: np.ndarray, groups: list[plain.Group]) -> float:
    return plain.sse(points, plain.labels_from_groups(len(points), groups))


def cut(points: np.ndarray, order: list[int], k: int) -> list[plain.Group]:
    """The best runs of k to 2k - 1 records along an order."""
    best: list[tuple[float, list[plain.Group]]] = [(0.0, [])]
    for end in range(1, len(order) + 1):
        options = [(math.inf, [])]
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            group = order[start:end]
            cost = plain.squared_distances(points, group, plain.centroid(points, group)).sum()
            options.append((best[start][0] + float(cost), [*best[start][1], group]))
        best.append(min(options, key=lambda option: option[0]))
    return best[-1][1]


def improved(points: np.ndarray, groups: list[plain.Group], k: int, *, squared: bool) -> float:
    """The SSE of the best groups found in one block."""
    total = error(points, [list(range(len(points)))])
    least, loss = error(points, groups), math.inf
    for _ in range(100):
        costs = distances(points, centroids(points, groups))
        groups = assigned(costs**2 if squared else costs, groups, k)
        new = 100 * error(points, groups) / total
        if not new < loss - 1e-7:
            for _ in range(100):
                if len(groups) == 1:
                    break
                groups = cut(points, path(points, groups), k)
                before, new = new, 100 * error(points, groups) / total
                if before - new < 1e-7:
                    break
            if not new < loss - 1e-7:
                break
        loss = new
        least = min(least, error(points, groups))
    return least


def blocks(points: np.ndarray, groups: list[plain.Group], npb: int) -> list[list[plain.Group]]:
    """Consecutive groups, sorted by distance from the outermost centroid."""
    centres = centroids(points, groups)
    everyone = range(len(groups))
    outermost = centres[plain.farthest(centres, everyone, plain.centroid(centres, everyone))]
    along = plain.nearest(centres, everyone, outermost, len(groups))
    edges = [len(groups) * b // npb for b in range(npb + 1)]
    return [[groups[g] for g in along[a:b]] for a, b in itertools.pairwise(edges)]


def oracle(
    points: np.ndarray, groups: list[plain.Group], k: int, npb: int, *, squared: bool
) -> float:
    total = 0.0
    for block in blocks(points, groups, npb):
        records = sorted(x for group in block for x in group)
        inside = [[records.index(x) for x in group] for group in block]
        total += improved(points[records], inside, k, squared=squared)
    return total


def some_points(seed: int) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(12, 48)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    return rng.normal(size=(n, d)) if seed % 2 else rng.lognormal(0.0, 1.0, (n, d)), k


@pytest.mark.parametrize("seed", range(20))
def test_same_loss_as_the_paper(seed: int) -> None:
    points, k = some_points(seed)
    start, npb, squared = mdav(points, k), 1 + seed % 3 // 2, seed % 5 == 0
    labels = run(IMHM, points, k, npb=npb, cost="squared" if squared else "distance")
    assert plain.sse(points, labels) == pytest.approx(
        oracle(points, start, k, npb, squared=squared), rel=1e-9
    )
    assert plain.sse(points, labels) <= error(points, start) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_same_loss_from_runs_along_the_sum_of_z_scores(seed: int) -> None:
    points, k = some_points(100 + seed)
    order = np.argsort(((points - points.mean(0)) / points.std(0)).sum(1), kind="stable").tolist()
    last = len(order) // k - 1
    start = [order[g * k : (g + 1) * k if g < last else None] for g in range(last + 1)]
    labels = run(IMHM, points, k, start="zscore")
    assert plain.sse(points, labels) == pytest.approx(
        oracle(points, start, k, 1, squared=False), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_without_randomness_rimhm_starts_from_the_cut_along_the_sum_of_z_scores(seed: int) -> None:
    points, k = some_points(200 + seed)
    order = np.argsort(((points - points.mean(0)) / points.std(0)).sum(1), kind="stable").tolist()
    labels = run(RIMHM, points, k, p=0.0)
    expected = oracle(points, cut(points, order, k), k, 1, squared=False)
    assert plain.sse(points, labels) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", [14, 19, 77, 170, 206, 312, 468])
def test_where_the_first_groups_are_the_best_they_come_back(seed: int) -> None:
    """On these points every turn ends with a higher loss than the start has."""
    rng = np.random.default_rng(seed)
    n, k, d = int(rng.integers(8, 30)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    points = np.round(rng.lognormal(0, 1, (n, d)), 2)
    start = mdav(points, k)
    loss = plain.sse(points, run(IMHM, points, k))
    assert loss == pytest.approx(oracle(points, start, k, 1, squared=False), rel=1e-9)
    assert loss == pytest.approx(error(points, start), rel=1e-12)


@pytest.mark.parametrize("seed", range(28))
@pytest.mark.parametrize("method", [IMHM, RIMHM], ids=lambda method: method.name)
def test_hard_points_with_blocks(method: Method, seed: int) -> None:
    points, k = plain.hard_problem(seed)
    for npb in (1, 3, 1000):
        sizes = np.bincount(run(method, points, k, npb=npb))
        assert sizes.min() >= k
        assert sizes.max() < 2 * k


def test_a_block_that_nothing_tells_apart_stays_as_it_is() -> None:
    assert (
        run(IMHM, np.zeros((11, 2)), 3).tolist()
        == plain.labels_from_groups(11, mdav(np.zeros((11, 2)), 3)).tolist()
    )


def test_rimhm_follows_its_seed() -> None:
    points = np.random.default_rng(0).normal(size=(300, 3))
    one, same, other = (run(RIMHM, points, 4, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(
        run(RIMHM, points, 4, seed=1, p=0.0), run(RIMHM, points, 4, seed=2, p=0.0)
    )


@pytest.mark.parametrize("method", [IMHM, RIMHM], ids=lambda method: method.name)
def test_progress_rises_and_can_cancel(method: Method) -> None:
    points = np.random.default_rng(0).normal(size=(400, 3))
    calls: list[int] = []
    run(method, points, 3, npb=3, progress=lambda done, total: calls.append(done))
    assert calls == sorted(calls)
    assert len(calls) > 5

    def cancel(done: int, total: int) -> None:
        raise ma.Cancelled("stopped")

    with pytest.raises(ma.Cancelled):
        run(method, points, 3, progress=cancel)


# The published figures: Mortazavi, Jalili and Gohargazi 2013, table 3.

SIZES = (3, 4, 5, 6, 10, 25, 50, 100)
PUBLISHED = {
    "Tarragona": (16.9305, 19.515, 22.1861, 25.5058, 30.7841, 43.4523, 56.4309, 68.1937),
    "Census": (5.3668, 6.8577, 8.4165, 9.3118, 12.2284, 18.6134, 25.0804, 32.6775),
}
CELLS = [
    (name, k, loss)
    for name, losses in PUBLISHED.items()
    for k, loss in zip(SIZES, losses, strict=True)
]


def reference_points(name: str, folder: Path) -> np.ndarray:
    values = load_reference(name, folder=folder)
    return Space.fit(values).points(values)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(("name", "k", "published"), CELLS)
def test_published_figures(reference_data: Path, name: str, k: int, published: float) -> None:
    points = reference_points(name, reference_data)
    loss = ma.information_loss(points, run(IMHM, points, k))
    assert loss <= published + 0.001
    # where it comes out lower than printed
    if (name, k) not in {("Tarragona", 50), ("Census", 100)}:
        assert loss == pytest.approx(published, abs=0.0001)
    first = ma.partition(points, k=k, method="mdav", leftovers="nearest-updated")
    assert loss <= ma.information_loss(points, first)


BLOCKS = {3: 0.37499, 4: 0.52236, 5: 0.75761, 6: 0.94998, 10: 2.1788, 25: 7.3893, 50: 12.9248}


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(
    ("k", "npb", "published"), [*((k, 4, x) for k, x in BLOCKS.items()), (100, 1, 19.7969)]
)
def test_published_figures_with_blocks(
    reference_data: Path, k: int, npb: int, published: float
) -> None:
    points = reference_points("EIA", reference_data)
    loss = ma.information_loss(points, run(IMHM, points, k, npb=npb))
    assert loss == pytest.approx(published, abs=0.005)
    first = ma.partition(points, k=k, method="mdav", leftovers="nearest-updated")
    assert loss <= ma.information_loss(points, first)
