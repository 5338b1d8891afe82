"""µ-Approx against a transcription that keeps trees as sets of edges and counts every subtree
anew.
"""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain

ORDERS = ("outermost", "record", "shortest")
Ways = dict[int, set[int]]
"""Which vertices each vertex of a tree is joined to; vertex n + i is a copy of record i."""


def nearest_elsewhere(points: np.ndarray, tree: set[int], u: int) -> tuple[float, int, int]:
    others = plain.without(range(len(points)), tree)
    (v,) = plain.nearest(points, others, points[u], 1)
    return plain.squared_distance(points[u], points[v]), u, v


def forest(points: np.ndarray, k: int, order: str) -> list[tuple[int, Ways]]:
    """Trees as (the vertex without an outgoing edge, what is joined to what)."""
    n = len(points)
    # by any record in it
    trees: dict[int, tuple[int, Ways]] = {i: (i, {i: set()}) for i in range(n)}

    def add_edge(u: int, v: int) -> None:
        joined = trees[u][1] | trees[v][1]
        joined[u].add(v)
        joined[v].add(u)
        sink = trees[v][0]
        for record in joined:
            trees[record] = (sink, joined)

    def small() -> list[int]:
        return [i for i in range(n) if len(trees[i][1]) < k]

    if order == "shortest":
        while sinks := sorted({trees[i][0] for i in small()}):
            _, u, v = min(nearest_elsewhere(points, set(trees[u][1]), u) for u in sinks)
            add_edge(u, v)
    else:
        centre = plain.centroid(points, range(n))
        outwards = [plain.squared_distance(points[i], centre) for i in range(n)]
        for i in (
            range(n) if order == "record" else sorted(range(n), key=lambda i: (-outwards[i], i))
        ):
            while len(trees[i][1]) < k:
                sink = trees[i][0]
                add_edge(sink, nearest_elsewhere(points, set(trees[i][1]), sink)[2])
    return list({sink: (sink, ways) for sink, ways in trees.values()}.values())


def subtree(ways: Ways, root: int, child: int) -> set[int]:
    reached, waiting = {root, child}, [child]
    while waiting:
        for vertex in ways[waiting.pop()] - reached:
            reached.add(vertex)
            waiting.append(vertex)
    return reached - {root}


def part_of(ways: Ways, kept: set[int]) -> Ways:
    return {vertex: ways[vertex] & kept for vertex in kept}


def decompose(root: int, ways: Ways, k: int, n: int) -> list[list[int]]:
    """The records of the parts of a tree."""

    def records(vertices: set[int]) -> list[int]:
        return sorted(vertex for vertex in vertices if vertex < n)

    everything = set(ways)
    s = len(records(everything))
    if s <= max(2 * k - 1, 3 * k - 5):
        return [records(everything)]
    branches = [(subtree(ways, root, child), child) for child in ways[root]]
    branches.sort(key=lambda branch: (-len(records(branch[0])), branch[1] % n))
    largest, child = branches[0]
    f = len(records(largest))
    if s - f < k - 1 or (s - f == k - 1 and child >= n):
        return decompose(child, ways, k, n)
    if f >= k and s - f >= k:
        return decompose(root, part_of(ways, everything - largest), k, n) + decompose(
            child, part_of(ways, largest), k, n
        )
    if s - f == k - 1:
        shared, group = child, everything - largest | {child}
    else:
        shared, group = root, set()
        while len(records(group)) < (k - 1 if root < n else k):
            group |= branches.pop(0)[0]
        if len(records(group)) < k:
            group |= {root}
    if s - len(records(group)) < k:
        return [records(everything)]
    if shared not in group:  # the rest keeps the vertex, and the group needs no copy any more
        return [records(group), *decompose(shared, part_of(ways, everything - group), k, n)]
    copy, rest = n + shared, everything - group
    kept = part_of(ways, rest)
    kept[copy] = ways[shared] & rest
    for vertex in kept[copy]:
        kept[vertex] = kept[vertex] | {copy}
    return [records(group), *decompose(copy, kept, k, n)]


def oracle(points: np.ndarray, k: int, order: str) -> np.ndarray:
    n = len(points)
    groups: list[plain.Group] = []
    for sink, ways in forest(points, k, order):
        for part in decompose(sink, ways, k, n):
            left = part
            while len(left) >= 2 * k:
                outermost = plain.farthest(points, left, plain.centroid(points, left))
                groups.append(plain.nearest(points, left, points[outermost], k))
                left = plain.without(left, groups[-1])
            groups.append(left)
    return plain.labels_from_groups(n, groups)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(2300, 2360))
def test_same_groups_as_the_oracle(seed: int, order: str) -> None:
    points, k = plain.hard_problem(seed)
    labels = ma.partition(points, k=k, method="mu-approx", order=order)
    assert labels.tolist() == oracle(points, k, order).tolist()


def test_a_star_is_taken_apart_around_its_middle() -> None:
    """All go to record 9 in their middle. {0, 1} are short of k = 3 and get it; a copy keeps the
    others together.
    """
    points = np.vstack([np.eye(9), np.zeros((1, 9))])
    labels = ma.partition(points, k=3, method="mu-approx", order="record")
    assert labels.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 0]


def test_the_order_that_the_paper_leaves_open_matters() -> None:
    points = np.random.default_rng(8).normal(size=(300, 3))
    losses = {
        round(ma.information_loss(points, ma.partition(points, 4, "mu-approx", order=o)), 6)
        for o in ORDERS
    }
    assert len(losses) == 3
