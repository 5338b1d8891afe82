"""Prices of many records, from linear programs over parts of them.

A table of more than some thousand records is too large for one linear program. It is cut along the
widest column into cores; each core gets the records around it as well, and only its own prices are
kept. Put together they promise too much here and there, so they are priced and repaired as a whole.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.chains import ChainPricing
from microagg.bounds.columns import TOLERANCE, Budget, ColumnGeneration
from microagg.bounds.cuts import Cuts
from microagg.bounds.neighbours import nearest_others
from microagg.bounds.pricing import Prices
from microagg.bounds.repair import repaired
from microagg.refine.highs import Stop

CORE, AROUND = 1_000, 1_500  # records of a part, and how many more around them
ROUNDS = 200  # of one part
NEAR = 2  # times k: neighbours that count as around a core
LISTED = 3_000_000
WORK = 40_000_000_000  # records that pricing looks at
SHRINKS = (1.0, 0.95, 0.9, 0.8)


def cores_of(points: np.ndarray, size: int) -> list[np.ndarray]:
    """Return groups of at most `size` neighbouring records, by halves along the widest column.

    >>> [core.tolist() for core in cores_of(np.array([[3.0], [1.0], [2.0], [0.0]]), 2)]
    [[3, 1], [2, 0]]
    """
    cores, waiting = [], [np.arange(len(points))]
    while waiting:
        core = waiting.pop()
        if len(core) <= size:
            cores.append(core)
            continue
        axis = int(np.argmax(np.ptp(points[core], axis=0)))
        ranked = core[np.argsort(points[core, axis], kind="stable")]
        waiting += [ranked[len(core) // 2 :], ranked[: len(core) // 2]]
    return cores


class PartPrices:
    """Prices of all records, one part after the other; `pi` holds for the whole once `finished`.

    `instant` are prices that hold in any case; points are in units in which they are near 1.
    """

    def __init__(
        self, points: np.ndarray, k: int, near: np.ndarray, records: np.ndarray, instant: np.ndarray
    ) -> None:
        self.k, self.points, self.pi = k, points, instant.copy()
        self._near, self._records, self._instant = near, records, instant
        self._prices = instant.copy()
        self._cores = cores_of(points, CORE)
        self._next = self._rounds = 0
        self._generation: ColumnGeneration | None = None
        self._part = np.empty(0, np.int64)
        self.finished = False

    @property
    def value(self) -> float:
        """The sum that is proven so far."""
        return float(self.pi.sum())

    def step(self, stop: Stop) -> None:
        """Do one round of one part; in the end, price and repair the whole."""
        if self._next == len(self._cores):
            self._put_together(stop)
            return
        if self._generation is None:
            self._begin(self._cores[self._next])
        generation = self._generation
        assert generation is not None
        generation.step(stop)
        self._rounds += 1
        if stop() or not (generation.converged or self._rounds >= ROUNDS):
            return
        core = self._cores[self._next]
        self._prices[core] = generation.prices.pi[: len(core)]
        self._generation = None
        self._next, self._rounds = self._next + 1, 0

    def _begin(self, core: np.ndarray) -> None:
        """Set up the program of a core and the records around it, the nearest first."""
        inside = np.zeros(len(self.points), np.bool_)
        inside[core] = True
        wide = min(NEAR * self.k, self._records.shape[1])
        neighbours, squares = self._records[core, :wide].ravel(), self._near[core, :wide].ravel()
        # how near a record is to the core, in units of how far neighbours are there
        relative = squares / np.repeat(np.maximum(self._near[core, self.k - 1], 1e-300), wide)
        outside = ~inside[neighbours]
        order = np.argsort(relative[outside], kind="stable")
        found_first = neighbours[outside][order]
        _, first = np.unique(found_first, return_index=True)
        around = found_first[np.sort(first)[:AROUND]]
        self._part = np.concatenate([core, around]).astype(np.int64)
        points = np.ascontiguousarray(self.points[self._part])
        m = min(len(points) - 1, 15 * self.k)
        near, records, _ = nearest_others(points, m)
        self._generation = ColumnGeneration(points, self.k, near, records, Budget(0, 0))

    def _put_together(self, stop: Stop) -> None:
        """Price all records as a whole; prices lowered on the sets that are too cheap are a
        proof.
        """
        n, pricing = len(self.points), ChainPricing(self.points, self.k, stored=False)
        for share in SHRINKS:
            prices = Prices(self._instant + share * (self._prices - self._instant), np.empty(0))
            cheap = pricing.sets(
                prices, Cuts(n, []), -TOLERANCE, sizes=[self.k], most=LISTED, work=WORK, stop=stop
            )
            if stop():
                return
            if cheap.complete:
                pi = repaired(prices, cheap).pi
                if pi.sum() > self.pi.sum():
                    self.pi = pi
                break
        self.finished = True
