"""Search and proof against each other: better partitions from above, a rising bound from below,
until they meet.

The groups that the proof comes to know on its way are those that good partitions are made of: an
integer program over them finds better partitions. A better partition in turn leaves fewer groups to
look at, because it can only be beaten by groups whose excess over the proof's prices is at most the
gap. Once all of those can be listed, one integer program over them is the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microagg.bounds.bound import Bound
from microagg.bounds.columns import MOST_WORK, TOLERANCE, Climb, costs_of_groups, taken
from microagg.bounds.listening import Listener
from microagg.bounds.lower import ROUNDS, Proof
from microagg.errors import InputError
from microagg.kernels import sums
from microagg.measures.loss.sse import loss_of_partition
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.recombine import best_cover

Search = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""A search for better partitions: search(labels, rng, turn) -> labels. Turn 0 comes before any
bound and should be short.
"""

LISTED = 100_000  # how many groups one integer program takes
WORK = 1_000_000_000  # how far to look for them
# Groups for each record in the programs that look for a better partition. Those over few groups are
# solved at the root of their
# tree, in no time, so all of them are tried; from the first that is not, larger steps are taken,
# and a little patience.
FEWEST, MOST, STEP, LARGE_STEP = 1.5, 4.0, 0.125, 0.5
NODES, FEW_NODES, ROOT = 2000, 100, 1
SEARCHES = 5  # at most, in one duel


class Pace(NamedTuple):
    """How much is spent before something else is tried."""

    work: int  # how far pricing may look
    patience: int  # programs in a row that took their time and found nothing better
    patience_again: int  # the same once such a program has helped, or another search has been made
    narrow: float  # a gap, as a share of the bound, that is not worth another search


TO_THE_END = Pace(MOST_WORK, patience=2, patience_again=2, narrow=1e-3)
# where no proof is wanted in the end: more of it took half as long again or twice as long on
# Census, for 0 to 4 thousandths of the loss
IN_SHORT = Pace(500_000_000, patience=2, patience_again=1, narrow=2e-3)


def prove(
    problem: Problem,
    labels: np.ndarray,
    *,
    rng: np.ndarray,
    watch: Watch | None = None,
    search: Search | None = None,
) -> tuple[np.ndarray, Bound]:
    """The best partition found from `labels` on, and a lower bound on what any partition loses.

    It ends when the partition is proven optimal, when neither side gets any further, or at a
    checkpoint of the watch. Optimality may have been shown by an integer program over all groups
    that are left in question; the certificate then still claims what its numbers prove by
    themselves (`certified_sse`), which may be a little less than `sse`. With `problem.accept` the
    bound holds all the more, but only a partition that meets it is called optimal.

    >>> labels, bound = prove(Problem.of([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], 3), np.array([0, 1, 0, 1, 0, 1]),
    ...                       rng=np.zeros(1, np.uint64))
    >>> labels.tolist(), bound.optimal
    ([0, 0, 0, 1, 1, 1], True)
    """
    check_weights(problem)
    labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
    duel = Duel(problem, labels, Listener(watch))
    searches = 0
    while not duel.over:
        if search is not None and searches < SEARCHES and duel.wants_search(searches):
            duel.take(search(duel.labels, rng, searches))
            duel.begin_anew()
            searches += 1
        else:
            duel.round()
        duel.checkpoint()
    return duel.labels, duel.bound()


def check_weights(problem: Problem) -> None:
    """Raise where records have weights: what is proven holds without them only."""
    if problem.weights is not None:
        raise InputError("there is no bound for weighted records yet; leave the weights out.")


