"""Orders of the records, by name: what a run, a cut or a pairwise-systematic method starts from.

Each is a function `(problem, rng, progress) -> order`, the record numbers as an int64 permutation.
Ties go to the lower record number. None of them is random.

- `column`: by one column, the first unless another is chosen.
- `pca`: by the first principal component, signed so that its largest loading is positive.
- `zscore`: by the sum of z-scores, in which constant columns count for nothing.
- `multidsort`, `meansort` (Kabir, Mahmood, Mustafa and Wang): by the sum of a record's ranks in all columns; by the sum of
  its deviations from the column means.
- `hilbert`: along a Hilbert curve through the box around the records.
- `npn`, nearest point next (Domingo-Ferrer et al. 2006): from the record farthest from the centroid, always on to the
  nearest record left.
- `md` (Domingo-Ferrer et al. 2006): the groups of maximum distance as they were formed, each from its first record outwards.
  Readings: leftovers are farther out than the group they join, so they end it; the last group,
  which has no first record of its own, is ordered from that of the group before.
- `mdav`, `cbfs` (Domingo-Ferrer et al. 2006): the groups of MDAV and of centroid-based fixed size, chained from the first
  one formed, always on to the group whose centroid is nearest; in a group the records come nearer
  and nearer to the next centroid, and in the last one they leave that of the group before. The
  paper's own path is not known: no reading that was tried gives its figures.
- `tsp`: a short Hamiltonian path (after Heaton 2012, who cuts tours), see `hamiltonian.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.kernels import paths, sums
from microagg.methods.mdav.max_distance import max_distance
from microagg.methods.mdav.mdav import mdav
from microagg.methods.mdav.single_group import cbfs
from microagg.methods.ordered.hamiltonian import hamiltonian_path
from microagg.methods.ordered.hilbert import hilbert_places
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Problem, Progress
from microagg.table.encoder import Space

Order = Callable[..., np.ndarray]


def by_column(
    problem: Problem,
    rng: np.ndarray | None = None,
    progress: Progress | None = None,
    *,
    column: int = 0,
) -> np.ndarray:
    """By the values of one column."""
    d = problem.points.shape[1]
    if not 0 <= column < d:
        raise InputError(f"column is {column}, but the {d} columns are numbered from 0 to {d - 1}.")
    return _sorted_by(problem.points[:, column], progress)


def by_component(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """By the first principal component."""
    return _sorted_by(paths.first_component(problem.points), progress)


def by_zscores(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """By the sum of z-scores."""
    points = problem.points
    varying = np.flatnonzero(points.min(axis=0) < points.max(axis=0))
    scores = Space.fit(points, "zscore").points(points)
    return _sorted_by(_row_sums(scores[:, varying]), progress)


def multidsort(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """By the sum of a record's ranks in all columns, equal values ranked by record number."""
    n, d = problem.points.shape
    total, rank = np.zeros(n, np.int64), np.empty(n, np.int64)
    for j in range(d):
        rank[np.argsort(problem.points[:, j], kind="stable")] = np.arange(n)
        total += rank
    return _sorted_by(total, progress)


def meansort(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """By the sum of a record's deviations from the column means."""
    means = sums.mean_of(problem.points, np.arange(len(problem.points)))
    return _sorted_by(_row_sums(problem.points - means), progress)


def hilbert(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Along a Hilbert curve."""
    return _sorted_by(hilbert_places(problem.points), progress)


def _sorted_by(keys: np.ndarray, progress: Progress | None) -> np.ndarray:
    n = len(keys)
    if progress is not None:
        progress(n // 4, n)
    order = np.argsort(keys, kind="stable")
    if progress is not None:
        progress(3 * n // 4, n)
    return order


def _row_sums(matrix: np.ndarray) -> np.ndarray:
    """The sum of each row, its columns added in ascending order."""
    total = np.zeros(len(matrix))
    for j in range(matrix.shape[1]):
        total += matrix[:, j]
    return total


def nearest_point_next(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """From the outermost record always on to the nearest one left."""
    return _nearest_next(PointSet(problem.points, progress))


def _nearest_next(points: PointSet, start: int | None = None) -> np.ndarray:
    order = np.empty(len(points), np.int64)
    order[0] = points.farthest_from(points.centroid()) if start is None else start
    points.take(order[:1])
    for i in range(1, len(order)):
        order[i] = points.take_nearest(int(order[i - 1]), 1)[0]
    return order


class _Formed(Groups):
    """Groups that remember who came first in each, numbered as they were formed."""

    def __init__(self, points: np.ndarray) -> None:
        super().__init__(points)
        self.seeds: list[int] = []

    def add(self, records: np.ndarray | list[int]) -> None:
        super().add(records)
        self.seeds.append(int(records[0]))

    @property
    def numbers(self) -> np.ndarray:
        """The group of each record."""
        return self._labels


def _form(
    heuristic: Callable[[PointSet, Groups, int], None], problem: Problem, progress: Progress | None
) -> _Formed:
    groups = _Formed(problem.points)
    heuristic(PointSet(problem.points, progress), groups, problem.k)
    return groups


def max_distance_order(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """The groups of maximum distance one after another, each from its first record outwards."""
    groups = _form(max_distance, problem, progress)
    seeds = np.array(groups.seeds)
    if len(seeds) % 2 == 1 and len(seeds) > 1:  # two a turn: the odd one is what was left
        seeds[-1] = seeds[-2]
    distances = paths.squared_distances_to(problem.points, problem.points, seeds[groups.numbers])
    return np.lexsort((distances, groups.numbers))


def mdav_order(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """The groups of MDAV, chained."""
    return chain_groups(problem.points, _form(mdav, problem, progress).numbers)


def cbfs_order(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """The groups of centroid-based fixed size, chained."""
    return chain_groups(problem.points, _form(cbfs, problem, progress).numbers)


def chain_groups(points: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """A path through groups: from group 0 always on to the nearest centroid, and in each towards
    the next.
    """
    count = int(numbers.max()) + 1
    if count == 1:
        return np.arange(len(points))
    means = sums.group_means(points, numbers, count)
    chain = _nearest_next(PointSet(means), start=0)
    towards = np.empty(count, np.int64)
    towards[chain[:-1]] = chain[1:]
    towards[chain[-1]] = chain[-2]
    rank = np.empty(count, np.int64)
    rank[chain] = np.arange(count)
    distances = paths.squared_distances_to(points, means, towards[numbers])
    leaving = numbers == chain[-1]
    return np.lexsort((np.where(leaving, distances, -distances), rank[numbers]))


def tsp(
    problem: Problem, rng: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Along a short Hamiltonian path."""
    return hamiltonian_path(problem.points, progress)


ORDERS: dict[str, Order] = {
    "column": by_column,
    "pca": by_component,
    "zscore": by_zscores,
    "npn": nearest_point_next,
    "md": max_distance_order,
    "mdav": mdav_order,
    "cbfs": cbfs_order,
    "tsp": tsp,
    "multidsort": multidsort,
    "meansort": meansort,
    "hilbert": hilbert,
}


def order_named(
    name: str, problem: Problem, rng: Any, progress: Progress | None, column: int
) -> np.ndarray:
    """The order of that name; the column counts only for `column`."""
    if name == "column":
        return by_column(problem, rng, progress, column=column)
    return ORDERS[name](problem, rng, progress)
