"""A short path through all records: greedy edges, then 2-opt and Or-opt on lists of near
neighbours.

1. Records at the same place are one node; they follow each other by record number. 2. Every node
lists its nearest others. All such edges, shortest first, are taken unless one would close a ring or
give a
   node a third edge. The ends of the fragments so made list the nearest ends, and so on until one
   fragment is left.
3. As long as something is gained: two edges are exchanged for two others (2-opt), or up to three
nodes in a row move
   elsewhere (Or-opt), one new edge always leading to a listed neighbour or a node becoming an end
   of the path.

Nothing is random: equal edges go by their lower record numbers, nodes are tried in the order of the
path.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import paths
from microagg.problem.pointset import PointSet
from microagg.problem.problem import Progress

NEIGHBOURS = 8
AT_ONCE = 20_000  # nodes that are tried between two reports


def hamiltonian_path(points: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """All records in the order of a short path; O(n) memory for a fixed number of neighbours."""
    n = len(points)
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    by_record = np.sort(first)
    node_of = np.searchsorted(by_record, first)[inverse.reshape(-1)]
    distinct = np.ascontiguousarray(points[by_record])
    path = _path_through(distinct, progress, n)
    rank = np.empty(len(distinct), np.int64)
    rank[path] = np.arange(len(distinct))
    return np.argsort(rank[node_of], kind="stable")


def _path_through(points: np.ndarray, progress: Progress | None, total: int) -> np.ndarray:
    n = len(points)
    if n == 1:
        return np.zeros(1, np.int64)
    neighbours = neighbour_lists(points, min(NEIGHBOURS, n - 1), progress, total)
    path = _greedy_path(points, neighbours)
    if progress is not None:
        progress(3 * total // 4, total)
    return path if n < paths.SMALLEST_TOUR else _improved(points, neighbours, path, progress, total)


def neighbour_lists(
    points: np.ndarray, m: int, progress: Progress | None = None, total: int = 0
) -> np.ndarray:
    """(n, m): for each point the m nearest others, nearest first."""
    n = len(points)
    everything = PointSet(points)
    neighbours = np.empty((n, m), np.int64)
    for i in range(n):
        near = everything.nearest(i, m + 1)
        others = near[near != i]
        neighbours[i] = others[:m]
        if progress is not None and i % (n // 100 + 1) == 0:
            progress(total * i // (2 * n), total)
    return neighbours


def _greedy_path(points: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    n = len(points)
    links = np.full((n, 2), -1, np.int64)
    other_end = np.arange(n)
    fragments = n - _join(points, np.arange(n), neighbours, links, other_end)
    width = 4
    while fragments > 1:
        ends = np.flatnonzero(links[:, 1] < 0)
        near = neighbour_lists(np.ascontiguousarray(points[ends]), min(width, len(ends) - 1))
        joined = _join(points, ends, ends[near], links, other_end)
        if joined < fragments // 8:
            width = min(2 * width, 64)
        fragments -= joined
    return paths.walk(links)


def _join(
    points: np.ndarray,
    nodes: np.ndarray,
    neighbours: np.ndarray,
    links: np.ndarray,
    other_end: np.ndarray,
) -> int:
    """Join fragments by the edges from the nodes to their neighbours, shortest first; returns how
    many were taken.
    """
    here, there = np.repeat(nodes, neighbours.shape[1]), neighbours.reshape(-1)
    a, b = np.minimum(here, there), np.maximum(here, there)
    lengths = paths.squared_distances_to(np.ascontiguousarray(points[a]), points, b)
    order = np.lexsort((b, a, lengths))
    return paths.join_fragments(a[order], b[order], links, other_end)


def _improved(
    points: np.ndarray,
    neighbours: np.ndarray,
    path: np.ndarray,
    progress: Progress | None,
    total: int,
) -> np.ndarray:
    n = len(points)
    # the ends of the path are in everybody's reach
    neighbours = np.column_stack([np.full(n, n), neighbours])
    tour = np.append(path, n)
    place = np.empty(n + 1, np.int64)
    place[tour] = np.arange(n + 1)
    moves = 1
    # a node that nothing near woke may still gain: the last round asks everybody in vain
    while moves > 0:
        queue, waiting, state = tour[tour < n], np.ones(n, np.bool_), np.array([0, n, 0])
        while paths.improve(points, neighbours, tour, place, queue, waiting, state, AT_ONCE):
            if progress is not None:
                progress(3 * total // 4, total)
        moves = state[2]
    tour = np.roll(tour, -int(place[n]))[1:]
    return tour if tour[0] < tour[-1] else tour[::-1].copy()
