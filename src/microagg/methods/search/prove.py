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
from typing import Any

import numpy as np

from microagg.bounds.bound import Bound, Cut, priced_cuts, with_optimum
from microagg.bounds.branching import BranchSearch, Listed, tree_as_data
from microagg.bounds.columns import MANY, ColumnGeneration
from microagg.bounds.diving import dive
from microagg.bounds.groups import (
    costs_of_groups,
    distinct_groups,
    groups_of,
    select_groups,
    usual_groups_of,
)
from microagg.bounds.listening import Listener
from microagg.bounds.lower import ROUNDS, Proof
from microagg.bounds.pricing import TOLERANCE, Sets, excess_of_groups
from microagg.errors import InputError
from microagg.kernels import sums
from microagg.measures.loss.sse import loss_of_partition
from microagg.methods.search.search_budget import IN_SHORT, TO_THE_END, SearchBudget
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.local import improve
from microagg.refine.recombine import best_cover

Search = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""A search for better partitions: search(labels, rng, turn) -> labels. Turn 0 comes before any
bound and should be short.
"""

TREE_TOLERANCE = 1e-9  # of SST: what a checker takes off for rounding
LISTED = 100_000  # how many groups one integer program takes
WORK = 10_000_000_000  # how far to look for them
# Groups for each record in the programs that look for a better partition. Those over few groups are
# solved at the root of their tree, in no time, so all of them are tried; from the first that is
# not, larger steps are taken, and a little patience.
FEWEST, MOST, STEP, LARGE_STEP = 1.5, 4.0, 0.125, 0.5
NODES, FEW_NODES, ROOT = 2000, 100, 1
MOST_OF_MANY = 8.0  # the same in a program with many records, before the proof is done
SEARCHES = 5  # at most, in one proof
LOCAL_ROUNDS = 2  # of local search after a dive
FIRST_DIVE = 6  # after so many rounds of cuts: a proof may be stopped before its end


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

    >>> problem = Problem.of([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], 3)
    >>> start = np.array([0, 1, 0, 1, 0, 1])
    >>> labels, bound = prove(problem, start, rng=np.zeros(1, np.uint64))
    >>> labels.tolist(), bound.optimal
    ([0, 0, 0, 1, 1, 1], True)
    """
    check_weights(problem)
    labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
    state = BoundSearch(problem, labels, Listener(watch))
    while not state.over:
        state.advance(rng, search)
    return state.labels, state.bound()


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

    >>> problem = Problem.of([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], 3)
    >>> start = np.array([0, 1, 0, 1, 0, 1])
    >>> improve_by_set_partitioning(problem, start, Watch()).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
    state = BoundSearch(problem, labels, Listener(watch), IN_SHORT)
    while not state.over:
        if state.at_the_top:
            if state.narrow or search is None:
                break
            state.take(search(state.labels))
            state.begin_anew()
            search = None
        state.round()
        state.checkpoint()
    return state.labels


