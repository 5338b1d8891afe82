"""Column generation: better and better prices, each a proof, from linear programs over a few of
the possible groups.

A linear program over the groups known so far gives prices that are right for those and too high for
others. On the way from the best proof to these prices a point is chosen (in-out smoothing), and all
sets that are too cheap there are listed: they become known, and lowering the prices on them makes a
new proof. Where the program splits groups among an odd number of records, cuts forbid it: first on
triples, then on five and seven records.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.cuts import violated_cuts
from microagg.bounds.master import Master, Solution
from microagg.bounds.neighbours import listed_both_ways
from microagg.bounds.pricing import Prices, Pricing, Sets
from microagg.bounds.repair import repaired
from microagg.kernels.compiling import kernel
from microagg.refine.highs import Stop

TOLERANCE = 1e-9  # an excess this little below 0 is none; in units of the mean price
CLOSE = 3e-4  # cuts are looked for once program and proof are this near to each other
EXACT = 1e-7
LISTED = 100_000
WORK, MOST_WORK = (
    60_000_000,
    4_000_000_000,
)  # how far to look for sets: a third of a second at first, then more if need be
PER_RECORD, PER_ROUND = 6, 4
LONGEST, SHORTEST = 0.7, 1e-6  # how far to go from the best proof towards the program's prices
CUT_SIZES = (3, 5, 7)
CUTS_AT_ONCE = 400
ENOUGH_CUTS = 20


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
    """The first sets in this order, leaving out those whose members are all in enough sets
    already.
    """
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
    """A proof that gets better with every `step`. Points are centred and in units in which
    prices are near 1.

    `best` are the prices of the best proof and `value` what they prove; `cost` is the optimum over
    the groups known, above which `value` cannot get before more groups are known. `finished` says
    that nothing more can be gained.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        near: np.ndarray,
        records: np.ndarray,
        most_work: int = MOST_WORK,
    ) -> None:
        n = len(points)
        self.k, self.points, self._most_work = k, points, most_work
        self.pricing = Pricing(points, k, listed_both_ways(near, records))
        self.best = Prices(near[:, : k - 1].sum(axis=1) / (2 * k), np.empty(0))
        members, offsets = _around_each(records, k)
        costs = costs_of_groups(points, members, offsets)
        ceilings = costs[
            :: len(costs) // n
        ]  # no price above 0 can exceed the cost of a record with its nearest
        self.master = Master(np.maximum(ceilings, TOLERANCE))
        self.master.add(members, offsets, costs)
        self.value = self.best.sum(self.master.cuts)
        self.finished = False
        self.cost = np.inf
        self._solution: Solution | None = None
        self._stride, self._close = 0.5, CLOSE
        self._looked_for_cuts = False
        self._work = WORK

    def know(self, members: np.ndarray, offsets: np.ndarray) -> None:
        """Make these groups known (records in ascending order)."""
        if self.master.add(members, offsets, costs_of_groups(self.points, members, offsets)):
            self._solution = None

    def step(self, stop: Stop) -> None:
        """One round. If `stop` says so in the middle of it, everything is as before."""
        solution = self._solution or self.master.solve(stop)
        if solution is None:
            return
        gap = (solution.cost - self.value) / max(self.value, TOLERANCE)
        if gap <= self._close and not (self._looked_for_cuts and self._solution):
            cuts = self._violated(solution)
            if stop():
                return
            self._keep(solution)
            self._close = max(0.6 * self._close, EXACT)
            self._looked_for_cuts = True
            if cuts:
                self._cut(cuts)
                return
        if gap <= EXACT:
            self._keep(solution)
            self.finished = not self.master.loosen()
            self._solution = None if not self.finished else self._solution
            return
        between = self.best.towards(solution.prices, self._stride)
        cheap = self.pricing.sets(
            between, self.master.cuts, -TOLERANCE, most=LISTED, work=self._work, stop=stop
        )
        if stop():
            return
        self._keep(solution)
        self._learn(between, cheap)

    def _keep(self, solution: Solution) -> None:
        if self._solution is not solution:
            self._solution, self.cost, self._looked_for_cuts = solution, solution.cost, False

    def _learn(self, prices: Prices, cheap: Sets) -> None:
        """Prices and all sets that are too cheap for them make a proof, and new groups."""
        if cheap.complete:
            proof = repaired(prices, cheap)
            if (value := proof.sum(self.master.cuts)) > self.value:
                self.best, self.value = proof, value
            self._stride = min(1.5 * self._stride, LONGEST)
        else:  # too far from the best proof
            self._stride *= 0.5
            self._work = min(2 * self._work, self._most_work)
            self.finished = self._stride < SHORTEST
        order = np.argsort(cheap.excess, kind="stable")
        n = len(self.points)
        chosen = _some_of_each(n, cheap.members, cheap.offsets, order, PER_RECORD, PER_ROUND * n)
        if len(chosen):
            self.know(*taken(cheap.members, cheap.offsets, chosen))

    def _violated(self, solution: Solution) -> list[tuple[int, ...]]:
        shares, master = solution.shares, self.master
        fractional = np.flatnonzero((shares > 1e-6) & (shares < 1.0 - 1e-6))
        members, offsets = taken(master.members, master.offsets, fractional)
        cuts: list[tuple[int, ...]] = []
        known = set(master.cuts.records)
        for size in CUT_SIZES:
            if len(cuts) < ENOUGH_CUTS:
                found = violated_cuts(
                    len(self.points), members, offsets, shares[fractional], size, most=CUTS_AT_ONCE
                )
                cuts += [cut for cut in found if cut not in known]
        return cuts

    def _cut(self, cuts: list[tuple[int, ...]]) -> None:
        self.master.cut(cuts)
        self.best = Prices(self.best.pi, np.append(self.best.penalties, np.zeros(len(cuts))))
        self._solution = None
        self._stride = max(self._stride, 0.5)


def taken(
    members: np.ndarray, offsets: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Members and offsets of the chosen sets alone.

    >>> [x.tolist() for x in taken(np.array([5, 6, 7, 8]), np.array([0, 2, 3, 4]), np.array([0, 2]))]
    [[5, 6, 8], [0, 2, 3]]
    """
    sizes = np.diff(offsets)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(offsets[:-1][chosen] - starts[:-1], sizes) + np.arange(starts[-1])
    return members[places], starts


def _around_each(records: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Each record with its nearest: groups of k, k + 1, ..., 2k - 1 as far as the lists go,
    record by record.
    """
    n, m = records.shape
    own = np.arange(n, dtype=np.int32)[:, None]
    largest = min(2 * k - 1, m + 1)
    rows = [np.sort(np.hstack([own, records[:, : s - 1]]), axis=1) for s in range(k, largest + 1)]
    flat = np.concatenate(rows, axis=1).reshape(-1).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.tile(np.arange(k, largest + 1), n))])
    return flat, offsets.astype(np.int64)
