"""Prices of many records: one linear program over all of them, solved by a first-order method.

A matrix of all pairs, or a factor with as many rows as records, is too large beyond some thousand
records. Here groups are found by heuristic pricing around every record, with distances among its
neighbours only, and the program over them is solved nearly (`first_order.py`). What still promises
too much is listed by exact pricing without a matrix, learned, and repaired in the end. Without
cuts.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.chains import ChainPricing
from microagg.bounds.cuts import Cuts
from microagg.bounds.first_order import BETWEEN_RESTARTS, FirstOrder
from microagg.bounds.groups import costs_of_groups, groups_around_each, select_groups, some_of_each
from microagg.bounds.master import Master
from microagg.bounds.pricing import TOLERANCE, Prices, Sets, excess_of_groups
from microagg.bounds.repair import repaired
from microagg.kernels.compiling import kernel
from microagg.kernels.heuristic_sets import heuristic_sets
from microagg.refine.highs import Stop

NEIGHBOURS, SECOND = 8, 3  # times k: neighbours looked at, and those a second member is drawn from
CEILING = 3.0  # times the cost of a record with its nearest: its highest price
ROUNDS = 60
ITERATIONS, LAST_ITERATIONS = 300, 2000
FEW = 0.02  # new groups for each record: fewer, and the program is solved more exactly
MOST_COLUMNS, KEPT_COLUMNS = 24, 16  # for each record: above the first, the best are kept
LISTED = 3_000_000
WORK = 40_000_000_000  # records that exact pricing looks at
SHRINKS = (1.0, 0.97, 0.9, 0.8)
PROOFS = 3
PER_RECORD = 8  # of the sets that exact pricing lists, so many of each record are learned
ROOTS = 1024  # records around which groups are sought between two looks at the clock


@kernel
def sets_around(
    points, near, prices, size, second, wanted, cut_starts, none, first, last, members, excess
):
    """Grow a set around each of records first..last - 1, with distances among its neighbours only.

    Returns how many with an excess below `wanted` are now in `members` and `excess`.
    """
    m, d = near.shape[1], points.shape[1]
    squares, local = np.zeros((m + 1, m + 1)), np.empty(m + 1, np.int64)
    local_near, local_prices = np.empty((m + 1, m), np.int64), np.empty(m + 1)
    local_second = np.full(m + 1, -1, np.int64)
    local_members, local_excess = np.empty((1, size), np.int32), np.empty(1)
    no_penalties = np.empty(0)
    for p in range(m):
        local_near[0, p] = p + 1
    number = 0
    for root in range(first, last):
        local[0] = root
        local[1:] = near[root]
        for p in range(m + 1):
            local_prices[p] = prices[local[p]]
            for q in range(p):
                x = 0.0
                for c in range(d):
                    difference = points[local[p], c] - points[local[q], c]
                    x += difference * difference
                squares[p, q] = squares[q, p] = x
        local_second[0] = second[root]
        grown = heuristic_sets(
            squares, local_near, local_prices, size, local_second, wanted,
            cut_starts, none, none, none, no_penalties, none,
            0, 1, local_members, local_excess, 0,
        )  # fmt: skip
        if grown:
            for p in range(size):
                members[number, p] = local[local_members[0, p]]
            members[number].sort()
            excess[number] = local_excess[0]
            number += 1
    return number


class LargeProgram:
    """Prices of all records, round by round; `pi` holds for the whole, and rises with every proof.

    `instant` are prices that hold in any case; points are in units in which they are near 1.
    """

    def __init__(
        self, points: np.ndarray, k: int, records: np.ndarray, instant: np.ndarray
    ) -> None:
        self.k, self.points, self.pi = k, points, instant.copy()
        self._instant = instant
        self._near = np.ascontiguousarray(records[:, : NEIGHBOURS * k].astype(np.int64))
        members, offsets = groups_around_each(records, k)
        costs = costs_of_groups(points, members, offsets)
        self._master = Master(np.maximum(CEILING * costs, 1.0), points)
        self._master.add(members, offsets, costs)
        self._shares = np.empty(0)
        self._method = FirstOrder(instant, self._master.ceilings)
        self._random = np.random.Generator(np.random.PCG64(0))
        self._rounds = self._proofs = 0
        self.converged = False
        """Whether hardly any groups are left to be found."""
        self.finished = False

    @property
    def proven(self) -> bool:
        """Return whether `pi` is more than instant prices."""
        return self._proofs > 0

    @property
    def prices(self) -> np.ndarray:
        """The prices of the present program: no proof yet."""
        return self._method.prices

    @property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The groups known: members and offsets."""
        return self._master.members, self._master.offsets

    @property
    def value(self) -> float:
        """The sum that is proven so far."""
        return float(self.pi.sum())

    def step(self, stop: Stop) -> None:
        """Do one round: solve the program and look for groups, or price exactly and prove."""
        if self.converged:
            self._prove(stop)
            return
        if not self._solve(ITERATIONS, stop):
            return
        new = self._price(stop)
        self._rounds += 1
        self.converged = new < FEW * len(self.points) or self._rounds >= ROUNDS

    def _solve(self, iterations: int, stop: Stop) -> bool:
        """Get nearer to an optimum of the program; False if `stop` interrupted it."""
        master, n = self._master, len(self.points)
        if len(master) > MOST_COLUMNS * n:
            excess = self._excess()
            kept = np.sort(np.argsort(excess, kind="stable")[: KEPT_COLUMNS * n])
            master.keep(kept)
            self._shares = self._shares[kept]
        grown = np.zeros(len(master))
        grown[: len(self._shares)] = self._shares
        self._shares = grown
        members = master.members.astype(np.int64)
        for _ in range(0, iterations, BETWEEN_RESTARTS):
            if stop():
                return False
            self._shares = self._method.run(members, master.offsets, master.costs, self._shares)
        return True

    def _excess(self) -> np.ndarray:
        """Return the cost of each known group above the prices of its members."""
        master, prices = self._master, Prices(self._method.prices, np.empty(0))
        return excess_of_groups(
            master.members, master.offsets, master.costs, prices, Cuts(len(self.points), [])
        )

    def _price(self, stop: Stop) -> int:
        """Grow sets around every record; return how many are new."""
        n, k, m = len(self.points), self.k, self._near.shape[1]
        none, starts = np.empty(0, np.int64), np.zeros(m + 2, np.int64)
        members, excess = np.empty((ROOTS, k), np.int32), np.empty(ROOTS)
        new = 0
        for attempt in range(2):
            second = np.full(n, -1, np.int64)
            if attempt:
                second = self._random.integers(0, min(SECOND * k, m), n)
            for first in range(0, n, ROOTS):
                if stop():
                    return new
                count = sets_around(
                    self.points, self._near, self._method.prices, k, second, -1e-3,
                    starts, none, first, min(first + ROOTS, n), members, excess,
                )  # fmt: skip
                new += self._know(members[:count].reshape(-1), np.arange(0, count * k + 1, k))
        return new

    def _know(self, members: np.ndarray, offsets: np.ndarray) -> int:
        return self._master.add(members, offsets, costs_of_groups(self.points, members, offsets))

    def _prove(self, stop: Stop) -> None:
        """Price all records exactly; prices lowered on the sets that are too cheap are a proof."""
        if not self._solve(LAST_ITERATIONS, stop):
            return
        n, pricing = len(self.points), ChainPricing(self.points, self.k, stored=False)
        solved, new = self._method.prices, 0
        for share in SHRINKS:
            prices = Prices(self._instant + share * (solved - self._instant), np.empty(0))
            cheap = pricing.sets(
                prices, Cuts(n, []), -TOLERANCE,
                sizes=[self.k], most=LISTED, work=WORK, stop=stop,
            )  # fmt: skip
            if stop():
                return
            new = self._learn(cheap)
            if cheap.complete:
                pi = repaired(prices, cheap).pi
                if pi.sum() > self.pi.sum():
                    self.pi = pi
                break
        self._proofs += 1
        self.finished = new == 0 or self._proofs == PROOFS

    def _learn(self, cheap: Sets) -> int:
        order = np.argsort(cheap.excess, kind="stable")
        n = len(self.points)
        chosen = some_of_each(n, cheap.members, cheap.offsets, order, PER_RECORD, PER_RECORD * n)
        return (
            self._know(*select_groups(cheap.members, cheap.offsets, chosen)) if len(chosen) else 0
        )
