"""Blocks that depend on the data only: a tree of cuts over a sample says which block a record
belongs to.

Large tables are worked on block by block, in memory and beyond alike. Nothing here looks at more
than a chunk of points at a time, and nothing depends on where chunks begin: the sample is chosen by
a hash of the record number, a record finds its leaf by its values alone, and which leaves make up a
block follows from how many records they have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from microagg.kernels import random
from microagg.kernels.principal_axes import add_moments, principal
from microagg.kernels.routing import are_chosen, leaves_of, lengths_along, squared_distances

LARGEST = 250_000  # records of a block, about
NUMBERS = 2_000_000  # coordinates of a block, about
SAMPLE = 65_536  # records from which cuts are found, at least
SAMPLE_A_LEAF = 256  # so many of them for each leaf
# of a leaf: how many of the records farthest from the centre are kept together
FAR, FAR_SHIFTED = 0.6, 1.0
# times as many records, or more, has the next shell inwards, where so many leaves are left
SHELL = 8
INNER = 20  # the twentieth at either end of a column says nothing of how wide it is
# nodes are cut across their longest direction; with more axes than this, finding it would take too
# long
MOST_AXES = 32
EVEN = 0.25  # the share of a node that either side of a good cut has, at least
# where the cuts of a shifted tree lie, as shares of a node; others lie in the middle
LESS, MORE = 0.38, 0.62


def block_size(axes: int) -> int:
    """Return the approximate number of records in a block: fewer where there are many axes.

    >>> block_size(8), block_size(100)
    (250000, 20000)
    """
    return max(1, min(LARGEST, NUMBERS // max(axes, 1)))


def sample_size(records: int, largest: int) -> int:
    """Return the size of the sample from which the cuts are computed.

    >>> sample_size(2_000_000, 250_000), sample_size(100_000_000, 250_000)
    (65536, 102400)
    """
    return max(SAMPLE, SAMPLE_A_LEAF * -(-records // largest))


def in_sample(first: int, count: int, records: int, seed: int, wanted: int) -> np.ndarray:
    """Return a mask of the records first .. first + count - 1 that are in a sample of about
    `wanted` of all `records`.

    Decided by a hash of record number and seed, so that it does not depend on the chunk of a
    record.

    >>> whole = in_sample(0, 1000, 1000, 7, 300)
    >>> (
    ...     bool((in_sample(400, 50, 1000, 7, 300) == whole[400:450]).all()),
    ...     250 < int(whole.sum()) < 350,
    ... )
    (True, True)
    """
    if wanted >= records:
        return np.ones(count, bool)
    key = random.seeded(seed, "sample")[0]
    return are_chosen(first, count, key, np.uint64((wanted << 64) // records))


@dataclass(frozen=True)
class BlockTree:
    """A binary tree of cuts; its leaves, numbered from left to right, are what blocks are made of.

    >>> tree = BlockTree.fit(np.array([[0.0], [1.0], [5.0], [6.0]]), records=4, largest=2)
    >>> tree.leaf_of(np.array([[0.5], [7.0]])).tolist()
    [0, 1]
    """

    axes: np.ndarray
    """(nodes,) int32: the axis that a node cuts, -1 for a leaf; the one behind the last is the
    distance from the centre, those behind that are `directions`. The first node is the root, a
    node's first child is the next one.
    """
    values: np.ndarray
    """(nodes,) where: points at the value or below it are on the first side."""
    children: np.ndarray
    """(nodes, 2) int32."""
    leaves: np.ndarray
    """(nodes,) int32: the number of a leaf, -1 for others."""
    centre: np.ndarray
    """(axes,): where distances are measured from; the axis behind the last is the squared distance
    from there.
    """
    directions: np.ndarray
    """(slanting cuts, axes): in which direction they are measured, from the centre too."""

    @staticmethod
    def fit(sample: np.ndarray, records: int, largest: int, *, shifted: bool = False) -> BlockTree:
        """Build a tree with leaves of about `largest` records at most, for the given number of
        records.

        The records farthest from the centre are a leaf of their own, and shells of some leaves come
        next. Few distant records have most of the error, and their neighbours are far away, so a
        cut through them costs more than all other cuts. Each other node is cut near its middle,
        across the direction in which the middle of its sample is longest. With many axes, it is cut
        across the widest of them. A lopsided cut because of equal values is avoided: a short border
        has fewer groups beside it.

        `shifted`: a tree with cuts elsewhere, nearer to either side in turn. Equal points are never
        cut apart, so a leaf may become larger than `largest`.
        """
        sample = np.ascontiguousarray(sample, np.float64)
        growing = _Growing(sample, records / max(len(sample), 1), largest, shifted)
        rows, far = np.arange(len(sample)), (FAR_SHIFTED if shifted else FAR) * largest
        if sample.shape[1] > 1:
            growing.grow_shells(rows, far)
        else:  # both ends of one axis are no neighbours
            growing.grow(rows, 0)
        return growing.tree()

    def __len__(self) -> int:
        """The number of leaves."""
        return int(self.leaves.max()) + 1

    def leaf_of(self, points: np.ndarray) -> np.ndarray:
        """(n,) int32: the leaf of each point, by its coordinates alone."""
        points = np.ascontiguousarray(points, np.float64)
        return leaves_of(
            points, self.axes, self.values, self.children, self.leaves, self.centre, self.directions
        )

    def joined(
        self, counts: np.ndarray, least: int, fits: Callable[[np.ndarray], bool] | None = None
    ) -> np.ndarray:
        """Return (leaves,) int32: the block of each leaf, numbered from left to right, given the
        sizes of the leaves.

        Leaves of fewer than `least` records, or rejected by `fits` (called with the leaves of a
        candidate block), are joined with their neighbours. Where nothing fits, everything is one
        block.

        >>> tree = BlockTree.fit(np.arange(8.0).reshape(-1, 1), records=8, largest=2)
        >>> tree.joined(np.array([5, 1, 4, 4]), least=2).tolist()
        [0, 0, 1, 2]
        """

        def stands(leaves: list[int]) -> bool:
            return int(counts[leaves].sum()) >= least and (
                fits is None or fits(np.array(leaves, np.int64))
            )

        blocks = np.empty(len(self), np.int32)
        for number, leaves in enumerate(self._blocks(stands)):
            blocks[leaves] = number
        return blocks

    def _blocks(self, stands: Callable[[list[int]], bool]) -> list[list[int]]:
        """The leaves of each block: all stand, or there is only one. Children come after their
        node, so from the end they are known.
        """
        below: list[list[list[int]]] = [[] for _ in self.axes]
        for node in range(len(self.axes) - 1, -1, -1):
            if self.axes[node] < 0:
                below[node] = [[int(self.leaves[node])]]
                continue
            first, second = (below[child] for child in self.children[node])
            while len(first) == 1 and second and not stands(first[0]):
                first = [first[0] + second.pop(0)]
            while len(second) == 1 and first and not stands(second[0]):
                second = [first.pop() + second[0]]
            below[node] = first + second
        return below[0]

    def as_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `BlockTree(**arrays)` rebuilds the tree."""
        return {
            name: getattr(self, name)
            for name in ("axes", "values", "children", "leaves", "centre", "directions")
        }

    @property
    def digest(self) -> str:
        """The same for the same cuts, and for no others."""
        digest = hashlib.sha256()
        for name, array in self.as_arrays().items():
            digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode() + array.tobytes())
        return digest.hexdigest()


