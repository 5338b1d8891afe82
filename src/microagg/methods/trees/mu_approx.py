"""µ-Approx: every record goes to a neighbour until all trees have k records, then large trees are
taken apart.

Source: Domingo-Ferrer, Sebé and Solanas 2008 (Computers and Mathematics with Applications 55), as
retold by Kabir, Mahmood, Mustafa and Wang; forest and decomposition, which they only name, as
Aggarwal et al. 2005 have them for k-anonymity.

1. Forest. Every record is a tree. A tree of fewer than k records has one record without an outgoing
edge; it gets an
   edge to its nearest record in another tree, and the two trees are one. Repeat until all trees
   have k records.
2. Decompose, while a tree has s > max(2k - 1, 3k - 5) records: from a candidate vertex go on to the
root of its largest
   subtree (of f records) until s - f >= k - 1. There, if f >= k and s - f >= k, cut the largest
   subtree off. If s - f = k - 1, these records and the root of the largest subtree are a group. If
   f = k - 1, the largest subtree and the candidate are one. Else subtrees are put together, largest
   first, until they have k - 1 records; these and the candidate are a group, or without the
   candidate if they have k already. Where a vertex goes with one side, a copy of it, which counts
   for nothing, keeps the other side together.
3. In a tree of 2k records or more that is left, the record farthest from the centroid and its k - 1
nearest form a
   group, the others another.

The paper leaves open which tree is next in step 1, and the loss swings with it. `order` works on
the tree of one record after another until it has k: from the farthest from the centroid of all to
the nearest (outermost), or in their own order (record); or it adds the shortest of all possible
edges first (shortest). Also open is the first candidate: here the vertex without an outgoing edge,
and after a cut the two ends of the edge. Ties go to the lower record number, of equally large
subtrees to that with the lower root. Departures: where the candidate is a copy, one more record is
needed beside it: subtrees are put together until they have k, and if fewer than k are then left the
tree goes to step 3 as it is, which is repeated while 2k remain. Neither paper was at hand: the
cases of step 2 are our reading of the second.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np

from microagg.kernels.distances import squared_distances
from microagg.kernels.sums import mean_of
from microagg.methods.mdav.single_group import mdav_single_group
from microagg.methods.method import Choice, Method, Partition, below_two_k
from microagg.methods.parts import split_oversized
from microagg.problem.pointset import PointSet
from microagg.problem.problem import Problem, Progress


def mu_approx(
    problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, order: str = "outermost"
) -> np.ndarray:
    """A forest of trees with k records or more, decomposed into groups."""
    points, k, n = problem.points, problem.k, len(problem.points)
    forest = _Forest(points, k)
    for done, record in enumerate(
        _by_shortest(forest) if order == "shortest" else _in_order(points, order)
    ):
        forest.grow(record, whole=order != "shortest")
        if progress is not None and done % 1000 == 0:
            progress(min(done, n) // 2, n)
    labels = np.empty(n, np.int32)
    for number, part in enumerate(_decomposed(forest, k)):
        labels[part] = number
    return split_oversized(points, labels, k, mdav_single_group)


def _in_order(points: np.ndarray, order: str) -> Iterable[int]:
    if order == "record":
        return range(len(points))
    centre = mean_of(points, np.arange(len(points)))
    return [int(i) for i in np.argsort(-squared_distances(points, centre), kind="stable")]


def _by_shortest(forest: _Forest) -> Iterator[int]:
    """Again and again the record whose edge is the shortest that can be added."""
    waiting = [forest.edge_from(record) for record in range(forest.size)]
    heapq.heapify(waiting)
    while waiting:
        _, u, v = heapq.heappop(waiting)
        if forest.targets[u] >= 0 or not forest.is_small(u):
            continue
        if forest.find(u) == forest.find(v):
            heapq.heappush(waiting, forest.edge_from(u))
            continue
        yield u
        sink = forest.sinks[forest.find(u)]
        if forest.is_small(sink):
            heapq.heappush(waiting, forest.edge_from(sink))


class _Forest:
    """Trees whose edges lead from each vertex but one, the sink, to another vertex: its target."""

    def __init__(self, points: np.ndarray, k: int) -> None:
        self._points, self._k, self.size = PointSet(points), k, len(points)
        self.targets, self.sinks = [-1] * self.size, list(range(self.size))
        self._parents, self._sizes = list(range(self.size)), [1] * self.size

    def find(self, record: int) -> int:
        """The tree that a record is in."""
        while self._parents[record] != record:
            self._parents[record] = self._parents[self._parents[record]]
            record = self._parents[record]
        return record

    def is_small(self, record: int) -> bool:
        """Whether the tree of a record has fewer than k records."""
        return self._sizes[self.find(record)] < self._k

    def edge_from(self, u: int) -> tuple[float, int, int]:
        """The shortest edge from a record of a small tree to another one: (squared length, record,
        target).
        """
        own = self.find(u)
        v = next(int(v) for v in self._points.nearest(u, self._k) if self.find(int(v)) != own)
        return self._points.squared_distance(u, v), u, v

    def grow(self, record: int, *, whole: bool) -> None:
        """Give the record's tree an edge while it is small; with `whole` False, one edge."""
        while self.is_small(record):
            tree = self.find(record)
            u = self.sinks[tree]
            _, _, v = self.edge_from(u)
            self.targets[u] = v
            other = self.find(v)
            self._parents[tree] = other
            self._sizes[other] += self._sizes[tree]
            if not whole:
                break


