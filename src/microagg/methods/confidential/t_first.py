"""t-first: groups that take one record from each stratum of a confidential column, so that
t-closeness comes by itself.

Source: Soria-Comas, Domingo-Ferrer, Sánchez and Martínez 2015, algorithm 3 (t-closeness-first
microaggregation).

1. Groups have k' = max(k, ⌈n / (2 (n - 1) t + 1)⌉) records: if they hold one of each of k' equal
strata of a column whose values
   all differ, their earth mover's distance from the table is at most (n - k') / (2 (n - 1) k'),
   which is t or less. Where n mod k' is no less than the number of groups g = ⌊n / k'⌋, k' grows by
   ⌊(n mod k') / g⌋, so that at most one record is left over for each group.
2. The records in ascending order of the confidential column are cut into k' strata of g records.
The n - g k' left over make
   the middle stratum larger, or, where k' is even, the two middle ones, the lower one by no less
   than the upper.
3. While records remain: the one farthest from their mean, r, becomes the centre of a group, and
after that the one of those
   left that is farthest from r. A group takes of every stratum, in ascending order, the record
   nearest to its centre, and one more of the lowest stratum that has more records than groups are
   left to be formed.

Ties go to the lower record number. t is that of the guarantee asked for; without one, k' = k.
Departures: the paper has one numeric column. Of several columns, the strata are those of an ordered
or numeric one, the one with the most distinct values, the first of several; where all are nominal,
of the one with the most categories, in descending order of their frequency (the first to appear
first). Atoms (missing values, special codes) come behind all values, so that they have strata of
their own and every group gets its share of them. Neither nominal values, nor equal ones, nor the
other columns are covered by the bound of step 1: whatever misses the guarantee is merged
afterwards, as with any method. The paper itself was not at hand: k' is as others who built the
method have it, where the remainder goes (steps 2 and 3) is our reading.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from microagg.methods.method import Method, Partition
from microagg.problem.pointset import Groups, PointSet
from microagg.problem.problem import Problem, Progress
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


def t_first(problem: Problem, *, rng: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """Groups of one record from each stratum of a confidential column, around the records that lie
    outermost.
    """
    n = len(problem.points)
    size = size_for(n, problem.k, _t_of(problem))
    order = np.argsort(_ranks(leading(problem.confidential)), kind="stable")
    strata = [_Stratum(problem.points, np.sort(records)) for records in _cut(order, size)]
    points, groups, left = PointSet(problem.points, progress), Groups(problem.points), n // size
    centre, again = 0, True
    while len(points) > 0:
        centre = points.farthest_from(points.centroid() if again else centre)
        again, left = not again, left - 1
        members = [stratum.take_nearest(points.point(centre)) for stratum in strata]
        surplus = next((stratum for stratum in strata if len(stratum) > left), None)
        if surplus is not None:
            members.append(surplus.take_nearest(points.point(centre)))
        points.take(members)
        groups.add(members)
    return groups.labels()


class _Stratum:
    """The records of a stratum that are in no group yet."""

    def __init__(self, points: np.ndarray, records: np.ndarray) -> None:
        self._records, self._points = records, PointSet(np.ascontiguousarray(points[records]))

    def __len__(self) -> int:
        return len(self._points)

    def take_nearest(self, point: np.ndarray) -> int:
        return int(self._records[self._points.take_nearest(point, 1)[0]])


def size_for(n: int, k: int, t: float | None) -> int:
    """The number of strata: how many records a group must have for t, and so that few are left
    over.

    >>> size_for(1080, 5, 0.1), size_for(1080, 5, 0.01), size_for(11, 4, None)
    (5, 49, 5)
    """
    size = k if t is None else max(k, math.ceil(n / (2.0 * (n - 1) * t + 1.0)))
    return size + (n % size) // (n // size)


def leading(attributes: tuple[Attribute, ...]) -> Attribute:
    """The column whose strata are used."""
    return max(
        attributes, key=lambda attribute: (attribute.kind is not Kind.NOMINAL, attribute.known)
    )


def _ranks(attribute: Attribute) -> np.ndarray:
    """The place of each record's value: by size, atoms last, or of nominal values by frequency."""
    if attribute.kind is not Kind.NOMINAL:
        return attribute.codes
    values, first, codes, counts = np.unique(
        attribute.values, return_index=True, return_inverse=True, return_counts=True
    )
    places = np.empty(len(values), np.int64)
    places[np.lexsort((first, -counts))] = np.arange(len(values))
    return places[codes.reshape(-1)]


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    """The strata: equal ones, but for the middle, which takes what is left over."""
    sizes = np.full(size, len(order) // size)
    over = len(order) % size
    sizes[(size - 1) // 2] += over - over // 2 if size % 2 == 0 else over
    if size % 2 == 0:
        sizes[size // 2] += over // 2
    return np.split(order, np.cumsum(sizes)[:-1])


def _t_of(problem: Problem) -> float | None:
    accept = problem.accept
    closeness = None if accept is None else accept.promise.closeness
    return None if closeness is None else closeness.t


T_FIRST = Method(
    name="t-first",
    family="confidential",
    source="Soria-Comas, Domingo-Ferrer, Sánchez and Martínez 2015, algorithm 3",
    summary="puts one record from each stratum of a confidential column into every group: "
    "t-closeness by construction",
    good_for="a strict t on one confidential column with little loss",
    run=cast(Partition, t_first),
    complexity="O(n² / k) at worst; nearer to O(n log n) in few columns",
    needs_confidential=True,
    heeds_promise=True,
)
