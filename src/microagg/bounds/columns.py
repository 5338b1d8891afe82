"""Column generation: better and better prices, from linear programs over a few of the possible groups.

1. *Converge.* An interior-point solution over the groups known so far gives prices; heuristic pricing
   finds groups that are too cheap under them, until it finds none.
2. *Prove.* Exact pricing lists all sets that are still too cheap. They become known, and lowering the
   prices on them makes a proof (`repair.py`). Once few are left, the prices hardly change.
3. *Cut.* Where the program splits groups, floor cuts forbid it; then it converges again.

The proof after step 2 is valid whatever comes later, so the work can be stopped at any moment.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.chains import ChainPricing
from microagg.bounds.cuts import Cuts
from microagg.bounds.heuristic import heuristic_sets
from microagg.bounds.master import Master, Solution
from microagg.bounds.pricing import Prices, Sets
from microagg.bounds.repair import repaired
from microagg.bounds.separation import violated_cuts
from microagg.kernels.compiling import kernel
from microagg.refine.highs import Stop

TOLERANCE = 1e-9  # an excess this little below 0 is none; in units of the mean price
LOOSE, TIGHT, SHARP = 1e-2, 1e-4, 1e-6  # gaps to which programs are solved: at first, at last, for cuts
NOTHING = 1e-4  # an excess this little below 0 is not worth another round
LISTED = 200_000
WORK = 40_000_000_000  # records that exact pricing looks at: some twenty seconds
MOST_COLUMNS, KEPT_COLUMNS = 40, 28  # for each record: above the first, the best are kept
PER_RECORD, PER_ROUND = 6, 4
NEIGHBOURS = 15  # times k: how many neighbours heuristic pricing looks at
SECOND = 3  # times k: among how many of them the second member is drawn
EXACT_PASSES = 4
LARGEST_PART = 6  # floor cuts count by 2, 3, ... up to this
LEAST_GAIN = 2e-5  # a round of cuts that raises the value by less is the last
CUT_ROUNDS = 40
CUTS_BETWEEN_PROOFS = 4
DEAD_CUT = 1e-5


@kernel
def costs_of_groups(points, members, offsets):
    """The SSE of each group: the sum of its pairs' squared distances, divided by its size."""
    d = points.shape[1]
    costs = np.empty(offsets.shape[0] - 1)
    for g in range(costs.shape[0]):
        total = 0.0
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(offsets[g], e):
                for c in range(d):
                    difference = points[members[e], c] - points[members[f], c]
                    total += difference * difference
        costs[g] = total / (offsets[g + 1] - offsets[g])
    return costs


@kernel
def _some_of_each(n, members, offsets, order, per_record, most):
    """The first sets in this order, leaving out those whose members are all in enough sets already."""
    used = np.zeros(n, np.int64)
    chosen = np.empty(min(most, order.shape[0]), np.int64)
    number = 0
    for t in range(order.shape[0]):
        g = order[t]
        wanted = False
        for e in range(offsets[g], offsets[g + 1]):
            wanted = wanted or used[members[e]] < per_record
        if wanted:
            for e in range(offsets[g], offsets[g + 1]):
                used[members[e]] += 1
            chosen[number] = g
            number += 1
            if number == chosen.shape[0]:
                break
    return chosen[:number]