def _decomposed(forest: _Forest, k: int) -> Iterator[list[int]]:
    """Step 2: the records of the parts."""
    trees = _Trees(forest.targets)
    waiting = [record for record in range(forest.size) if forest.targets[record] < 0]
    while waiting:
        yield from trees.take_apart(waiting.pop(), k, waiting)


class _Trees:
    """Trees that can be cut and rooted anew at a child of the root; a copy of a vertex counts for
    nothing.
    """

    def __init__(self, targets: list[int]) -> None:
        self._children: list[list[int]] = [[] for _ in targets]
        self._counts = [1] * len(targets)
        self._sizes = [1] * len(targets)
        for record, target in enumerate(targets):
            if target >= 0:
                self._children[target].append(record)
        for record in reversed(
            self._downwards([r for r, target in enumerate(targets) if target < 0])
        ):
            self._sizes[record] += sum(self._sizes[child] for child in self._children[record])

    def _downwards(self, roots: list[int]) -> list[int]:
        """All vertices below these, every one after its parent."""
        reached = list(roots)
        for vertex in reached:
            reached.extend(self._children[vertex])
        return reached

    def records_below(self, roots: list[int]) -> list[int]:
        """The records of these subtrees; a copy is none."""
        return [vertex for vertex in self._downwards(roots) if self._counts[vertex]]

    def take_apart(self, root: int, k: int, cut_off: list[int]) -> Iterator[list[int]]:
        """The parts of a tree; roots of subtrees that are cut off, to be taken apart themselves, go
        to the list.
        """
        subtrees = self._subtrees(root)
        while self._sizes[root] > max(2 * k - 1, 3 * k - 5):
            largest = subtrees[-1]
            beside = self._sizes[root] - self._sizes[largest]
            if beside < k - 1 or (beside == k - 1 and not self._counts[largest]):
                self._root_at(largest, root, subtrees)
                root, subtrees = largest, self._subtrees(largest)
            elif beside == k - 1:
                self._children[root] = subtrees[:-1]
                yield [largest, *self.records_below([root])]
                self._make_copy(largest)
                root, subtrees = largest, self._subtrees(largest)
            elif self._sizes[largest] >= k:
                cut_off.append(subtrees.pop())
                self._sizes[root] = beside
            else:
                group, count = self._some_subtrees(root, subtrees, k)
                if self._sizes[root] - len(group) < k:  # the root is a copy: left to step 3
                    break
                yield group
                del subtrees[len(subtrees) - count :]
                with_root = group[0] == root
                self._sizes[root] -= len(group) - with_root
                if with_root:
                    self._make_copy(root)
        self._children[root] = subtrees
        yield self.records_below([root])

    def _subtrees(self, root: int) -> list[int]:
        """The children of a root, that of the largest subtree last; of equal ones the lowest
        last.
        """
        return sorted(self._children[root], key=lambda child: (self._sizes[child], -child))

    def _some_subtrees(self, root: int, subtrees: list[int], k: int) -> tuple[list[int], int]:
        """(the group, how many subtrees it takes): the last ones, and before them the root if they
        are short of k.
        """
        count = size = 0
        while size < k - self._counts[root]:
            count += 1
            size += self._sizes[subtrees[-count]]
        records = self.records_below(subtrees[len(subtrees) - count :])
        return (records if size >= k else [root, *records]), count

    def _root_at(self, child: int, root: int, subtrees: list[int]) -> None:
        """Make the child with the largest subtree the root of the tree."""
        size = self._sizes[root]
        self._children[root] = subtrees[:-1]
        self._sizes[root] = size - self._sizes[child]
        self._children[child].append(root)
        self._sizes[child] = size

    def _make_copy(self, root: int) -> None:
        self._counts[root] = 0
        self._sizes[root] -= 1


MU_APPROX = Method(
    name="mu-approx",
    family="trees",
    source="Domingo-Ferrer, Sebé and Solanas 2008",
    summary="joins every record to a neighbour until all trees have k records, then splits large "
    "trees",
    good_for="theory: its loss is within a known factor of the optimum",
    run=cast(Partition, mu_approx),
    complexity="near O(n k log n) on real data",
    parameters=(
        Choice(
            "order",
            ("outermost", "record", "shortest"),
            "outermost",
            "which tree grows next (the paper leaves it open): that of the record "
            "farthest from the centroid, "
            "that of the next record, or the one with the shortest edge",
        ),
    ),
    largest_group=below_two_k,
)