class _Growing:
    """A tree in the making, its nodes as lists."""

    def __init__(
        self, sample: np.ndarray, records_per_row: float, largest: int, shifted: bool
    ) -> None:
        self._sample, self._each, self._largest, self._shifted = (
            sample,
            records_per_row,
            largest,
            shifted,
        )
        n, d = sample.shape
        self._centre = np.sort(sample, axis=0)[n // 2] if n else np.zeros(d)
        self._distances = squared_distances(sample, self._centre)
        self._axes: list[int] = []
        self._values: list[float] = []
        self._children: list[tuple[int, int]] = []
        self._directions: list[np.ndarray] = []

    def grow_shells(self, rows: np.ndarray, beyond: float) -> int:
        """Add the node of these rows of the sample: about so many records, the farthest of them,
        are cut off, and so on inwards.
        """
        records = len(rows) * self._each
        ordered = np.sort(self._distances[rows])
        count = (
            _place(ordered, 1.0 - beyond / records)
            if records > max(self._largest, 2 * beyond)
            else 0
        )
        if count == 0:
            return self.grow(rows, 0)
        value = float(ordered[count - 1])
        node, far = self._add(self._sample.shape[1], value), self._distances[rows] > value
        near = self.grow_shells(rows[~far], max(beyond, self._largest) * SHELL)
        self._children[node] = near, self.grow(rows[far], 0)
        return node

    def grow(self, rows: np.ndarray, depth: int) -> int:
        """Add the node of these rows of the sample and all below it; returns its number."""
        cut = None if len(rows) * self._each <= self._largest else self._cut(rows, depth)
        if cut is None:
            return self._add(-1, 0.0)
        axis, value, direction = cut
        if direction is not None:
            axis += len(self._directions)
            self._directions.append(direction)
        node, beyond = self._add(axis, value), self._lengths(rows, axis, direction) > value
        self._children[node] = (
            self.grow(rows[~beyond], depth + 1),
            self.grow(rows[beyond], depth + 1),
        )
        return node

    def _add(self, axis: int, value: float) -> int:
        self._axes.append(axis)
        self._values.append(value)
        self._children.append((-1, -1))
        return len(self._axes) - 1

    def _lengths(self, rows: np.ndarray, axis: int, direction: np.ndarray | None) -> np.ndarray:
        """Return the values that a cut compares."""
        if direction is None:
            return self._sample[rows, axis]
        return lengths_along(self._sample, rows, self._centre, direction)

    def _cut(self, rows: np.ndarray, depth: int) -> tuple[int, float, np.ndarray | None] | None:
        """(axis, value, direction where it is no axis) of the first cut that is not lopsided, or
        the least so; None where all are equal.
        """
        ordered = np.sort(self._sample[rows], axis=0)
        inner = (len(rows) - 1) // INNER
        low, high = ordered[inner], ordered[len(rows) - 1 - inner]
        best, even = None, 0.0
        slanting = self._longest(rows, low, high)
        choices: list[tuple[int, np.ndarray | None]] = (
            [] if slanting is None else [(self._sample.shape[1] + 1, slanting)]
        )
        choices += [
            (int(axis), None) for axis in np.lexsort((ordered[0] - ordered[-1], low - high))
        ]
        for axis, direction in choices:
            lengths = (
                ordered[:, axis]
                if direction is None
                else np.sort(self._lengths(rows, axis, direction))
            )
            count = _place(lengths, self._share(len(rows), depth))
            least = min(count, len(rows) - count) / len(rows)
            if least > even:
                best, even = (axis, float(lengths[count - 1]), direction), least
            if even >= EVEN:
                break
        return best

    def _longest(self, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
        """Return the direction of largest variance of these rows, with values clipped to the
        limits.
        """
        d = self._sample.shape[1]
        if not 1 < d <= MOST_AXES:
            return None
        inner = np.clip(self._sample[rows], low, high) - self._centre
        first, second = np.zeros(d), np.zeros((d, d))
        add_moments(inner, first, second)
        mean = first / len(rows)
        variances, axes = principal(second / len(rows) - np.outer(mean, mean))
        return axes[0] if variances[0] > 0.0 else None

    def _share(self, rows: int, depth: int) -> float:
        """Return the share of a node below its cut: leaves of equal size, unless the tree is
        shifted.
        """
        if self._shifted:
            return LESS if depth % 2 == 0 else MORE
        leaves = -(-rows * self._each // self._largest)
        return float(leaves // 2 / leaves)

    def tree(self) -> BlockTree:
        axes = np.array(self._axes, np.int32)
        leaves = np.where(axes < 0, np.cumsum(axes < 0) - 1, -1).astype(np.int32)
        children = np.array(self._children, np.int32).reshape(-1, 2)
        directions = np.array(self._directions).reshape(-1, self._sample.shape[1])
        return BlockTree(axes, np.array(self._values), children, leaves, self._centre, directions)


def _place(ordered: np.ndarray, share: float) -> int:
    """Return the number of values before the cut: about this share, equal ones on one side; 0 if
    all are equal.
    """
    middle = ordered[min(max(int(len(ordered) * share), 1), len(ordered) - 1)]
    before, behind = (int(np.searchsorted(ordered, middle, side)) for side in ("left", "right"))
    wanted = share * len(ordered)
    if before == 0 or (behind < len(ordered) and behind - wanted < wanted - before):
        return behind if behind < len(ordered) else 0
    return before
