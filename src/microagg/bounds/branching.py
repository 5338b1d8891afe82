"""Branch trees: the proof that nothing is better, where prices alone leave a gap.

A partition that loses less than a target has only groups whose excess over the best prices is at
most the gap. Where these can be listed, a linear program over them (with cuts) is solved; where
its value is below the target, two records are either together or apart. The prices of each leaf are
kept, so that others can check the tree (`verify_bound.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.groups import select_groups
from microagg.bounds.pricing import Prices, Sets, excess_of_groups
from microagg.bounds.repair import repaired
from microagg.bounds.separation import violated_cuts
from microagg.refine.highs import SolverError, Stop, must, new_solver, run_solver

NODES = 3000
TYPICAL = 100.0  # the mean cost of a group is scaled to it: HiGHS has absolute tolerances
CUT_ROUNDS = 12
FRACTION = 1e-6  # a share this near 0 or 1 is whole
LARGEST_PART = 6


class Listed(NamedTuple):
    """All groups that a better partition can have: records, starts and costs."""

    members: np.ndarray
    offsets: np.ndarray
    costs: np.ndarray


class Leaf(NamedTuple):
    """Prices of records and penalties of cuts that prove one branch."""

    pi: np.ndarray
    penalties: np.ndarray


class Split(NamedTuple):
    """An inner node: two records that are together in one branch and apart in the other."""

    pair: tuple[int, int]
    together: Split | Leaf
    apart: Split | Leaf


def tree_as_data(tree: Split | Leaf, unit: float) -> dict[str, Any]:
    """Return a tree as it is written in a certificate, prices multiplied by `unit`."""
    if isinstance(tree, Leaf):
        return {"pi": (tree.pi * unit).tolist(), "penalties": (tree.penalties * unit).tolist()}
    return {
        "pair": list(tree.pair),
        "together": tree_as_data(tree.together, unit),
        "apart": tree_as_data(tree.apart, unit),
    }


def count_leaves(tree: Split | Leaf) -> int:
    """Return the number of leaves."""
    if isinstance(tree, Leaf):
        return 1
    return count_leaves(tree.together) + count_leaves(tree.apart)


class BranchSearch:
    """Search for a tree whose leaves all prove the target, over listed groups.

    Costs are in units of the mean price. A partition that is better than the target, if one comes
    up, is kept in `better` (numbers of listed groups); the search ends there without a tree.

    >>> listed = Listed(np.array([0, 1, 0, 2, 1, 2, 0, 1, 2], np.int32), np.array([0, 2, 4, 6, 9]),
    ...                 np.array([1.0, 1.0, 1.0, 4.0]))
    >>> search = BranchSearch(3, listed, Cuts(3, []), 3.999)
    >>> tree = search.run()
    >>> tree is not None, search.better
    (True, None)
    """

    def __init__(
        self,
        n: int,
        listed: Listed,
        cuts: Cuts,
        target: float,
        stop: Stop | None = None,
        nodes: int = NODES,
    ) -> None:
        self.n, self.listed, self.target, self.stop = n, listed, target, stop
        self.cuts = cuts
        self.better: np.ndarray | None = None
        self._nodes_left = nodes
        self._interrupted = False
        sizes = np.diff(listed.offsets)
        self._numbers = np.repeat(np.arange(len(sizes)), sizes)
        order = np.argsort(listed.members, kind="stable")
        self._set_starts = np.concatenate(
            [[0], np.cumsum(np.bincount(listed.members, minlength=n))]
        ).astype(np.int64)
        self._set_of = self._numbers[order]
        mean = float(np.mean(listed.costs)) if len(listed.costs) else 1.0
        self._scale = TYPICAL / mean if mean > 0.0 else 1.0
        self._solver = self._program()

    def run(self) -> Split | Leaf | None:
        """Return the tree; None if it was interrupted, too large, or a better partition came up."""
        self._add_cuts_at_the_root()
        tree = None if self._interrupted or self.better is not None else self._branch([])
        return None if self._interrupted or self.better is not None else tree

    def _program(self) -> Any:
        """Return a solver with the records, the cuts, the listed groups and a stand-in for each."""
        import highspy

        n, listed, cuts = self.n, self.listed, self.cuts
        count = len(listed.costs)
        solver = new_solver(
            presolve="off", solver="simplex",
            dual_feasibility_tolerance=1e-9, primal_feasibility_tolerance=1e-9,
        )  # fmt: skip
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = count + n, n + len(cuts)
        # a record without a group costs as much as the target: no program is without a solution
        stand_in = np.full(n, max(self.target, 1.0) * self._scale)
        program.col_cost_ = np.concatenate([listed.costs * self._scale, stand_in])
        program.col_lower_ = np.zeros(count + n)
        program.col_upper_ = np.full(count + n, highspy.kHighsInf)
        floors = cuts.floors
        program.row_lower_ = np.concatenate([np.ones(n), np.full(len(cuts), -highspy.kHighsInf)])
        program.row_upper_ = np.concatenate([np.ones(n), floors])
        cut, column, times = cuts.held(listed.members, listed.offsets)
        rows = np.concatenate([listed.members, n + cut, np.arange(n)])
        columns = np.concatenate([self._numbers, column, count + np.arange(n)])
        values = np.concatenate([np.ones(len(listed.members)), times, np.ones(n)])
        order = np.argsort(columns, kind="stable")
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(count + n + 1)).astype(np.int32)
        matrix.index_ = rows[order].astype(np.int32)
        matrix.value_ = values[order]
        must(solver.passModel(program), "the listed groups")
        return solver

    def _solve(self) -> tuple[float, Prices, np.ndarray] | None:
        """Return value, prices and shares of the present program; None if it was interrupted."""
        import highspy

        if not run_solver(self._solver, self.stop):
            self._interrupted = True
            return None
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError("HiGHS could not solve a program over listed groups")
        solution = self._solver.getSolution()
        duals = np.asarray(solution.row_dual) / self._scale
        prices = Prices(duals[: self.n].copy(), np.maximum(-duals[self.n :], 0.0))
        value = self._solver.getInfo().objective_function_value / self._scale
        return value, prices, np.asarray(solution.col_value)

    def _add_cuts_at_the_root(self) -> None:
        """Add violated cuts to the program over all listed groups, as long as they raise it."""
        before = -np.inf
        for _ in range(CUT_ROUNDS):
            solved = self._solve()
            if solved is None or solved[0] >= self.target or self._takes(solved):
                return
            if solved[0] - before < 1e-3 * (self.target - solved[0]):
                return
            before = solved[0]
            shares = solved[2][: len(self.listed.costs)]
            used = np.flatnonzero(shares > FRACTION)
            members, offsets = select_groups(self.listed.members, self.listed.offsets, used)
            largest = int(np.diff(self.listed.offsets).max())
            cuts = violated_cuts(
                self.n, members, offsets, shares[used],
                tuple(range(2, min(LARGEST_PART, largest) + 1)), most=200, stop=self.stop,
            )  # fmt: skip
            known = set(zip(self.cuts.records, self.cuts.parts.tolist(), strict=True))
            new = [cut for cut in cuts if cut not in known]
            if not new:
                return
            self.cuts = self.cuts.with_more([r for r, _ in new], [p for _, p in new])
            self._solver = self._program()

    def _takes(self, solved: tuple[float, Prices, np.ndarray]) -> bool:
        """Keep a solution that is whole and better than the target; whether it is whole."""
        shares = solved[2]
        if (np.minimum(shares, np.abs(1.0 - shares)) > FRACTION).any():
            return False
        count = len(self.listed.costs)
        if solved[0] < self.target and not (shares[count:] > 0.5).any():
            self.better = np.flatnonzero(shares[:count] > 0.5)
        return True

    def _branch(self, decisions: list[tuple[int, int, bool]]) -> Split | Leaf | None:
        """Return the tree below these decisions: (record, record, together) each."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            self._interrupted = True
            return None
        fits = self._fitting(decisions)
        self._allow(fits)
        solved = self._solve()
        if solved is None:
            return None
        leaf = self._leaf(solved[1], fits)
        if leaf is not None:
            return leaf
        pair = None if self._takes(solved) else self._pair(solved[2], decisions)
        if pair is None:  # a better partition, or rounding: the target cannot be shown
            self._interrupted = True
            return None
        together = self._branch([*decisions, (*pair, True)])
        if together is None:
            return None
        apart = self._branch([*decisions, (*pair, False)])
        return None if apart is None else Split(pair, together, apart)

    def _fitting(self, decisions: list[tuple[int, int, bool]]) -> np.ndarray:
        """Return which listed groups fit the decisions."""
        fits = np.ones(len(self.listed.costs), np.bool_)
        for first, second, together in decisions:
            both = np.zeros((2, len(fits)), np.bool_)
            for row, record in enumerate((first, second)):
                low, high = self._set_starts[record], self._set_starts[record + 1]
                both[row, self._set_of[low:high]] = True
            fits &= both[0] == both[1] if together else ~(both[0] & both[1])
        return fits

    def _allow(self, fits: np.ndarray) -> None:
        """Let the program use these groups only."""
        count = len(fits)
        columns = np.arange(count, dtype=np.int32)
        upper = np.where(fits, self._solver.getInfinity(), 0.0)
        must(self._solver.changeColsBounds(count, columns, np.zeros(count), upper), "the branch")

    def _leaf(self, prices: Prices, fits: np.ndarray) -> Leaf | None:
        """Return the prices, lowered where rounding demands it, if they prove the target."""
        listed = self.listed
        excess = excess_of_groups(listed.members, listed.offsets, listed.costs, prices, self.cuts)
        low = np.flatnonzero(fits & (excess < 0.0))
        members, offsets = select_groups(listed.members, listed.offsets, low)
        proof = repaired(prices, Sets(members, offsets, excess[low], True))
        if proof.sum(self.cuts) < self.target:
            return None
        return Leaf(proof.pi, proof.penalties)

    def _pair(
        self, shares: np.ndarray, decisions: list[tuple[int, int, bool]]
    ) -> tuple[int, int] | None:
        """Return two records that are about half together."""
        count = len(self.listed.costs)
        decided = {(first, second) for first, second, _ in decisions}
        together: dict[tuple[int, int], float] = {}
        used = np.flatnonzero((shares[:count] > FRACTION) & (shares[:count] < 1.0 - FRACTION))
        for g in used.tolist():
            low, high = self.listed.offsets[g], self.listed.offsets[g + 1]
            records = self.listed.members[low:high].tolist()
            for a, i in enumerate(records):
                for j in records[a + 1 :]:
                    together[i, j] = together.get((i, j), 0.0) + float(shares[g])
        open_pairs = {
            pair: abs(round(x, 9) - 0.5)
            for pair, x in together.items()
            if FRACTION < x < 1.0 - FRACTION and pair not in decided
        }
        return min(open_pairs, key=lambda pair: (open_pairs[pair], pair)) if open_pairs else None
