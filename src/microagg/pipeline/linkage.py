"""Released records looked up among all original ones, chunk by chunk: how many originals lie
nearest and second nearest, and how far.

What `measures/risk/linkage.py` and `closest.py` find with all originals in one tree, for some
released records and a table that is never in memory as a whole. How far to look is known from a
sample of the originals; in each chunk the few lowest distances within are found, and put together.
Where these do not decide (many originals are equally far), the levels are counted in another pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.kernels import tree_build
from microagg.kernels.tree import Tree, handle_of
from microagg.kernels.tree_levels import NOBODY, between, nearest_levels, round_up
from microagg.measures.risk.classes import classes_of, columns_to_compare
from microagg.measures.risk.linkage import distinct_points
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable

LEVELS = 6
"""Different distances that are kept of each released record."""


@dataclass(frozen=True)
class LinkageResult:
    """Result of the linkage, by released record."""

    nearest: np.ndarray
    """Its part in the tie for the nearest original; 0 if its own is not among them."""
    second: np.ndarray
    """The same for the second nearest."""
    lowest: np.ndarray
    """The squared distance to the nearest original."""
    next: np.ndarray
    """The squared distance to the second nearest, no less than it; inf where there is none."""


def link_records(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    space: Space,
    mixed: bool,
    queries: np.ndarray,
    originals: np.ndarray,
    known: Cells,
    slack: float,
) -> LinkageResult:
    """Look up released points among all originals. `originals` are those of the same records,
    `known` a sample of the originals.

    Rounding moves a point by up to `slack`; in a `mixed` table equal cells, not equal points, are
    one.
    """
    tree, counts = _tree_of(known, space, mixed)
    reach = _reach(tree, counts, queries, slack)
    levels = _Levels(len(queries))
    for chunk_levels in passes.map_chunks(
        "looking up", levels_chunk, variables, space, mixed, queries, reach
    ):
        levels.take_in(*chunk_levels)
    d = queries.shape[1]
    lower = round_up(levels.distances[:, 0], slack, d)
    upper = round_up(levels.above(lower), slack, d)
    at_lower, at_upper = (
        levels.upto(np.full(len(queries), NOBODY), lower),
        levels.upto(lower, upper),
    )
    distance = np.zeros(len(queries))
    for j in range(d):  # in the order in which the tree adds
        distance += (originals[:, j] - queries[:, j]) ** 2
    left_out = np.where(distance <= lower, levels.complete <= lower, levels.complete <= upper)
    open_ones = np.flatnonzero(left_out & np.isfinite(levels.complete) & (distance <= upper))
    if len(open_ones):
        again = _Again(passes, variables, space, mixed, queries[open_ones])
        none = np.full(len(open_ones), NOBODY)
        _, at_lower[open_ones] = again.between(none, lower[open_ones])
        following, _ = again.between(lower[open_ones], reach[open_ones])
        upper[open_ones] = round_up(following, slack, d)
        _, at_upper[open_ones] = again.between(
            lower[open_ones], np.minimum(upper, reach)[open_ones]
        )
    nearest = np.where(distance <= lower, 1.0 / np.maximum(at_lower, 1), 0.0)
    second = np.where((distance > lower) & (distance <= upper), 1.0 / np.maximum(at_upper, 1), 0.0)
    lowest = levels.distances[:, 0]
    return LinkageResult(
        nearest, second, lowest, np.where(levels.numbers[:, 0] > 1, lowest, levels.distances[:, 1])
    )


def levels_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    mixed: bool,
    queries: np.ndarray,
    reach: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A task: (n, levels) the lowest squared distances to the originals of a chunk, within reach,
    and how many lie at each.
    """
    tree, counts = _tree_of(_cells(source, first, count, variables), space, mixed)
    distances, numbers = (
        np.empty((len(queries), LEVELS)),
        np.empty((len(queries), LEVELS), np.int64),
    )
    floors = np.full(len(queries), NOBODY)
    nearest_levels(queries, floors, reach, counts, handle_of(tree), distances, numbers)
    return distances, numbers