def improve_by_set_partitioning(
    problem: Problem,
    labels: np.ndarray,
    watch: Watch,
    search: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """A better partition, by integer programs over the groups that a proof comes to know; the
    proof is not brought to its end.

    If it stays far from what is proven, `search` may look for another partition, with whose groups
    they try once more. For some thousand records and k up to 5: the work grows steeply with k.

    >>> improve_by_set_partitioning(Problem.of([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], 3), np.array([0, 1, 0, 1, 0, 1]), Watch()).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
    duel = Duel(problem, labels, Listener(watch), IN_SHORT)
    while not duel.over:
        if duel.at_the_top:
            if duel.narrow or search is None:
                break
            duel.take(search(duel.labels))
            duel.begin_anew()
            search = None
        duel.round()
        duel.checkpoint()
    return duel.labels


class Duel:
    """A partition, a proof, and the gap between them."""

    def __init__(
        self, problem: Problem, labels: np.ndarray, listener: Listener, pace: Pace = TO_THE_END
    ) -> None:
        self.problem, self.labels, self.listener, self.pace = problem, labels, listener, pace
        self.proof = Proof(problem.points, problem.k, listener, pace.work)
        self.optimal = len(problem.points) < 2 * problem.k or self.proof.sst == 0.0
        self.stuck = False
        self._loss = loss_of_partition(problem.points, labels)
        self.begin_anew()
        self._patience = pace.patience
        self._rounds = 0
        if self.proof.climb is not None:
            self._tell_groups(self.proof.climb)

    @property
    def over(self) -> bool:
        return self.optimal or self.stuck or self.listener.watch.stopped is not None

    def begin_anew(self) -> None:
        """Let the programs begin with few groups again."""
        self._groups_a_record = FEWEST
        self._easy, self._in_vain = True, 0
        self._patience = self.pace.patience_again

    @property
    def at_the_top(self) -> bool:
        """Whether all programs that look for a better partition have been tried, as far as they
        are easy.
        """
        return self._groups_a_record > MOST or self._in_vain >= self._patience

    @property
    def gap(self) -> float:
        """By how much the partition's SSE is above what the prices prove."""
        return self._loss["SSE"] - self.proof.value

    def wants_search(self, searches: int) -> bool:
        """A search comes before the first round, one once the proof is done, and more while the
        programs leave a gap.
        """
        if searches <= 1:
            return searches == 0 or self.proof.finished
        return self.at_the_top and not self.narrow and not self.optimal

    @property
    def narrow(self) -> bool:
        """Whether partition and proof have come so near that another search would hardly find
        more.
        """
        return self.gap <= self.pace.narrow * self.proof.value

    def checkpoint(self) -> None:
        self._rounds += 1
        self.proof.checkpoint(self._loss["IL"], min(self._rounds, ROUNDS), ROUNDS)

    def take(self, labels: np.ndarray) -> None:
        """Take over a partition if it is better, and all its groups are allowed."""
        labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
        loss = loss_of_partition(self.problem.points, labels)
        if loss["SSE"] < self._loss["SSE"] and self._accepts_all(labels):
            self.labels, self._loss = labels, loss
            if self.proof.climb is not None:
                self._tell_groups(self.proof.climb)

    def round(self) -> None:
        """One step of the proof; once that is done, better partitions from ever more groups; at
        last all that are left.
        """
        if self._meets():
            self.optimal = True
            return
        if self.proof.climb is None:
            self.stuck = True
            return
        if not self.proof.finished:
            self.proof.step()
        elif not self.at_the_top:
            self._climb_ladder(self.proof.climb)
        else:
            before = self.gap
            self._close(self.proof.climb)
            self.stuck = self.gap >= before and not self.optimal

    def _climb_ladder(self, climb: Climb) -> None:
        """One more program over known groups, with more of them than the last."""
        before = self._loss["SSE"]
        groups, all_of_them = self._known(climb, self._groups_a_record)
        if self._easy:
            self._easy = self._improve(climb, *groups, ROOT)
            if self._easy:  # nothing is left to add to a program that had all
                self._groups_a_record += MOST if all_of_them else STEP
        else:
            self._improve(climb, *groups, FEW_NODES)
            self._groups_a_record += LARGE_STEP
            self._in_vain += 1
            if self._loss["SSE"] < before:
                self._in_vain, self._patience = 0, self.pace.patience_again

    def _meets(self) -> bool:
        """Whether nothing is left between partition and proof but rounding."""
        return self.gap <= 1e-11 * self.proof.sst

    def bound(self) -> Bound:
        """What has been proven."""
        optimum = None
        if self.optimal:  # pair by pair: no rounded mean can raise it
            pairwise = math.fsum(costs_of_groups(self.problem.points, *groups_of(self.labels)))
            optimum = min(self._loss["SSE"], pairwise)
        return self.proof.bound(optimum)

    def _close(self, climb: Climb) -> None:
        """One integer program over all groups that a better partition can have, if they can be
        listed.
        """
        slack = TOLERANCE * len(self.labels)  # what the other groups of a partition may be below 0
        room = max(self.gap / self.proof.unit, 0.0) * (1.0 + 1e-9) + slack
        sets = climb.pricing.sets(
            climb.best, climb.master.cuts, room, most=LISTED, work=WORK, stop=self.listener
        )
        if sets.complete and not self.listener():
            ended = self._improve(climb, sets.members, sets.offsets, NODES)
            self.optimal = ended and self.problem.accept is None

    def _improve(self, climb: Climb, members: np.ndarray, offsets: np.ndarray, nodes: int) -> bool:
        """Take over the best partition from these groups and the present ones; whether it is
        certain that this is the best.
        """
        own, own_offsets = groups_of(self.labels)
        sizes = np.concatenate([np.diff(own_offsets), np.diff(offsets)])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        start = np.arange(len(own_offsets) - 1)
        members, offsets = self._distinct(np.concatenate([own, members]), offsets, len(start))
        chosen, _, ended = best_cover(
            len(self.labels), members, offsets, costs_of_groups(climb.points, members, offsets),
            start=start, node_limit=nodes,
            stop=self.listener, seconds=self.listener.seconds_left(),
        )  # fmt: skip
        if self.listener():
            return False
        members, offsets = taken(members, offsets, chosen)
        labels = np.empty(len(self.labels), np.int32)
        labels[members] = np.repeat(np.arange(len(chosen)), np.diff(offsets))
        self.take(labels)
        return ended

    def _known(self, climb: Climb, per_record: float) -> tuple[tuple[np.ndarray, np.ndarray], bool]:
        """Of the groups the proof knows that a better partition can have, those of the least
        excess: so many for each record.

        And whether these are all.
        """
        excess = excess_of(climb)
        possible = np.flatnonzero(excess <= self.gap / self.proof.unit)
        order = possible[np.argsort(excess[possible], kind="stable")]
        chosen = np.sort(order[: int(per_record * len(self.labels))])
        return taken(climb.master.members, climb.master.offsets, chosen), len(chosen) == len(
            possible
        )

    def _distinct(
        self, members: np.ndarray, offsets: np.ndarray, own: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Without those that come twice or are not allowed; the first `own` groups are kept and
        lead.
        """
        names: set[bytes] = set()
        kept = []
        for g in range(len(offsets) - 1):
            records = members[offsets[g] : offsets[g + 1]]
            if (name := records.tobytes()) not in names and (g < own or self._accepts(records)):
                names.add(name)
                kept.append(g)
        return taken(members, offsets, np.array(kept, np.int64))

    def _accepts(self, records: np.ndarray) -> bool:
        accept = self.problem.accept
        return accept is None or bool(accept(records.astype(np.int64)))

    def _accepts_all(self, labels: np.ndarray) -> bool:
        if self.problem.accept is None:
            return True
        members, offsets = groups_of(labels)
        return all(
            self._accepts(members[offsets[g] : offsets[g + 1]]) for g in range(len(offsets) - 1)
        )

    def _tell_groups(self, climb: Climb) -> None:
        """Make the groups of the partition known to the proof."""
        members, offsets = groups_of(self.labels)
        usual = np.flatnonzero(np.diff(offsets) < 2 * self.problem.k)
        climb.know(*taken(members, offsets, usual))


def groups_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The records of each group, in ascending order, and where each group starts.

    >>> [x.tolist() for x in groups_of(np.array([0, 1, 0]))]
    [[0, 2, 1], [0, 2, 3]]
    """
    members = np.argsort(labels, kind="stable").astype(np.int32)
    return members, np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int64)


def excess_of(climb: Climb) -> np.ndarray:
    """What each group that a climb knows costs above the prices of its best proof."""
    master = climb.master
    sizes = np.diff(master.offsets)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    prices = np.bincount(numbers, climb.best.pi[master.members], minlength=len(sizes))
    cut, column, pairs = master.cuts.held(master.members, master.offsets)
    penalties = np.bincount(column, climb.best.penalties[cut] * pairs, minlength=len(sizes))
    return master.costs - prices + penalties
