"""Local search: improve any partition by shifting and swapping records, dissolving and splitting
groups.

1. Groups of 2k records and more are split: MDAV within each. 2. A round: each group gets the 20
groups with the nearest centroids as candidates; then all groups are visited, and again
   whenever they changed, until no move with a candidate lowers the squared error (see
   `kernels/local_moves.py`).
3. Large tables: the groups are cut into jobs, compact parts of about 65,000 records, whose rounds
go on alone, on as many
   threads as there are; the last round goes over all groups. The jobs depend on the data only, so
   the result is the same with any number of threads.

4. Few groups hold most of the error, the more so the heavier the tails: the costliest tenth (a
thousand at least) gets rounds
   of its own, with 60 candidates among themselves.

The records are kept in the order of a kd-tree over the centroids, so that neighbours in space are
neighbours in memory. What comes out never has a higher squared error than what was given: that is
worked out exactly at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from microagg.guarantees.promise import tables_for
from microagg.kernels import local_moves as moves
from microagg.kernels import sums
from microagg.kernels.blocks import kd_order
from microagg.kernels.local_groups import weighted_error
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import Watch
from microagg.refine.construct import block_groups, in_order
from microagg.refine.local_groups import Agenda, Arena
from microagg.refine.local_near import LEAF, nearest_centroids

CANDIDATES = 20
WIDE = 60  # candidates of the costliest groups
FEWEST_COSTLIEST = 1000
JOB = 1 << 16  # records of a job at most
MOST_ROUNDS = 50
EXPECTED_ROUNDS = 8  # what a progress bar assumes where no number was given
MOST_STEPS = 100  # moves and visits of a round, for each record
ROOMY = 4  # times the mean size: the largest group that is searched, where groups may not be split
WORK = 50_000_000  # steps between two checkpoints, some tenth of a second


def improve(
    problem: Problem,
    labels: np.ndarray,
    *,
    rounds: int | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> np.ndarray:
    """A partition with a squared error no higher than the given one's, by local search from
    there.

    `labels` may be any valid partition; what comes back are groups of k to 2k - 1 records, numbered
    by their first record (larger ones where `problem.accept` does not let them be split; very large
    ones stay as they are). `rounds`: how often the candidates are renewed, by default until no
    group improves. Stopped by `watch`, it returns what it has.

    >>> improve(Problem.of([[0.0], [5.0], [0.1], [5.1]], k=2), np.array([0, 0, 1, 1])).tolist()
    [0, 1, 0, 1]
    """
    watch = Watch(progress) if watch is None else watch
    before = _numbered(labels)
    start = _split_large(problem, before)
    means, error = _means_and_error(problem, start)
    if start is not before:
        error = _means_and_error(problem, before)[1]
    search = _Search(problem, start, means)
    del means  # a search of a million records needs the room
    improved = sums.number_by_first_record(search.run(rounds, watch))
    del search
    return improved if _means_and_error(problem, improved)[1] <= error else before


def _numbered(labels: np.ndarray) -> np.ndarray:
    """The same partition, numbered by first records."""
    if labels.min() < 0 or labels.max() >= 4 * len(labels):
        labels = np.unique(labels, return_inverse=True)[1]
    return sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))


def _means_and_error(problem: Problem, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """The means of the groups and the squared error around them, from exact sums."""
    points, weights, groups = problem.points, problem.weights, int(labels.max()) + 1
    if weights is not None:
        means = np.empty((groups, points.shape[1]))
        return means, weighted_error(points, weights, labels, means)
    means = sums.group_means(points, labels, groups)
    return means, sums.squared_error(points, means, labels)


def _split_large(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """Split groups of 2k records and more where that is accepted."""
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes >= 2 * problem.k)
    if len(large) == 0:
        return labels
    by_group, ends, count = np.argsort(labels, kind="stable"), np.cumsum(sizes), len(sizes)
    labels = labels.copy()
    for group in large:
        members = by_group[ends[group] - sizes[group] : ends[group]]
        parts = _split(problem, members)
        labels[members] = count + parts
        count += int(parts.max()) + 1
    return sums.number_by_first_record(labels)


def _split(problem: Problem, members: np.ndarray) -> np.ndarray:
    """Labels that split a large group: by MDAV, else into halves that may be split again, else
    not at all.
    """
    whole = np.zeros(len(members), np.int32)
    if len(members) < 2 * problem.k:
        return whole
    accept = problem.accept
    part = Problem(problem.points[members], problem.k, threads=problem.threads)
    formed = block_groups(part)
    if accept is None or all(
        accept(members[formed == group]) for group in range(int(formed.max()) + 1)
    ):
        return formed
    order, starts = kd_order(part.points, len(members) - 1)
    low, high = np.sort(order[: starts[1]]), np.sort(order[starts[1] :])
    if not (accept(members[low]) and accept(members[high])):
        return whole
    whole[low] = _split(problem, members[low])
    whole[high] = int(whole[low].max()) + 1 + _split(problem, members[high])
    return whole


class _Search:
    """One local search: the groups, and the rounds on them."""

    def __init__(self, problem: Problem, labels: np.ndarray, means: np.ndarray) -> None:
        self._k, self._threads, self._judged = (
            problem.k,
            problem.threads,
            problem.accept is not None,
        )
        self._labels, self._first_label = labels.copy(), len(means)
        room = _room(problem, labels)
        self._records, sizes, self._jobs = _tree_order(labels, means, room)
        self._tables = tables_for(problem.accept, self._records)
        points = _measured_anew(problem.points, self._records)
        self._uniform = problem.weights is None
        weights = (
            np.ones(len(points)) if problem.weights is None else problem.weights[self._records]
        )
        self._arena = Arena.of(points, weights, sizes, room)
        self._candidates = np.empty((len(sizes), CANDIDATES), np.int32)
        self._queued = np.zeros(len(sizes), np.uint8)
        self._clock = np.zeros((len(sizes), 2), np.int64)
        self._steps = max(1, WORK // (CANDIDATES * self._k * (self._k + 2 * points.shape[1])))
        self._stopped = False

    def run(self, rounds: int | None, watch: Watch) -> np.ndarray:
        """The labels after so many rounds of each kind, or after rounds without a move."""
        groups, jobs = len(self._arena.sizes), len(self._jobs) - 1
        limit, expected = (MOST_ROUNDS, EXPECTED_ROUNDS) if rounds is None else (rounds, rounds)
        total, done = (expected + 1) * groups, 0
        if groups < 2:
            return self._labels
        if jobs > 1:
            for job in self._jobs_alone(max(1, limit - 1)):
                done += (expected - 1) * self._write_labels(*self._jobs[job : job + 2])
                if watch.checkpoint(done, total):
                    return self._labels
        for _ in range(1 if jobs > 1 and rounds is not None else limit):
            if not self._goes_on(self._live(0, groups), CANDIDATES, watch, done, total):
                break
            done = min(done + groups, (expected - 1) * groups)
        self._candidates = np.empty((groups, WIDE), np.int32)
        for _ in range(limit):
            if not self._goes_on(self._costliest(), WIDE, watch, expected * groups, total):
                break
        self._write_labels(0, groups)
        return self._labels

    def _goes_on(self, live: np.ndarray, width: int, watch: Watch, done: int, total: int) -> bool:
        """One round on the main thread; False if it was stopped or made no move."""
        moves_made = 0
        for made, moved in self._round(live, width, self._threads):
            moves_made = moved
            if watch.checkpoint(min(done + made, total), total):
                return False
        return moves_made > 0

    def _jobs_alone(self, rounds: int) -> Iterator[int]:
        """Work through all jobs; yields the number of each that is done, in order."""
        try:
            yield from in_order(
                lambda job: self._work_alone(job, rounds), len(self._jobs) - 1, self._threads
            )
        finally:
            self._stopped = True  # whoever works ahead on another thread may end

    def _work_alone(self, job: int, rounds: int) -> int:
        """The rounds of one job; returns its number."""
        for _ in range(rounds):
            moves_made = 0
            for _, moved in self._round(self._live(*self._jobs[job : job + 2]), CANDIDATES, 1):
                moves_made = moved
                if self._stopped:
                    return job
            if moves_made == 0:
                break
        return job

    def _live(self, first: int, end: int) -> np.ndarray:
        """The groups of a range that have not been dissolved."""
        return first + np.flatnonzero(self._arena.sizes[first:end])

    def _costliest(self) -> np.ndarray:
        """The tenth of the groups with the largest errors, and a thousand at least."""
        live = self._live(0, len(self._arena.sizes))
        count = max(FEWEST_COSTLIEST, len(live) // 10)
        return np.sort(live[np.argsort(-self._arena.centres[live, -2], kind="stable")[:count]])

    def _round(self, live: np.ndarray, width: int, threads: int) -> Iterator[tuple[int, int]]:
        """Give some groups candidates among themselves and search; yields (steps, moves) from
        time to time.
        """
        arena, clock, queued = self._arena, self._clock, self._queued
        means = np.ascontiguousarray(arena.centres[live, : arena.points.shape[1]])
        near = nearest_centroids(means, width, threads)
        candidates = self._candidates
        groups = live.astype(np.int32)[near]
        groups[near < 0] = -1
        candidates[live] = groups
        del near, groups
        clock[live] = 0
        queued[live] = 1
        agenda = Agenda.of(candidates, clock, live.astype(np.int32), queued, arena)
        made, status = 0, moves.PAUSED
        while status != moves.DONE and made < MOST_STEPS * self._k * len(live):
            status = moves.descend(
                *arena, *agenda, *self._tables, self._k, self._uniform, self._judged, self._steps
            )
            made += self._steps
            yield min(made, len(live)), int(agenda.state[moves.MOVES])

    def _write_labels(self, first: int, end: int) -> int:
        """Bring some groups of the arena into the labels; returns how many places for groups
        that were.
        """
        slots, sizes = self._arena.slots[first:end], self._arena.sizes[first:end]
        taken = np.arange(slots.shape[1]) < sizes[:, None]
        labels = self._first_label + np.repeat(np.arange(first, end, dtype=np.int32), sizes)
        self._labels[self._records[slots[taken]]] = labels
        return int(end - first)


def _room(problem: Problem, labels: np.ndarray) -> int:
    """The size of the largest group that is searched: 2k - 1, and more where what is asked for
    takes larger groups.
    """
    if problem.accept is None:
        return 2 * problem.k - 1
    sizes = np.bincount(labels)
    return max(2 * problem.k - 1, min(int(sizes.max()), ROOMY * -(-len(labels) // len(sizes))))


def _measured_anew(points: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Some records, measured from one of them in units near their extent: no cancellation and no
    overflow.
    """
    measured = points[records]
    if len(records):
        measured -= points[records[len(records) // 2]]
        measured *= 2.0 ** min(1000, -int(np.frexp(max(measured.max(), -measured.min()))[1]))
    return measured


def _tree_order(
    labels: np.ndarray, means: np.ndarray, room: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(records group by group along a kd-tree of the means, sizes of the groups, where the jobs
    start).

    Groups of more records than there is room for are left out.
    """
    sizes = np.bincount(labels, minlength=len(means))
    chosen = np.flatnonzero(sizes <= room)
    order, leaves = kd_order(means[chosen], LEAF)
    chosen = chosen[order]
    by_group = np.argsort(labels, kind="stable")
    firsts = (np.cumsum(sizes) - sizes)[chosen]
    sizes = sizes[chosen]
    ends = np.cumsum(sizes)
    records = by_group[
        np.repeat(firsts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)
    ]
    jobs = 1
    while len(records) > jobs * JOB and jobs < len(leaves) - 1:
        jobs *= 2
    return records, sizes, leaves[:: (len(leaves) - 1) // jobs]