def between_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    mixed: bool,
    queries: np.ndarray,
    floors: np.ndarray,
    reach: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A task: (n,) the lowest squared distance above a floor and within reach, and how many
    originals of a chunk lie in between.
    """
    tree, counts = _tree_of(_cells(source, first, count, variables), space, mixed)
    lowest, numbers = np.empty(len(queries)), np.empty(len(queries), np.int64)
    between(queries, floors, reach, counts, handle_of(tree), lowest, numbers)
    return lowest, numbers


def _cells(source: Any, first: int, count: int, variables: tuple[Variable, ...]) -> Cells:
    return cells_in(
        source.read(first, count, [variable.name for variable in variables]), variables, first
    )


def _tree_of(cells: Cells, space: Space, mixed: bool) -> tuple[Tree, np.ndarray]:
    """A tree of the different points, and how often each occurs."""
    equal = classes_of(columns_to_compare(cells)) if mixed else None
    points, _, counts = distinct_points(space.points(cells), equal)
    return tree_build.build(points), counts


def _reach(tree: Tree, counts: np.ndarray, queries: np.ndarray, slack: float) -> np.ndarray:
    """(n,): squared distances within which the nearest and the second nearest originals lie, from
    some of the originals.
    """
    n, d = queries.shape
    distances, numbers = np.empty((n, 1)), np.empty((n, 1), np.int64)
    floors, infinite = np.full(n, NOBODY), np.full(n, np.inf)
    for _ in range(2):
        nearest_levels(queries, floors, infinite, counts, handle_of(tree), distances, numbers)
        floors = round_up(np.ascontiguousarray(distances[:, 0]), slack, d)
    return floors


class _Levels:
    """The lowest distances of each query, put together from chunks."""

    def __init__(self, queries: int) -> None:
        self.distances = np.full((queries, LEVELS), np.inf)
        self.numbers = np.zeros((queries, LEVELS), np.int64)

    def take_in(self, distances: np.ndarray, numbers: np.ndarray) -> None:
        """Another chunk; the same distance is one level."""
        both, often = np.hstack([self.distances, distances]), np.hstack([self.numbers, numbers])
        order = np.argsort(both, axis=1, kind="stable")
        both, often = np.take_along_axis(both, order, 1), np.take_along_axis(often, order, 1)
        for level in range(1, both.shape[1]):  # of two equal ones the first becomes nothing
            same = (both[:, level] == both[:, level - 1]) & np.isfinite(both[:, level])
            often[same, level] += often[same, level - 1]
            both[same, level - 1], often[same, level - 1] = np.inf, 0
        order = np.argsort(both, axis=1, kind="stable")[:, :LEVELS]
        self.distances = np.take_along_axis(both, order, 1)
        self.numbers = np.take_along_axis(often, order, 1)

    @property
    def complete(self) -> np.ndarray:
        """(n,): below these distances nothing is left out."""
        return self.distances[:, -1]

    def above(self, floors: np.ndarray) -> np.ndarray:
        """(n,): the lowest distance above a floor."""
        return np.where(self.distances > floors[:, None], self.distances, np.inf).min(axis=1)

    def upto(self, floors: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """(n,): how many originals lie above a floor and within reach."""
        inside = (self.distances > floors[:, None]) & (self.distances <= reach[:, None])
        return np.where(inside, self.numbers, 0).sum(axis=1)


@dataclass(frozen=True)
class _Again:
    """Another pass for queries of which the lowest distances do not decide."""

    passes: ChunkMap
    variables: tuple[Variable, ...]
    space: Space
    mixed: bool
    queries: np.ndarray

    def between(self, floors: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the lowest distance in between, and how many originals lie there."""
        lowest, numbers = np.full(len(self.queries), np.inf), np.zeros(len(self.queries), np.int64)
        arguments = self.variables, self.space, self.mixed, self.queries, floors, reach
        for least, more in self.passes.map_chunks("looking up", between_chunk, *arguments):
            lowest, numbers = np.minimum(lowest, least), numbers + more
        return lowest, numbers
