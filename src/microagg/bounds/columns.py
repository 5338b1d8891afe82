"""Column generation: better and better prices, from linear programs over some possible groups.

0. *Begin.* With more than two thousand records, a first-order method finds groups (`large.py`).
1. *Converge.* An interior-point solution over the groups known so far gives prices; heuristic
   pricing finds groups that are too cheap under them, until it finds none.
2. *Prove.* Exact pricing lists all sets that are still too cheap. They become known, and lowering
   the prices on them makes a proof (`repair.py`). Once few are left, the prices hardly change.
3. *Cut.* Where the program splits groups, floor cuts forbid it; then it converges again.
4. *Polish.* In the end the program is solved more exactly, and a last proof is made.

Proofs are also attempted on the way, so that the work can be stopped at any moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.bounds.chains import ChainPricing
from microagg.bounds.cuts import Cuts
from microagg.bounds.groups import (
    costs_of_groups,
    groups_around_each,
    select_groups,
    some_of_each,
)
from microagg.bounds.large import LargeProgram
from microagg.bounds.master import Master, Solution
from microagg.bounds.pricing import TOLERANCE, Prices, Sets, excess_of_groups
from microagg.bounds.repair import repaired
from microagg.bounds.separation import violated_cuts
from microagg.kernels.heuristic_sets import heuristic_sets
from microagg.refine.highs import Stop

LOOSE, TIGHT, SHARP = 1e-2, 1e-4, 1e-6  # relative gaps of programs: at first, at last, for cuts
# Shares of the value that repair would take off for the groups that a round found: with less,
# another round gains nothing. Between rounds of cuts it is a part of what the last one gained.
NOTHING, NOTHING_IN_THE_END = 1e-5, 2e-6
PART_OF_GAIN, FIRST_GAIN = 0.05, 0.01
MANY = 2000  # records: with more, groups are found by a first-order method first
LISTED = 200_000
WORK = 40_000_000_000  # records that exact pricing looks at: some twenty seconds
SHARE_OF_ATTEMPTS = 16  # an attempt on the way gets so much less
# A proof that looks at fewer records is made after every round of cuts; with many records it takes
# less time than a solution, and lists groups that heuristic pricing misses.
CHEAP_PROOF, CHEAP_PROOF_OF_MANY = 1_000_000_000, 8_000_000_000
ROUNDS_BETWEEN_ATTEMPTS = 6
MOST_COLUMNS, KEPT_COLUMNS = 40, 28  # for each record: above the first, the best are kept
PER_RECORD, PER_ROUND = 6, 4
NEIGHBOURS = 15  # times k: how many neighbours heuristic pricing looks at
SECOND = 3  # times k: among how many of them the second member is drawn
ATTEMPTS, ATTEMPTS_FOR_MANY = 3, 5  # with other second members each
LOOKS = 20  # by k: how often prices of one solution are repaired and looked at again, at most
LARGER = 5  # sizes beyond k - 1 that are looked at in every round, with many records
FEW = 0.02  # new groups for each record: fewer, and there is no need to look again
ROOTS = 256  # records around which heuristic pricing looks between two looks at the clock
EXACT_PASSES = 4
LARGEST_PART = 6  # floor cuts count by 2, 3, ... up to this
LEAST_GAIN = 5e-6  # a round of cuts that raises the value by less is the last
CUT_ROUNDS = 40
CUTS_BETWEEN_PROOFS = 4
DEAD_CUT = 1e-5


class Budget(NamedTuple):
    """Amounts of work: `work` bounds exact pricing, `cut_rounds` the rounds of cuts."""

    work: int = WORK
    cut_rounds: int = CUT_ROUNDS


class ColumnGeneration:
    """A proof that gets better step by step.

    Points are centred and in units in which prices are near 1. `best` are the prices of the best
    proof, `best_cuts` the cuts that they belong to, and `value` the sum that they prove; `cost` is
    about the optimum over the groups known. `finished` means that nothing more can be gained.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        near: np.ndarray,
        records: np.ndarray,
        budget: Budget | None = None,
    ) -> None:
        self.k, self.points, self._budget = k, points, budget or Budget()
        self.pricing = ChainPricing(points, k)
        self.best = Prices(near[:, : k - 1].sum(axis=1) / (2 * k), np.empty(0))
        members, offsets = groups_around_each(records, k)
        costs = costs_of_groups(points, members, offsets)
        self.master = Master(np.maximum(3.0 * costs, 1.0), points)
        self.master.add(members, offsets, costs)
        self.best_cuts = self.master.cuts
        self.value = self.best.sum(self.best_cuts)
        self.finished = False
        self.cost = np.inf
        self._near = np.ascontiguousarray(records[:, : NEIGHBOURS * k].astype(np.int64))
        self._random = np.random.Generator(np.random.PCG64(0))
        self._tolerance = LOOSE
        self._phase = "converge"
        self._rounds = self._passes = self._rounds_since_proof = 0
        self.cut_rounds = 0
        """How often cuts have been sought."""
        self._proof_work = 0
        self._polishing = False
        self._value_before_cuts, self._gain = -np.inf, FIRST_GAIN
        self._solution: Solution | None = None
        self._first = LargeProgram(points, k, records, self.best.pi) if len(points) > MANY else None
        if self._first is not None:
            self._phase = "begin"

    def know(self, members: np.ndarray, offsets: np.ndarray) -> int:
        """Make these groups known (records in ascending order)."""
        return self.master.add(members, offsets, costs_of_groups(self.points, members, offsets))

    def step(self, stop: Stop) -> None:
        """Do one round. If `stop` interrupts it, the best proof is as before."""
        {
            "begin": self._begin,
            "converge": self._converge,
            "attempt": self._attempt,
            "prove": self._prove,
            "cut": self._cut,
        }[self._phase](stop)

    @property
    def converged(self) -> bool:
        """Return True once the prices of the present program hardly change any more."""
        return self._phase in ("prove", "cut")

    @property
    def prices(self) -> Prices:
        """The prices of the present program: no proof yet."""
        return self.best if self._solution is None else self._solution.prices

    def _begin(self, stop: Stop) -> None:
        """Find groups by a first-order method; factors of thousands of rows take far longer."""
        first = self._first
        assert first is not None
        first.step(stop)
        if stop() or not first.converged:
            return
        self.know(*first.groups)
        prices, n = Prices(first.prices, np.empty(0)), len(self.points)
        self.cost = float(first.prices.sum())
        shares = np.zeros(len(self.master))
        self._solution = Solution(self.cost, self.cost, prices, shares, np.zeros(n))
        self._first, self._phase, self._tolerance = None, "attempt", TIGHT

    def _converge(self, stop: Stop) -> None:
        solution = self.master.solve(self._tolerance, stop)
        if solution is None:
            return
        self._solution, self.cost = solution, solution.cost
        self._forget(solution)
        new, missing = self.find(solution.prices, stop)
        self._rounds += 1
        self._rounds_since_proof += 1
        if stop() or self.master.loosen(solution):
            return
        n, has_cuts = len(self.points), len(self.master.cuts) > 0
        if missing >= self._tolerance * solution.value and new >= 0.05 * n:
            if not has_cuts and self._rounds_since_proof >= ROUNDS_BETWEEN_ATTEMPTS:
                self._phase = "attempt"
            return
        enough = max(NOTHING, PART_OF_GAIN * self._gain if has_cuts else 0.0)
        enough = NOTHING_IN_THE_END if self._polishing else enough
        if self._tolerance <= max(TIGHT, enough) and missing <= enough * solution.value:
            self._passes = 0
            self._phase = self._phase_after_converging()
        elif self._tolerance > TIGHT and not has_cuts:
            self._phase = "attempt"
        lowest = SHARP if self._polishing else TIGHT
        self._tolerance = max(0.2 * self._tolerance, lowest)

    def _phase_after_converging(self) -> str:
        """Return "prove" before the first cuts, after some rounds of them, and in the end."""
        many = len(self.points) > MANY
        cheap = self._proof_work <= (CHEAP_PROOF_OF_MANY if many else CHEAP_PROOF)
        often = cheap or self.cut_rounds % CUTS_BETWEEN_PROOFS == 0
        return "prove" if len(self.master.cuts) == 0 or often or self._polishing else "cut"

    def find(self, prices: Prices, stop: Stop) -> tuple[int, float]:
        """Price heuristically; return how many groups are new, and what repair takes off for them.

        Where a solution takes long, repaired prices are priced again: that leads to other groups.
        """
        n, master = len(self.points), self.master
        new, missing = 0, 0.0
        for _ in range(max(LOOKS // self.k, 1) if n > MANY else 1):
            known = len(master)
            more = self._price(prices, stop)
            if stop():
                break
            new += more
            members, offsets = select_groups(
                master.members, master.offsets, np.arange(known, len(master))
            )
            excess = excess_of_groups(members, offsets, master.costs[known:], prices, master.cuts)
            lowered = repaired(prices, Sets(members, offsets, excess, True))
            missing += float(prices.pi.sum() - lowered.pi.sum())
            prices = lowered
            if more < FEW * n:
                break
        return new, missing

    def _price(self, prices: Prices, stop: Stop) -> int:
        """Price heuristically around every record; return how many groups are new."""
        n, k, cuts = len(self.points), self.k, self.master.cuts
        many = n > MANY  # solutions take far longer than looking for groups
        sizes = [k]
        if len(cuts):
            few = [*range(k, min(k + LARGER, 2 * k))] if many else [k, k + 1]
            sizes = [*range(k, 2 * k)] if self._rounds % 3 == 2 else few
        new = 0
        for attempt in range(ATTEMPTS_FOR_MANY if many else ATTEMPTS):
            second = np.full(n, -1, np.int64)
            if attempt:
                second = self._random.integers(0, min(SECOND * k, self._near.shape[1]), n)
            for s in sizes if attempt == 0 else sizes[:2]:
                if s > self._near.shape[1] + 1:
                    continue
                members, excess = np.empty((n, s), np.int32), np.empty(n)
                count = 0
                for first in range(0, n, ROOTS):
                    if stop():
                        return new
                    count = heuristic_sets(
                        self.pricing.squares, self._near, prices.pi, s, second, -1e-7,
                        *cuts.of_records, *cuts.members, prices.penalties, cuts.parts,
                        first, min(first + ROOTS, n), members, excess, count,
                    )  # fmt: skip
                if count:
                    offsets = np.arange(0, (count + 1) * s, s, dtype=np.int64)
                    new += self.know(members[:count].reshape(-1), offsets)
        return new

    def _forget(self, solution: Solution) -> None:
        """Keep programs small: the groups of the least excess stay."""
        n = len(self.points)
        if len(self.master) > MOST_COLUMNS * n:
            excess = self.excess(solution.prices)
            order = np.argsort(excess, kind="stable")[: KEPT_COLUMNS * n]
            self.master.keep(np.sort(order))

    def excess(self, prices: Prices, cuts: Cuts | None = None) -> np.ndarray:
        """Return the cost of each known group above these prices, penalties of cuts included."""
        master = self.master
        return excess_of_groups(
            master.members,
            master.offsets,
            master.costs,
            prices,
            master.cuts if cuts is None else cuts,
        )

    def _attempt(self, stop: Stop) -> None:
        """Try a proof before the program has converged, with little work."""
        self._phase = "converge"
        self._rounds_since_proof = 0
        assert self._solution is not None
        work = self._budget.work // SHARE_OF_ATTEMPTS
        for share in (1.0, 0.5):
            pi = self.best.pi + share * (self._solution.prices.pi - self.best.pi)
            cheap = self._too_cheap(Prices(pi, np.empty(0)), work, stop)
            if stop():
                return
            if cheap.complete:
                self._take_over(repaired(Prices(pi, np.empty(0)), cheap), self.master.cuts)
                return

    def _too_cheap(self, prices: Prices, work: int, stop: Stop) -> Sets:
        """List the sets that cost less than these prices, as far as `work` goes."""
        # without cuts, sets of k records are enough (`pricing.py` has the proof)
        sizes = None if (prices.penalties > 0.0).any() else [self.k]
        before = self.pricing.nodes
        cheap = self.pricing.sets(
            prices, self.master.cuts, -TOLERANCE, sizes=sizes, most=LISTED, work=work, stop=stop
        )
        self._proof_work = (self.pricing.nodes - before) * len(self.points)
        return cheap

    def _take_over(self, proof: Prices, cuts: Cuts) -> None:
        value = proof.sum(cuts)
        if value > self.value:
            self.best, self.best_cuts, self.value = proof, cuts, value

    def _prove(self, stop: Stop) -> None:
        """List all sets that are too cheap; prices lowered on them are a proof."""
        solution, cuts = self._solution, self.master.cuts
        assert solution is not None
        cheap = self._too_cheap(solution.prices, self._budget.work, stop)
        if stop():
            return
        self._passes += 1
        self._rounds_since_proof = 0
        improved = 0.0
        if cheap.complete:
            proof = repaired(solution.prices, cheap)
            improved = solution.prices.sum(cuts) - proof.sum(cuts)
            self._take_over(proof, cuts)
        new = self._learn(cheap)
        rough = len(cuts) > 0 and not self._polishing  # more cuts will follow
        enough = max(1e-6, 2.0 * PART_OF_GAIN * self._gain if rough else 0.0)
        if new and self._passes < EXACT_PASSES and improved > enough * self.value:
            self._phase = "converge"
            self._tolerance = SHARP if self._polishing else TIGHT
            return
        self.finished = self._polishing
        self._phase = "cut"

    def _learn(self, cheap: Sets) -> int:
        n = len(self.points)
        order = np.argsort(cheap.excess, kind="stable")
        chosen = some_of_each(n, cheap.members, cheap.offsets, order, PER_RECORD, PER_ROUND * n)
        if not len(chosen):
            return 0
        return self.know(*select_groups(cheap.members, cheap.offsets, chosen))

    def _cut(self, stop: Stop) -> None:
        solution = self.master.solve(SHARP, stop)
        if solution is None:
            return
        gained = solution.value - self._value_before_cuts
        cuts: list[tuple[tuple[int, ...], int]] = []
        if self.cut_rounds < self._budget.cut_rounds and gained > LEAST_GAIN * solution.value:
            cuts = self._violated(solution, stop)
        if stop():
            return
        if self.cut_rounds:
            self._gain = max(gained / solution.value, 0.0)
        self._value_before_cuts = solution.value
        self.cut_rounds += 1
        self._phase = "converge"
        if not cuts:
            self._polishing, self._tolerance = True, SHARP
            return
        alive = np.flatnonzero(solution.prices.penalties > DEAD_CUT)
        if len(alive) < len(self.master.cuts):
            self.master.drop_cuts(alive)
        self.master.cut([records for records, _ in cuts], [p for _, p in cuts])
        self._tolerance = 10.0 * TIGHT

    def _violated(self, solution: Solution, stop: Stop) -> list[tuple[tuple[int, ...], int]]:
        shares, master, n = solution.shares, self.master, len(self.points)
        used = np.flatnonzero(shares > 0.002)
        members, offsets = select_groups(master.members, master.offsets, used)
        large = n > 2000
        cuts = violated_cuts(
            n, members, offsets, shares[used],
            tuple(range(2, min(LARGEST_PART, self.k) + 1)),
            most=1500 if large else 200, of_a_record=6 if large else 4, stop=stop,
        )  # fmt: skip
        alive = solution.prices.penalties > DEAD_CUT
        known = {(master.cuts.records[c], int(master.cuts.parts[c])) for c in np.flatnonzero(alive)}
        return [cut for cut in cuts if cut not in known]