class BoundSearch:
    """A partition, a proof, and the gap between them."""

    def __init__(
        self,
        problem: Problem,
        labels: np.ndarray,
        listener: Listener,
        budget: SearchBudget = TO_THE_END,
    ) -> None:
        self.problem, self.labels, self.listener, self.budget = problem, labels, listener, budget
        self.proof = Proof(problem.points, problem.k, listener, budget.proof)
        self.optimal = len(problem.points) < 2 * problem.k or self.proof.sst == 0.0
        self.stuck = False
        self._tree: tuple[dict[str, Any], list[Cut], float] | None = None
        self._loss = loss_of_partition(problem.points, labels)
        self.begin_anew()
        self._patience = budget.patience
        self._rounds = self._searches = 0
        self._dives_left, self._dived = budget.dives, False
        if self.proof.generation is not None:
            self._add_groups(self.proof.generation)

    @property
    def over(self) -> bool:
        return self.optimal or self.stuck or self.listener.watch.stopped is not None

    def begin_anew(self) -> None:
        """Let the programs begin with few groups again."""
        self._groups_a_record = FEWEST
        self._easy, self._in_vain = True, 0
        self._patience = self.budget.patience_again

    @property
    def at_the_top(self) -> bool:
        """Return whether all programs that look for a better partition have been tried, as far as
        they are easy.
        """
        return self._groups_a_record > MOST or self._in_vain >= self._patience

    @property
    def gap(self) -> float:
        """By how much the partition's SSE is above what the prices prove."""
        return self._loss["SSE"] - self.proof.value

    def advance(self, rng: np.ndarray, search: Search | None) -> None:
        """Search or do a round, and pass a checkpoint."""
        if search is not None and self._wants_search():
            self.take(search(self.labels, rng, self._searches))
            self.begin_anew()
            self._searches += 1
        else:
            self.round()
        self.checkpoint()

    def _wants_search(self) -> bool:
        """A search comes before the first round, one once the proof is done, and more while the
        programs leave a gap.
        """
        if self._searches <= 1:
            return self._searches == 0 or self.proof.finished
        if self._searches == SEARCHES:
            return False
        return self.at_the_top and not self.narrow and not self.optimal

    @property
    def narrow(self) -> bool:
        """Return whether partition and proof have come so near that another search would hardly
        find more.
        """
        return self.gap <= self.budget.narrow * self.proof.value

    def checkpoint(self) -> None:
        self._rounds += 1
        self.proof.checkpoint(self._loss["IL"], min(self._rounds, ROUNDS), ROUNDS)

    def take(self, labels: np.ndarray) -> None:
        """Take over a partition if it is better, and all its groups are allowed."""
        labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
        loss = loss_of_partition(self.problem.points, labels)
        if loss["SSE"] < self._loss["SSE"] and self._accepts_all(labels):
            self.labels, self._loss = labels, loss
            if self.proof.generation is not None:
                self._add_groups(self.proof.generation)

    def round(self) -> None:
        """One step of the proof; once that is done, better partitions from ever more groups; at
        last all that are left.
        """
        if self._meets():
            self.optimal = True
            return
        if self._wants_dive():
            self._dive()
        elif not self.proof.finished:
            self.proof.step()
        elif self.proof.generation is None:  # nothing but a bound for so many records
            self.stuck = True
        elif not self.at_the_top:
            self._try_programs(self.proof.generation)
        else:
            before = self.gap
            self._close(self.proof.generation)
            self.stuck = self.gap >= before and not self.optimal

    def _wants_dive(self) -> bool:
        """One dive comes after some rounds of cuts, the others once the proof is done.

        With many records an integer program takes the place of the first, and no others come.
        """
        generation = self.proof.generation
        if generation is None or self._dives_left == 0 or self.narrow:
            return False
        early = not self._dived and generation.cut_rounds >= FIRST_DIVE
        return early or self.proof.finished

    def _dive(self) -> None:
        """Fix the groups that the program takes nearly whole, then improve what comes out."""
        generation, before = self.proof.generation, self._loss["SSE"]
        assert generation is not None
        self._dived = True
        if len(self.labels) > MANY:
            self._improve(generation, *self._known(generation, MOST_OF_MANY)[0], ROOT)
            self._dives_left = 0
            return
        if (labels := dive(generation, self.listener)) is None:
            return
        self.take(improve(self.problem, labels, rounds=LOCAL_ROUNDS))
        self._dives_left -= 1
        if self._loss["SSE"] >= before and self.proof.finished:
            self._dives_left = 0

    def _try_programs(self, generation: ColumnGeneration) -> None:
        """One more program over known groups, with more of them than the last."""
        before = self._loss["SSE"]
        groups, all_of_them = self._known(generation, self._groups_a_record)
        if self._easy:
            self._easy = self._improve(generation, *groups, ROOT)
            if self._easy:  # nothing is left to add to a program that had all
                self._groups_a_record += MOST if all_of_them else STEP
        else:
            self._improve(generation, *groups, FEW_NODES)
            self._groups_a_record += LARGE_STEP
            self._in_vain += 1
            if self._loss["SSE"] < before:
                self._in_vain, self._patience = 0, self.budget.patience_again

    def _meets(self) -> bool:
        """Return whether nothing is left between partition and proof but rounding."""
        return self.gap <= 1e-11 * self.proof.sst

    def bound(self) -> Bound:
        """Return what has been proven: with a certificate of optimality, where there is one."""
        bound = self.proof.bound()
        if not self.optimal or bound.optimal:
            return bound
        return with_optimum(bound, self.labels, self._optimum(), self._tree)

    def _optimum(self) -> float:
        """Return the SSE of the partition; pair by pair, so that no rounded mean can raise it."""
        pairwise = math.fsum(costs_of_groups(self.problem.points, *groups_of(self.labels)))
        return min(self._loss["SSE"], pairwise)

    def _close(self, generation: ColumnGeneration) -> None:
        """Solve an integer program over all groups that a better partition can have.

        If they can be listed. Where it ends, a branch tree is to show that nothing is better.
        """
        sets = self._list_groups(generation, max(self.gap / self.proof.unit, 0.0))
        if sets.complete and not self.listener():
            ended = self._improve(generation, sets.members, sets.offsets, NODES)
            self.optimal = ended and self.problem.accept is None
            if self.optimal:
                self._branch(generation, sets)

    def _list_groups(self, generation: ColumnGeneration, gap: float) -> Sets:
        """List all groups whose excess over the best prices is at most the gap."""
        n = len(self.labels)
        # what other groups of a partition may be below 0, and what a checker adds for rounding
        slack = 2.0 * TOLERANCE * n + 3e-9 * self.proof.sst / self.proof.unit
        return generation.pricing.sets(
            generation.best,
            generation.best_cuts,
            gap * (1.0 + 1e-9) + slack,
            most=LISTED,
            work=WORK,
            stop=self.listener,
        )

    def _branch(self, generation: ColumnGeneration, sets: Sets) -> None:
        """Look for a branch tree that proves the partition to be optimal."""
        n, k, unit = len(self.labels), self.problem.k, self.proof.unit
        tolerance = TREE_TOLERANCE * self.proof.sst / unit
        claim = self._optimum() / unit - 3.0 * tolerance
        if claim <= generation.value - tolerance:
            return  # the prices prove it by themselves
        costs = costs_of_groups(generation.points, sets.members, sets.offsets)
        excess = excess_of_groups(
            sets.members, sets.offsets, costs, generation.best, generation.best_cuts
        )
        near = np.flatnonzero(excess <= claim - generation.value + 4.0 * tolerance + TOLERANCE * n)
        members, offsets = select_groups(sets.members, sets.offsets, near)
        search = BranchSearch(
            n,
            Listed(members, offsets, costs[near]),
            generation.best_cuts,
            claim + (1.5 / k + 0.1) * tolerance,
            self.listener,
        )
        tree = search.run()
        if tree is None:
            return
        penalties = np.zeros(len(search.cuts))
        penalties[: len(generation.best.penalties)] = generation.best.penalties
        cuts = priced_cuts(search.cuts, penalties * unit)
        self._tree = (tree_as_data(tree, unit), cuts, claim * unit)

    def _improve(
        self, generation: ColumnGeneration, members: np.ndarray, offsets: np.ndarray, nodes: int
    ) -> bool:
        """Take over the best partition from these groups and the present ones, if it is better.

        Returns whether it is certain that it is the best.
        """
        present, present_offsets = groups_of(self.labels)
        sizes = np.concatenate([np.diff(present_offsets), np.diff(offsets)])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        start = np.arange(len(present_offsets) - 1)
        members, offsets = distinct_groups(
            np.concatenate([present, members]), offsets, len(start), self._accepts
        )
        chosen, _, ended = best_cover(
            len(self.labels), members, offsets,
            costs_of_groups(generation.points, members, offsets),
            start=start, node_limit=nodes,
            stop=self.listener, seconds=self.listener.seconds_left(),
        )  # fmt: skip
        if self.listener():
            return False
        members, offsets = select_groups(members, offsets, chosen)
        labels = np.repeat(np.arange(len(chosen), dtype=np.int32), np.diff(offsets))
        self.take(labels[np.argsort(members, kind="stable")])
        return ended

    def _known(
        self, generation: ColumnGeneration, per_record: float
    ) -> tuple[tuple[np.ndarray, np.ndarray], bool]:
        """Of the known groups that a better partition can have, so many for each record.

        Those of the least excess; and whether these are all.
        """
        excess = generation.excess(generation.best, generation.best_cuts)
        possible = np.flatnonzero(excess <= self.gap / self.proof.unit)
        order = possible[np.argsort(excess[possible], kind="stable")]
        chosen = np.sort(order[: int(per_record * len(self.labels))])
        groups = select_groups(generation.master.members, generation.master.offsets, chosen)
        return groups, len(chosen) == len(possible)

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

    def _add_groups(self, generation: ColumnGeneration) -> None:
        """Make the groups of the partition known to the proof."""
        generation.know(*usual_groups_of(self.labels, self.problem.k))