class Climb:
    """A proof that gets better step by step. Points are centred and in units in which prices are near 1.

    `best` are the prices of the best proof, `best_cuts` the cuts that they speak of, and `value` what they
    prove; `cost` is about the optimum over the groups known. `finished` says that nothing more can be gained.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        near: np.ndarray,
        records: np.ndarray,
        work: int = WORK,
        cut_rounds: int = CUT_ROUNDS,
    ) -> None:
        n = len(points)
        self.k, self.points, self._work, self._most_cut_rounds = k, points, work, cut_rounds
        self.pricing = ChainPricing(points, k)
        self.best = Prices(near[:, : k - 1].sum(axis=1) / (2 * k), np.empty(0))
        members, offsets = _around_each(records, k)
        costs = costs_of_groups(points, members, offsets)
        first = costs[:: len(costs) // n]  # of each record with its nearest
        self.master = Master(np.maximum(3.0 * first, 1.0), points)
        self.master.add(members, offsets, costs)
        self.best_cuts = self.master.cuts
        self.value = self.best.sum(self.best_cuts)
        self.finished = False
        self.cost = np.inf
        self._near = np.ascontiguousarray(records[:, : NEIGHBOURS * k].astype(np.int64))
        self._random = np.random.Generator(np.random.PCG64(0))
        self._tolerance = LOOSE
        self._phase = "converge"
        self._rounds = self._passes = self._cut_rounds = 0
        self._value_before_cuts = -np.inf
        self._solution: Solution | None = None

    def know(self, members: np.ndarray, offsets: np.ndarray) -> int:
        """Make these groups known (records in ascending order)."""
        return self.master.add(members, offsets, costs_of_groups(self.points, members, offsets))

    def step(self, stop: Stop) -> None:
        """One round. If `stop` says so in the middle of it, everything is as before."""
        if self._phase == "converge":
            self._converge(stop)
        elif self._phase == "prove":
            self._prove(stop)
        else:
            self._cut(stop)

    def _converge(self, stop: Stop) -> None:
        solution = self.master.solve(self._tolerance, stop)
        if solution is None:
            return
        self._solution, self.cost = solution, solution.cost
        self._forget(solution)
        least, new = self._price(solution.prices)
        self._rounds += 1
        if self.master.loosen(solution):
            return
        n = len(self.points)
        if -least * n / self.k >= 5.0 * self._tolerance * solution.value and new >= 0.05 * n:
            return
        between_cuts = len(self.master.cuts) > 0
        if self._tolerance <= TIGHT and (new == 0 or least > -(10.0 if between_cuts else 1.0) * NOTHING):
            self._passes = 0
            self._phase = self._after_converging()
        self._tolerance = max(0.2 * self._tolerance, TIGHT)

    def _after_converging(self) -> str:
        """Proofs are made before the first cuts, after some rounds of them, and in the end."""
        assert self._solution is not None
        if len(self.master.cuts) == 0 or self._cut_rounds % CUTS_BETWEEN_PROOFS == 0:
            return "prove"
        return "cut"

    def _price(self, prices: Prices) -> tuple[float, int]:
        """Heuristic pricing around every record: the least excess, and how many new groups."""
        n, k, cuts = len(self.points), self.k, self.master.cuts
        sizes = [k]
        if len(cuts):
            sizes = [*range(k, 2 * k)] if self._rounds % 3 == 2 else [k, k + 1]
        least, new = 0.0, 0
        for place in range(3):
            second = np.full(n, -1, np.int64)
            if place:
                second = self._random.integers(0, min(SECOND * k, self._near.shape[1]), n)
            for s in sizes if place == 0 else sizes[:2]:
                if s > self._near.shape[1] + 1:
                    continue
                members, excess = np.empty((n, s), np.int32), np.empty(n)
                count = heuristic_sets(
                    self.pricing.squares, self._near, prices.pi, s, second, -1e-7, *cuts.of_records,
                    *cuts.members, prices.penalties, cuts.parts, members, excess,
                )  # fmt: skip
                if count:
                    least = min(least, float(excess[:count].min()))
                    offsets = np.arange(0, (count + 1) * s, s, dtype=np.int64)
                    new += self.know(members[:count].reshape(-1), offsets)
        return least, new

    def _forget(self, solution: Solution) -> None:
        """Keep programs small: the groups of the least excess stay."""
        n = len(self.points)
        if len(self.master) > MOST_COLUMNS * n:
            excess = self.excess(solution.prices)
            order = np.argsort(excess, kind="stable")[: KEPT_COLUMNS * n]
            self.master.keep(np.sort(order))
            self._solution = None

    def excess(self, prices: Prices, cuts: Cuts | None = None) -> np.ndarray:
        """What each known group costs above these prices, penalties of cuts (the present ones) included."""
        master = self.master
        cuts = master.cuts if cuts is None else cuts
        sizes = np.diff(master.offsets)
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        worth = np.bincount(numbers, prices.pi[master.members], minlength=len(sizes))
        cut, column, times = cuts.held(master.members, master.offsets)
        penalties = np.bincount(column, prices.penalties[cut] * times, minlength=len(sizes))
        return master.costs - worth + penalties

    def _prove(self, stop: Stop) -> None:
        """List all sets that are too cheap; prices lowered on them are a proof."""
        solution = self._solution
        assert solution is not None
        cuts = self.master.cuts
        # without cuts, sets of k records are enough (`pricing.py` says why)
        sizes = None if (solution.prices.penalties > 0.0).any() else [self.k]
        cheap = self.pricing.sets(
            solution.prices, cuts, -TOLERANCE, sizes=sizes, most=LISTED, work=self._work, stop=stop
        )
        if stop():
            return
        self._passes += 1
        improved = 0.0
        if cheap.complete:
            proof = repaired(solution.prices, cheap)
            value = proof.sum(cuts)
            improved = solution.prices.sum(cuts) - value
            if value > self.value:
                self.best, self.best_cuts, self.value = proof, cuts, value
        new = self._learn(cheap)
        if new and self._passes < EXACT_PASSES and improved > 1e-6 * self.value:
            self._phase = "converge"
            self._tolerance = TIGHT
            return
        self._phase = "cut"

    def _learn(self, cheap: Sets) -> int:
        n = len(self.points)
        order = np.argsort(cheap.excess, kind="stable")
        chosen = _some_of_each(n, cheap.members, cheap.offsets, order, PER_RECORD, PER_ROUND * n)
        return self.know(*taken(cheap.members, cheap.offsets, chosen)) if len(chosen) else 0

    def _cut(self, stop: Stop) -> None:
        solution = self.master.solve(SHARP, stop)
        if solution is None:
            return
        gained = solution.value - self._value_before_cuts
        self._value_before_cuts = solution.value
        self._cut_rounds += 1
        cuts = []
        if self._cut_rounds <= self._most_cut_rounds and gained > LEAST_GAIN * solution.value:
            alive = np.flatnonzero(solution.prices.penalties > DEAD_CUT)
            if len(alive) < len(self.master.cuts):
                self.master.drop_cuts(alive)
            cuts = self._violated(solution)
        if not cuts:
            self.finished = True
            return
        self.master.cut([records for records, _ in cuts], [p for _, p in cuts])
        self._tolerance = 10.0 * TIGHT
        self._phase = "converge"

    def _violated(self, solution: Solution) -> list[tuple[tuple[int, ...], int]]:
        shares, master, n = solution.shares, self.master, len(self.points)
        used = np.flatnonzero(shares > 0.002)
        members, offsets = taken(master.members, master.offsets, used)
        parts = tuple(range(2, min(LARGEST_PART, self.k) + 1))
        large = n > 2000
        cuts = violated_cuts(
            n,
            members,
            offsets,
            shares[used],
            parts,
            most=1500 if large else 200,
            of_a_record=6 if large else 4,
        )
        known = set(zip(master.cuts.records, master.cuts.parts.tolist(), strict=True))
        return [cut for cut in cuts if cut not in known]


def taken(members: np.ndarray, offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Members and offsets of the chosen sets alone.

    >>> [x.tolist() for x in taken(np.array([5, 6, 7, 8]), np.array([0, 2, 3, 4]), np.array([0, 2]))]
    [[5, 6, 8], [0, 2, 3]]
    """
    sizes = np.diff(offsets)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(offsets[:-1][chosen] - starts[:-1], sizes) + np.arange(starts[-1])
    return members[places], starts


def _around_each(records: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Each record with its nearest k - 1 others."""
    n = len(records)
    numbers = np.arange(n, dtype=np.int32)[:, None]
    flat = np.sort(np.hstack([numbers, records[:, : k - 1]]), axis=1).reshape(-1).astype(np.int32)
    return flat, np.arange(0, (n + 1) * k, k, dtype=np.int64)
