"""The minimum-spanning-tree partition against Kruskal's tree of all pairs and plain splitting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.kernels.spanning import spanning_tree
from microagg.studies.reproduce import reproduce, reproducible_now

Edge = tuple[float, int, int]


def kruskal(points: np.ndarray) -> list[Edge]:
    """The edges of the minimum spanning tree as (squared length, lower record, higher record), in
    that order.
    """
    n, tree = len(points), []
    owner = list(range(n))
    pairs = [
        (float(x), i, j)
        for i in range(n - 1)
        for j, x in enumerate(plain.squared_distances(points, range(i + 1, n), points[i]), i + 1)
    ]
    for x, i, j in sorted(pairs):
        if owner[i] != owner[j]:
            tree.append((x, i, j))
            owner = [owner[i] if o == owner[j] else o for o in owner]
    return tree


def side(tree: list[Edge], start: int) -> set[int]:
    """All records that hang together with one."""
    reached = {start}
    while more := {a for _, i, j in tree for a, b in ((i, j), (j, i)) if b in reached} - reached:
        reached |= more
    return reached


def parts_of(points: np.ndarray, k: int) -> list[list[int]]:
    """The trees left when every edge, the last first, is taken out if k records stay on both of its
    sides.
    """
    tree = kruskal(points)
    for edge in sorted(tree, reverse=True):
        rest = [other for other in tree if other != edge]
        if min(len(side(rest, edge[1])), len(side(rest, edge[2]))) >= k:
            tree = rest
    parts, left = [], set(range(len(points)))
    while left:
        parts.append(sorted(side(tree, min(left))))
        left -= set(parts[-1])
    return parts


def around_diameters(points: np.ndarray, part: list[int], k: int) -> list[plain.Group]:
    groups, left = [], part
    while len(left) >= 2 * k:
        for end in plain.farthest_pair(points, left):
            groups.append(plain.nearest(points, left, points[end], k))
            left = plain.without(left, groups[-1])
    if len(left) >= k:
        return [*groups, left]
    plain.join_one_by_one(points, groups, left)
    return groups


def around_the_outermost(points: np.ndarray, part: list[int], k: int) -> list[plain.Group]:
    groups, left = [], part
    while len(left) >= k:
        outermost = plain.farthest(points, left, plain.centroid(points, left))
        groups.append(plain.nearest(points, left, points[outermost], k))
        left = plain.without(left, groups[-1])
    plain.join_one_by_one(points, groups, left)
    return groups


Split = Callable[[np.ndarray, list[int], int], list[plain.Group]]
SPLITTERS: dict[str, Split] = {
    "m-d": around_diameters,
    "m-c": around_the_outermost,
    "none": lambda points, part, k: [part],
}


def oracle(points: np.ndarray, k: int, splitter: str) -> np.ndarray:
    groups: list[plain.Group] = []
    for part in parts_of(points, k):
        groups += SPLITTERS[splitter](points, part, k) if len(part) >= 2 * k else [part]
    return plain.labels_from_groups(len(points), groups)


@pytest.mark.parametrize("seed", range(2000, 2070))
def test_the_tree_is_kruskals(seed: int) -> None:
    points, _ = plain.hard_problem(seed)
    edges, squares = spanning_tree(points)
    assert [
        (x, *edge) for x, edge in zip(squares.tolist(), edges.tolist(), strict=True)
    ] == kruskal(points)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("seed", range(2100, 2160))
def test_same_groups_as_the_oracle(seed: int, splitter: str) -> None:
    points, k = plain.hard_problem(seed)
    labels = ma.partition(points, k=k, method="mst", splitter=splitter)
    assert labels.tolist() == oracle(points, k, splitter).tolist()


@pytest.mark.slow
def test_a_tree_of_many_leaves_has_kruskals_weight() -> None:
    """Enough records for several levels of the kd-tree; rounded, so that many edges are equally
    long.
    """
    points = np.round(np.random.default_rng(4).normal(size=(1500, 3)), 1)
    edges, squares = spanning_tree(points)
    assert [
        (x, *edge) for x, edge in zip(squares.tolist(), edges.tolist(), strict=True)
    ] == kruskal(points)


def test_clusters_that_lie_apart_are_the_groups() -> None:
    """Of three clusters of 4, 5 and 3 records none is torn apart, which no method of fixed size can
    do.
    """
    centres = np.repeat([0.0, 100.0, 250.0], [4, 5, 3])
    points = np.column_stack([centres, np.tile([0.0, 1.0, 3.0], 4)])
    assert ma.partition(points, k=3, method="mst").tolist() == [0] * 4 + [1] * 5 + [2] * 3


@pytest.mark.slow
@pytest.mark.reference
def test_the_figures_of_m_d(reference_data: Path) -> None:
    cells = list(reproduce([f for f in reproducible_now() if f.name == "mst"], reference_data))
    assert len(cells) == 8
    for cell in cells:
        assert cell.obtained is not None
        assert abs(cell.obtained - cell.published.value) < 0.2, cell
