"""The restricted master: the linear program over the groups that are known, solved by HiGHS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.pricing import Prices
from microagg.refine.highs import SolverError, Stop, must, new_solver, run_solver


class Solution(NamedTuple):
    """An optimum over the known groups: its cost, the prices that go with it, and how much of
    each group it takes.
    """

    cost: float
    prices: Prices
    shares: np.ndarray


class Master:
    """Every record is in groups worth 1 together, at the least total cost; with cuts.

    A record may also stay alone at the cost of its ceiling, and be in more than one group: so its
    price is between 0 and the ceiling, which keeps prices tame while few groups are known. Groups
    are known by their numbers, in the order they came; one that is already known is not added
    again.

    >>> master = Master(np.full(4, 9.0))
    >>> master.add(np.array([0, 1, 2, 3, 0, 2, 1, 3], np.int32), np.array([0, 2, 4, 6, 8]), np.array([5.0, 5.0, 1.0, 1.0]))
    4
    >>> master.solve().cost
    2.0
    """

    def __init__(self, ceilings: np.ndarray) -> None:
        import highspy

        self.n = n = len(ceilings)
        self._ceilings = np.array(ceilings, np.float64)
        self.cuts = Cuts(n, [])
        self.members, self.offsets, self.costs = (
            np.empty(0, np.int32),
            np.zeros(1, np.int64),
            np.empty(0),
        )
        self._known: set[bytes] = set()
        self._solver = solver = new_solver(presolve="off", solver="simplex")
        empty = np.empty(0, np.int32)
        ones = np.ones(n)
        rows = np.zeros(n, np.int32)
        self._infinity = highspy.kHighsInf
        must(
            solver.addRows(n, ones, np.full(n, self._infinity), 0, rows, empty, np.empty(0)),
            "the records",
        )
        singles = np.arange(n, dtype=np.int32)
        must(
            solver.addCols(
                n, self._ceilings, 0.0 * ones, self._infinity * ones, n, singles, singles, ones
            ),
            "the ceilings",
        )
        self._grown_by_rows = True

    def __len__(self) -> int:
        return len(self.costs)

    def add(self, members: np.ndarray, offsets: np.ndarray, costs: np.ndarray) -> int:
        """Add those groups (records in ascending order) that are not known yet; returns how
        many.
        """
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
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._add_columns(flat, starts, costs[new])
        self.members = np.concatenate([self.members, flat])
        self.offsets = np.concatenate([self.offsets, self.offsets[-1] + starts[1:]])
        self.costs = np.concatenate([self.costs, costs[new]])
        return len(new)

    def _add_columns(self, members: np.ndarray, offsets: np.ndarray, costs: np.ndarray) -> None:
        count = len(costs)
        cut, column, pairs = self.cuts.held(members, offsets)
        sizes = np.diff(offsets)
        rows = np.concatenate([members, self.n + cut])
        columns = np.concatenate([np.repeat(np.arange(count), sizes), column])
        values = np.concatenate([np.ones(len(members)), pairs])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(count)).astype(np.int32)
        status = self._solver.addCols(
            count, costs, np.zeros(count), np.full(count, self._infinity),
            len(rows), starts, rows[order].astype(np.int32), values[order],
        )  # fmt: skip
        must(status, "new groups")

    def cut(self, records: list[tuple[int, ...]]) -> None:
        """Add cuts."""
        new = Cuts(self.n, records)
        cut, column, pairs = new.held(self.members, self.offsets)
        order = np.argsort(cut, kind="stable")
        starts = np.searchsorted(cut[order], np.arange(len(new))).astype(np.int32)
        status = self._solver.addRows(
            len(new), np.full(len(new), -self._infinity), new.halves,
            len(cut), starts, (self.n + column[order]).astype(np.int32), pairs[order],
        )  # fmt: skip
        must(status, "new cuts")
        self.cuts = self.cuts.with_more(records)
        self._grown_by_rows = True

    def loosen(self) -> bool:
        """Lift what keeps prices tame where it still binds: ceilings, and that no price is
        negative. False if nothing does.
        """
        solution = self._solver.getSolution()
        free = np.flatnonzero(np.asarray(solution.row_value)[: self.n] > 1.0 + 1e-7).astype(
            np.int32
        )
        high = np.flatnonzero(np.asarray(solution.col_value)[: self.n] > 1e-7).astype(np.int32)
        if len(free):
            ones = np.ones(len(free))
            must(self._solver.changeRowsBounds(len(free), free, ones, ones), "prices below zero")
        if len(high):
            self._ceilings[high] *= 8.0
            must(
                self._solver.changeColsCost(len(high), high, self._ceilings[high]),
                "higher ceilings",
            )
        self._grown_by_rows = self._grown_by_rows or len(free) > 0
        return len(free) + len(high) > 0

    def solve(self, stop: Stop | None = None) -> Solution | None:
        """An optimal solution; None if `stop` said so first."""
        import highspy

        solver = self._solver
        must(
            solver.setOptionValue("simplex_strategy", 1 if self._grown_by_rows else 4),
            "a choice of simplex",
        )
        if not run_solver(solver, stop):
            return None
        self._grown_by_rows = False
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                f"HiGHS found no optimum over the known groups: {solver.getModelStatus()}"
            )
        solution = solver.getSolution()
        duals = np.asarray(solution.row_dual)
        prices = Prices(duals[: self.n].copy(), np.maximum(-duals[self.n :], 0.0))
        return Solution(
            solver.getInfo().objective_function_value,
            prices,
            np.asarray(solution.col_value)[self.n :],
        )
