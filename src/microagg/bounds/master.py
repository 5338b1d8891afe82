"""The restricted master: the linear program over the groups that are known, solved by interior
points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.factor import dissection_order
from microagg.bounds.interior import SparseColumns, solve_interior
from microagg.bounds.pricing import Prices
from microagg.refine.highs import Stop

DENSE = 1500  # up to so many records an order of elimination gains nothing
RAISE = 4.0  # how much a ceiling is raised where it is used by more than USED
USED = 0.03


class Solution(NamedTuple):
    """A solution over the known groups: its cost, the prices that go with it, and how much of each
    group it takes.
    """

    cost: float
    value: float
    prices: Prices
    shares: np.ndarray
    ceilings: np.ndarray
    """How much of each record's ceiling is used; above 0, more groups must be known before the
    value means anything.
    """


class Master:
    """Every record is in groups worth 1 together, at the least total cost; with cuts.

    A record may also stay alone at the cost of its ceiling: so its price is at most that, which
    keeps prices tame while few groups are known. Groups are known by their numbers, in the order
    they came; one that is already known is not added again.

    >>> master = Master(np.full(4, 9.0), np.arange(4.0)[:, None])
    >>> members = np.array([0, 1, 2, 3, 0, 2, 1, 3], np.int32)
    >>> master.add(members, np.array([0, 2, 4, 6, 8]), np.array([5.0, 5.0, 1.0, 1.0]))
    4
    >>> round(master.solve(1e-8).cost, 6)
    2.0
    """

    def __init__(self, ceilings: np.ndarray, points: np.ndarray) -> None:
        self.n = n = len(ceilings)
        self._points = points
        self.ceilings = np.array(ceilings, np.float64)
        self.cuts = Cuts(n, [])
        self.members, self.offsets, self.costs = (
            np.empty(0, np.int32),
            np.zeros(1, np.int64),
            np.empty(0),
        )
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.costs)

    def add(self, members: np.ndarray, offsets: np.ndarray, costs: np.ndarray) -> int:
        """Add the groups (records in ascending order) that are not known yet; return how many."""
        new = []
        for g in range(len(costs)):
            name = members[offsets[g] : offsets[g + 1]].tobytes()
            if name not in self._known:
                self._known.add(name)
                new.append(g)
        if not new:
            return 0
        sizes = np.diff(offsets)[new]
        flat = np.concatenate([members[offsets[g] : offsets[g + 1]] for g in new]).astype(np.int32)
        self.members = np.concatenate([self.members, flat])
        self.offsets = np.concatenate([self.offsets, self.offsets[-1] + np.cumsum(sizes)])
        self.costs = np.concatenate([self.costs, costs[new]])
        return len(new)

    def keep(self, chosen: np.ndarray) -> None:
        """Forget all groups but the chosen ones."""
        sizes = np.diff(self.offsets)
        mask = np.zeros(len(self), np.bool_)
        mask[chosen] = True
        self.members = self.members[np.repeat(mask, sizes)]
        self.offsets = np.concatenate([[0], np.cumsum(sizes[mask])]).astype(np.int64)
        self.costs = self.costs[mask]
        self._known = {
            self.members[self.offsets[g] : self.offsets[g + 1]].tobytes() for g in range(len(self))
        }

    def cut(self, records: list[tuple[int, ...]], parts: list[int]) -> None:
        """Add cuts."""
        self.cuts = self.cuts.with_more(records, parts)

    def drop_cuts(self, chosen: np.ndarray) -> None:
        """Forget all cuts but the chosen ones."""
        self.cuts = self.cuts.only(chosen)

    def loosen(self, solution: Solution) -> bool:
        """Raise the ceilings that are in use; False if none is."""
        high = solution.ceilings > USED
        self.ceilings[high] *= RAISE
        return bool(high.any())

    def solve(self, tolerance: float, stop: Stop | None = None) -> Solution | None:
        """A solution to a relative gap of `tolerance`; None if `stop` said so first."""
        matrix, costs, right = self._program()
        result = solve_interior(matrix, costs, right, tolerance, self._order(matrix), stop)
        if result is None:
            return None
        groups, n = len(self), self.n
        prices = Prices(result.prices[:n].copy(), np.maximum(-result.prices[n:], 0.0))
        shares = result.shares
        return Solution(
            result.cost, result.value, prices, shares[:groups], shares[groups : groups + n]
        )

    def _program(self) -> tuple[SparseColumns, np.ndarray, np.ndarray]:
        """Groups, then ceilings, then what a cut has left: columns in this order."""
        groups, n, cuts = len(self), self.n, len(self.cuts)
        cut, column, times = self.cuts.held(self.members, self.offsets)
        sizes = np.diff(self.offsets)
        rows = np.concatenate([self.members, n + cut]).astype(np.int64)
        columns = np.concatenate([np.repeat(np.arange(groups), sizes), column])
        values = np.concatenate([np.ones(len(self.members)), times])
        order = np.argsort(columns, kind="stable")
        entries = np.bincount(columns, minlength=groups) if groups else np.zeros(0, np.int64)
        lengths = np.concatenate([entries, np.ones(n + cuts, np.int64)])
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        matrix = SparseColumns(
            starts,
            np.concatenate([rows[order], np.arange(n + cuts)]),
            np.concatenate([values[order], np.ones(n + cuts)]),
        )
        costs = np.concatenate([self.costs, self.ceilings, np.zeros(cuts)])
        return matrix, costs, np.concatenate([np.ones(n), self.cuts.floors])

    def _order(self, matrix: SparseColumns) -> np.ndarray:
        """The order of elimination: of records by nested dissection, each cut behind the last of
        its records.
        """
        n, cuts = self.n, len(self.cuts)
        if n <= DENSE:
            return np.arange(n + cuts)
        adjacent = np.zeros((n, n), np.bool_)
        sizes = np.diff(self.offsets)
        for s in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == s)
            sets = self.members[self.offsets[chosen][:, None] + np.arange(s)]
            for a in range(s):
                for b in range(s):
                    adjacent[sets[:, a], sets[:, b]] = True
        order = dissection_order(self._points, adjacent)
        position = np.empty(n)
        position[order] = np.arange(n)
        behind = [position[list(records)].max() + 0.5 for records in self.cuts.records]
        return np.argsort(np.concatenate([position, behind]), kind="stable")
