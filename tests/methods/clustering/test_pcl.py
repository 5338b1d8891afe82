"""Probability-constrained Lloyd against a transcription with another solver, and the costs of its
cells.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import microagg as ma
import plain

# kinds of points among which the best assignment is unique: see plain.KINDS
WITHOUT_TIES = (1, 2, 8, 12)


def costs_to(points: np.ndarray, labels: list[int]) -> np.ndarray:
    """(n, cells): squared distances of the records from the centroids of the cells."""
    cells = range(max(labels) + 1)
    centres = [
        plain.centroid(points, [i for i, label in enumerate(labels) if label == q]) for q in cells
    ]
    return np.array([[plain.squared_distance(x, centre) for centre in centres] for x in points])


def best_assignment(costs: np.ndarray, k: int) -> list[int]:
    """The Hungarian method with 2k - 1 places for each cell; filling the first k of them brings a
    reward.
    """
    n, cells = costs.shape
    reward = 4.0 * n * costs.max() + 1e-300
    places = np.repeat(costs, 2 * k - 1, axis=1)
    for q in range(cells):
        places[:, q * (2 * k - 1) : q * (2 * k - 1) + k] -= reward
    m = places.shape[1]
    # row and column 0 stand for nothing
    u, v, taken = [0.0] * (n + 1), [0.0] * (m + 1), [0] * (m + 1)
    for row in range(1, n + 1):
        taken[0], current, way = row, 0, [0] * (m + 1)
        least, seen = [math.inf] * (m + 1), [False] * (m + 1)
        while taken[current] != 0:
            seen[current], here, delta, following = True, taken[current], math.inf, 0
            for column in range(1, m + 1):
                if not seen[column]:
                    slack = places[here - 1, column - 1] - u[here] - v[column]
                    if slack < least[column]:
                        least[column], way[column] = slack, current
                    if least[column] < delta:
                        delta, following = least[column], column
            for column in range(m + 1):
                if seen[column]:
                    u[taken[column]] += delta
                    v[column] -= delta
                else:
                    least[column] -= delta
            current = following
        while current:
            taken[current] = taken[way[current]]
            current = way[current]
    cell_of = {
        taken[column] - 1: (column - 1) // (2 * k - 1)
        for column in range(1, m + 1)
        if taken[column]
    }
    return [cell_of[i] for i in range(n)]


def most_saved_on_the_way(costs: np.ndarray, labels: list[int], k: int) -> np.ndarray:
    """Floyd and Warshall on the cells and one more node, for room: lengths of moves from cell to
    cell.
    """
    cells = costs.shape[1]
    length = np.full((cells + 1, cells + 1), math.inf)
    for i, label in enumerate(labels):
        length[label, :cells] = np.minimum(length[label, :cells], costs[i] - costs[i, label])
    for q in range(cells):
        length[cells, q] = 0.0 if labels.count(q) > k else math.inf
        length[q, cells] = 0.0 if labels.count(q) < 2 * k - 1 else math.inf
    length[cells, cells] = 0.0
    for through in range(cells + 1):
        length = np.minimum(length, length[:, [through]] + length[[through], :])
    return length


def oracle(points: np.ndarray, k: int) -> np.ndarray:
    labels = plain.labels_from_groups(len(points), plain.mdav_groups(points, k)).tolist()
    for _ in range(100):
        better = best_assignment(costs_to(points, labels), k)
        if better == labels:
            break
        labels = better
    groups = [[i for i, label in enumerate(labels) if label == q] for q in range(max(labels) + 1)]
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(60))
def test_same_groups_as_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(2600 + seed)
    points = plain.hard_points(rng, WITHOUT_TIES[seed % 4])[:36]
    k = int(rng.integers(2, min(8, len(points)) + 1))
    assert ma.partition(points, k=k, method="pcl").tolist() == oracle(points, k).tolist()


@pytest.mark.parametrize("seed", range(14))
def test_costs_of_the_cells_bring_the_sizes_about(seed: int) -> None:
    """At the end there are costs at which every record is in a cell that is cheapest for it, ties
    included.
    """
    points, k = plain.hard_problem(2700 + seed)
    points = np.ascontiguousarray(points[:80])
    k = min(k, len(points))
    labels = ma.partition(points, k=k, method="pcl", turns=10_000).tolist()
    costs = costs_to(points, labels)
    length = most_saved_on_the_way(costs, labels, k)
    small = 1e-9 * costs.max()
    assert length.diagonal().min() >= -small, "moves in a circle would lower the total"
    prices = -length.min(axis=0)[:-1]
    for i, label in enumerate(labels):
        assert costs[i, label] + prices[label] <= (costs[i] + prices).min() + small


def test_it_never_loses_more_than_mdav() -> None:
    for seed in range(20):
        points, k = plain.hard_problem(2800 + seed)
        before = plain.sse(points, ma.partition(points, k=k, method="mdav"))
        after = plain.sse(points, ma.partition(points, k=k, method="pcl"))
        assert after <= before * (1 + 1e-12)
