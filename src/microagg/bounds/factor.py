"""A sparse Cholesky factor of the normal equations, in square tiles.

Rows are put in an order of nested dissection: the two halves of a part first, then what joins them.
The matrix is cut into tiles of 48 rows; tiles that stay zero are neither stored nor multiplied.
Every sum is taken in one fixed order, so that the factor is the same on any number of threads.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.refine.highs import Stop

TILE = 48
PRODUCTS = 5000  # products of tiles between two looks at the clock: a twentieth of a second


def dissection_order(points: np.ndarray, adjacent: np.ndarray) -> np.ndarray:
    """Return an order of the rows in which a factor has few entries: halves first, what joins them
    last.

    points: where each row lies. adjacent: (n, n) whether two rows meet in a column.

    >>> line = np.arange(200.0)[:, None]
    >>> order = dissection_order(line, np.abs(line - line.T) <= 1)
    >>> sorted(order.tolist()) == list(range(200)), order[-1].item()
    (True, 99)
    """
    order: list[np.ndarray] = []

    def place(part_of: np.ndarray) -> None:
        if len(part_of) <= TILE:
            order.append(part_of)
            return
        located = points[part_of]
        axis = int(np.argmax(np.ptp(located, axis=0)))
        ranked = part_of[np.argsort(located[:, axis], kind="stable")]
        low, high = ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :]
        meets = adjacent[np.ix_(low, high)]
        of_low, of_high = meets.any(axis=1), meets.any(axis=0)
        if of_low.sum() <= of_high.sum():
            joint, low = low[of_low], low[~of_low]
        else:
            joint, high = high[of_high], high[~of_high]
        if len(joint) > 0.8 * len(part_of) // 2:  # nothing is gained by taking them apart
            order.append(part_of)
            return
        place(low)
        place(high)
        order.append(joint)

    place(np.arange(len(points)))
    return np.concatenate(order)


@part
def _multiply_subtract(target, left, right_transposed):
    """Subtract left @ right_transposed from target, tile by tile."""
    for i in range(TILE):
        for p in range(0, TILE, 4):
            a, b, c, d = left[i, p], left[i, p + 1], left[i, p + 2], left[i, p + 3]
            for j in range(TILE):
                target[i, j] -= (
                    a * right_transposed[p, j]
                    + b * right_transposed[p + 1, j]
                    + c * right_transposed[p + 2, j]
                    + d * right_transposed[p + 3, j]
                )


@part
def _factor_tile(target, least):
    """Replace a tile by its Cholesky factor, row by row; zeros are put above the diagonal."""
    for a in range(TILE):
        x = target[a, a]
        x = np.sqrt(x) if x > least else 1e64
        target[a, a] = x
        for b in range(a + 1, TILE):
            target[b, a] /= x
            target[a, b] = target[
                b, a
            ]  # kept above the diagonal while it is needed, to go along rows
        for b in range(a + 1, TILE):
            y = target[b, a]
            for c in range(a + 1, b + 1):
                target[b, c] -= y * target[a, c]
    for a in range(TILE):
        for b in range(a + 1, TILE):
            target[a, b] = 0.0


@part
def _divide_tile(target, pivot, pivot_transposed):
    """Solve for a tile below the diagonal."""
    for a in range(TILE):
        for b in range(TILE):
            y = target[a, b] / pivot[b, b]
            target[a, b] = y
            for c in range(b + 1, TILE):
                target[a, c] -= y * pivot_transposed[b, c]


@kernel
def symbolic_fill(stored):
    """Mark the tiles that a factor fills; `stored` are those of the matrix, lower triangle."""
    count = stored.shape[0]
    for j in range(count):
        first = -1
        for i in range(j + 1, count):
            if stored[i, j]:
                if first < 0:
                    first = i
                for h in range(first, i + 1):
                    if stored[h, j]:
                        stored[i, h] = True


@kernel
def fill_tiles(starts, rows, values, weights, position, index, tiles):
    """Put A diag(weights) A' into tiles; `position` is that of each row in the order."""
    tiles[:] = 0.0
    for j in range(starts.shape[0] - 1):
        for e in range(starts[j], starts[j + 1]):
            x = weights[j] * values[e]
            a = position[rows[e]]
            for f in range(starts[j], starts[j + 1]):
                b = position[rows[f]]
                if b <= a:
                    tiles[index[a // TILE, b // TILE], a % TILE, b % TILE] += x * values[f]


@kernel
def mark_tiles(starts, rows, position, stored):
    """Mark the tiles in which A A' has entries."""
    for j in range(starts.shape[0] - 1):
        for e in range(starts[j], starts[j + 1]):
            a = position[rows[e]] // TILE
            for f in range(starts[j], starts[j + 1]):
                b = position[rows[f]] // TILE
                if b <= a:
                    stored[a, b] = True


@kernel
def factorise(index, tiles, transposed, least, first, last):
    """Replace columns first..last - 1 of tiles by the Cholesky factor; small pivots become huge.

    A huge pivot (where it would be below `least`) sets the step of its row to zero, as is usual in
    interior-point methods: the row depends on others. `transposed` gets the same tiles, transposed.
    """
    count = index.shape[0]
    for j in range(first, last):
        for i in range(j, count):
            if index[i, j] < 0:
                continue
            target = tiles[index[i, j]]
            for h in range(j):
                if index[i, h] >= 0 and index[j, h] >= 0:
                    _multiply_subtract(target, tiles[index[i, h]], transposed[index[j, h]])
            if i == j:
                _factor_tile(target, least)
            else:
                _divide_tile(target, tiles[index[j, j]], transposed[index[j, j]])
            turned = transposed[index[i, j]]
            for a in range(TILE):
                for b in range(TILE):
                    turned[b, a] = target[a, b]


@kernel
def solve_tiles(index, tiles, x):
    """Solve with the factor and its transpose, in place; x is in the factor's order, filled up to
    whole tiles.
    """
    count = index.shape[0]
    for i in range(count):
        for h in range(i):
            if index[i, h] >= 0:
                tile = tiles[index[i, h]]
                for a in range(TILE):
                    total = 0.0
                    for b in range(TILE):
                        total += tile[a, b] * x[h * TILE + b]
                    x[i * TILE + a] -= total
        tile = tiles[index[i, i]]
        for a in range(TILE):
            y = x[i * TILE + a]
            for b in range(a):
                y -= tile[a, b] * x[i * TILE + b]
            x[i * TILE + a] = y / tile[a, a]
    for i in range(count - 1, -1, -1):
        tile = tiles[index[i, i]]
        for a in range(TILE - 1, -1, -1):
            y = x[i * TILE + a] / tile[a, a]
            x[i * TILE + a] = y
            for b in range(a):
                x[i * TILE + b] -= tile[a, b] * y
        for h in range(i):
            if index[i, h] >= 0:
                tile = tiles[index[i, h]]
                for a in range(TILE):
                    y = x[i * TILE + a]
                    for b in range(TILE):
                        x[h * TILE + b] -= tile[a, b] * y


class NormalEquations:
    """Factors of A diag(weights) A' for one matrix A and any weights.

    >>> starts, rows, values = np.array([0, 1, 2, 4]), np.array([0, 1, 0, 1]), np.ones(4)
    >>> equations = NormalEquations(starts, rows, values, np.arange(2))
    >>> equations.factor(np.array([1.0, 1.0, 2.0]))
    True
    >>> equations.solve(np.array([5.0, 5.0])).round(6).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self, starts: np.ndarray, rows: np.ndarray, values: np.ndarray, order: np.ndarray
    ) -> None:
        self._matrix = (starts, rows, values)
        self._order = order
        self._position = np.empty(len(order), np.int64)
        self._position[order] = np.arange(len(order))
        count = -(-len(order) // TILE)
        stored = np.eye(count, dtype=np.bool_)
        mark_tiles(starts, rows, self._position, stored)
        symbolic_fill(stored)
        self._index = np.where(stored, np.cumsum(stored.reshape(-1)).reshape(stored.shape) - 1, -1)
        products = stored.sum(axis=0) * stored.sum(axis=1)  # of tiles, for each column of them
        late = np.cumsum(products) // PRODUCTS
        self._slices = [0, *(np.flatnonzero(np.diff(late)) + 1).tolist(), count]
        self._tiles = np.empty((int(stored.sum()), TILE, TILE))
        self._transposed = np.empty_like(self._tiles)

    @property
    def stored(self) -> float:
        """The share of the lower triangle's tiles that is stored."""
        count = len(self._index)
        return len(self._tiles) / (count * (count + 1) / 2)

    def factor(self, weights: np.ndarray, stop: Stop | None = None) -> bool:
        """Factorise for these weights; False if `stop` interrupted it."""
        fill_tiles(*self._matrix, weights, self._position, self._index, self._tiles)
        diagonal = np.einsum("tii->ti", self._tiles[np.diagonal(self._index)])
        least = 1e-30 * float(diagonal.max())
        for first, last in pairwise(self._slices):
            factorise(self._index, self._tiles, self._transposed, least, first, last)
            if stop is not None and stop():
                return False
        return True

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Solve for one right-hand side."""
        x = np.zeros(len(self._index) * TILE)
        x[: len(self._order)] = right[self._order]
        solve_tiles(self._index, self._tiles, x)
        result = np.empty(len(right))
        result[self._order] = x[: len(self._order)]
        return result
