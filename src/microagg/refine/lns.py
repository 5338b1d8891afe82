"""Annealing by small ruins: a partition is taken apart and put together again in a few places at
a time.

A step is 128 trials, each on a few neighbouring groups (`kernels/annealing.py`): exchanges, shifts,
now and then a group dissolved or founded. Trials that cost something are accepted by a temperature
which falls to 0 over the steps. The search keeps the best partition: at each checkpoint the one it
is at is blended in, part by part, wherever it is better. Many records are worked on in regions
(`lns_regions.py`), each alone, whose borders move from sweep to sweep. Everything depends on the
seed and on the number of steps; nothing on the clock or on the number of threads.

There are two schedules. `auto` has `FAST`: trials look up distances of pairs, regions are small.
The method `lns` keeps `BY_MEANS`, the one that it began with, and its groups with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from microagg.kernels import sums
from microagg.kernels.blend import blend, costs_by_label
from microagg.kernels.random import next_integer
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.lns_regions import (
    Region,
    RegionByDistances,
    RegionByMeans,
    Spread,
    regions_of,
    spread_of_regions,
)

TRIALS = 128  # a step
BATCH = 2048  # steps between checkpoints, at most
BATCHES = 64  # checkpoints in a short search
COLD = 0.9  # the share of the steps after which the temperature is 0
TOGETHER = 8  # regions between two checkpoints
FEWEST_SWEEPS, MOST_SWEEPS = 5, 100
MANY_AXES = 32  # beyond, distances take longer than the trials of a sweep
# a squared error, as a share of that of one group, which may be rounding and nothing else
PERFECT = 1e-12


@dataclass(frozen=True)
class Schedule:
    """Cooling of an annealing, and its spread over regions."""

    heat: float
    """The first temperature of a long annealing, in units of the squared distances around a
    record.
    """
    slow: float
    """Steps for each record that make an annealing a long one."""
    power: int
    """The temperature falls with the share of steps that is left, to this power."""
    sweep: float
    """Steps for each record before regions are cut anew."""
    one_region: int
    """Records; more are worked on in several regions."""
    by_means: bool = False
    """Weigh trials by means of groups, not by distances of pairs; draw and heat records by what is
    around them in their region, not in the table; cut regions along the widest column only.
    """

    def first_heat(self, steps_for_each: float) -> float:
        """Return the first temperature: a short annealing must not melt what it has no time to
        freeze again.

        >>> FAST.first_heat(100.0) < FAST.heat
        True
        """
        return self.heat * math.sqrt(steps_for_each / (steps_for_each + self.slow))

    def share_of_heat(self, left: float) -> float:
        """Return the share of the first temperature when this share of the steps is left."""
        return max(0.0, left) ** self.power

    def sweeps(self, steps: int, records: int, axes: int) -> int:
        """Return the number of sweeps over all regions.

        Where there are many axes, a region's distances take long: they are measured less often.

        >>> FAST.sweeps(100_000, 1000, 8), FAST.sweeps(100_000, 1000, 128)
        (33, 8)
        """
        sweep = self.sweep if self.by_means else self.sweep * max(1.0, axes / MANY_AXES)
        return min(max(int(steps / (sweep * records)), FEWEST_SWEEPS), MOST_SWEEPS)

    def region(
        self,
        problem: Problem,
        points: np.ndarray,
        records: np.ndarray,
        labels: np.ndarray,
        spread: Spread | None = None,
    ) -> Region:
        """Return a region of these records."""
        if self.by_means:
            return RegionByMeans(problem, points, records, labels)
        return RegionByDistances(problem, points, records, labels, spread)


BY_MEANS = Schedule(heat=0.5, slow=100.0, power=1, sweep=8.0, one_region=8192, by_means=True)
FAST = Schedule(heat=0.65, slow=30.0, power=2, sweep=3.0, one_region=1536)


class Best:
    """The best partition so far, its groups' costs, and what there is to tell about it."""

    def __init__(self, problem: Problem, labels: np.ndarray) -> None:
        moments = sums.column_moments(problem.points)
        self.points = problem.points - moments[0]
        self._masses = np.ones(len(labels)) if problem.weights is None else problem.weights
        self.labels = sums.number_by_first_record(labels)
        self._costs = self.costs_of(self.labels)
        self._start = self.labels, self.sse
        self._total = float(self.costs_of(np.zeros(len(labels), np.int32))[0])

    @property
    def sse(self) -> float:
        return math.fsum(self._costs.tolist())

    def is_perfect(self) -> bool:
        """Return whether every group holds equal records, so that nothing is left to gain."""
        if (
            self.sse > PERFECT * self._total
        ):  # what rounding leaves of groups of equal records is far below
            return False
        first = np.empty(int(self.labels.max()) + 1, np.int64)
        first[self.labels[::-1]] = np.arange(len(self.labels))[::-1]
        return bool((self.points == self.points[first[self.labels]]).all())

    def telling(self) -> str:
        """Its loss, in percent."""
        return f"IL {100.0 * self.sse / self._total if self._total > 0.0 else 0.0:.4f} %"

    def costs_of(self, labels: np.ndarray) -> np.ndarray:
        return costs_by_label(self.points, self._masses, labels, int(labels.max()) + 1)

    def take(self, labels: np.ndarray) -> None:
        """Blend in another partition (numbered by first record)."""
        costs = self.costs_of(labels)
        mixed = blend(self.labels, labels, self._costs, costs)
        self.labels = sums.number_by_first_record(mixed)
        self._costs = self.costs_of(self.labels)

    def outcome(self) -> np.ndarray:
        """The best partition, or the first one if it is no worse but for rounding."""
        labels, sse = self._start
        return self.labels if self.sse < sse * (1.0 - 1e-12) else labels


def anneal(
    problem: Problem,
    labels: np.ndarray,
    *,
    steps: int,
    rng: np.ndarray,
    watch: Watch | None = None,
    schedule: Schedule = FAST,
) -> np.ndarray:
    """Return the best partition found in so many steps, from one with groups of k to 2k - 1;
    never a worse one.

    About 8 microseconds a step (k = 3 to 5, any number of columns). If `watch` ends the search
    early, the partition it is at is still cooled down.

    >>> from microagg.kernels.random import seeded
    >>> problem = Problem.of([[0.0], [5.0], [0.1], [5.1]], k=2)
    >>> anneal(problem, np.array([0, 0, 1, 1], np.int32), steps=10, rng=seeded(1)).tolist()
    [0, 1, 0, 1]
    """
    best = Best(problem, labels)
    n = len(labels)
    if n >= 2 * problem.k and steps > 0 and not best.is_perfect():
        search = _anneal_whole if n <= schedule.one_region else _anneal_regions
        search(problem, best, steps, rng, watch or Watch(), schedule)
    return best.outcome()


def _anneal_whole(
    problem: Problem,
    best: Best,
    steps: int,
    rng: np.ndarray,
    watch: Watch,
    schedule: Schedule,
) -> None:
    n = len(best.labels)
    region = schedule.region(problem, best.points, np.arange(n), best.labels)
    done, cold, stopped = 0, False, False
    heat = schedule.first_heat(steps / n)
    for todo in _batches(steps):
        warmest, coldest = (
            heat * schedule.share_of_heat(1.0 - step / (COLD * steps))
            for step in (done, done + todo)
        )
        if warmest == 0.0 and not cold:
            cold = True
            region.restart(best.labels)
        region.run(todo * TRIALS, warmest, coldest, rng)
        done += todo
        best.take(region.labels())
        stopped = watch.checkpoint(done, steps, best.telling())
        if best.is_perfect():
            return
        if stopped:
            break
    if stopped and not cold:
        region.run(_quench(steps, n) * TRIALS, 0.0, 0.0, rng)
        best.take(region.labels())


def _batches(steps: int) -> Iterator[int]:
    """Steps from checkpoint to checkpoint; the last tenth begins with a batch of its own."""
    warm = math.ceil(COLD * steps)
    batch = min(BATCH, max(1, steps // BATCHES))
    for part in (warm, steps - warm):
        for first in range(0, part, batch):
            yield min(batch, part - first)


def _quench(steps: int, n: int) -> int:
    """Steps without temperature that make an end of a search that was stopped."""
    return max(1, min(steps // 10, 4 * n))


def _anneal_regions(
    problem: Problem,
    best: Best,
    steps: int,
    rng: np.ndarray,
    watch: Watch,
    schedule: Schedule,
) -> None:
    labels, n = best.labels, len(best.labels)
    sweeps = schedule.sweeps(steps, n, best.points.shape[1])
    heat = schedule.first_heat(steps / n)
    with ThreadPoolExecutor(problem.threads) as pool:
        run, stopped_with = _Run(problem, best, schedule, rng, pool, watch), None
        for sweep in range(sweeps):
            first, last = steps * sweep // sweeps, steps * (sweep + 1) // sweeps
            warmest, coldest = (
                heat * schedule.share_of_heat(1.0 - number / (sweeps - 1))
                for number in (sweep, sweep + 1)
            )
            if sweep == sweeps - 1:  # without temperature, from the best
                labels = best.labels
            begun, longer = time.monotonic(), max(1.0, _quench(steps, n) / (last - first))
            for done, partition in run.sweep(labels, sweep, last - first, warmest, coldest):
                labels, stopped_with = partition, (partition, sweep, rng.copy())
                # a search that is stopped is still cooled down, in one more sweep
                watch.reserve((time.monotonic() - begun) / done * longer)
                if watch.checkpoint(first + int((last - first) * done), steps, best.telling()):
                    break
            best.take(labels)
            if best.is_perfect():
                return
            if watch.interrupted(first, steps):
                break
        if watch.stopped is not None and stopped_with is not None:
            labels, sweep, rng[:] = stopped_with
            for _, partition in run.sweep(
                labels, sweep, _quench(steps, n), 0.0, 0.0, stoppable=False
            ):
                labels = partition
            best.take(labels)


class _Run:
    """An annealing in regions: what does not change from sweep to sweep.

    A lot of regions that is not done in time is dropped: the partition is that of the last
    checkpoint then.
    """

    def __init__(
        self,
        problem: Problem,
        best: Best,
        schedule: Schedule,
        rng: np.ndarray,
        pool: ThreadPoolExecutor,
        watch: Watch,
    ) -> None:
        self._problem, self._points, self._schedule = problem, best.points, schedule
        self._rng, self._pool, self._watch = rng, pool, watch
        self._spread = None
        if not schedule.by_means:
            regions = regions_of(best.points, best.labels, 0)
            self._spread = spread_of_regions(problem, best.points, regions, pool)

    def sweep(
        self,
        labels: np.ndarray,
        number: int,
        steps: int,
        warmest: float,
        coldest: float,
        *,
        stoppable: bool = True,
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Work on all regions, some at once; after each lot the share that is done, and the
        partition.
        """
        turning = not self._schedule.by_means
        regions = regions_of(self._points, labels, number, turning=turning)
        seeds = [np.array([next_integer(self._rng)], np.uint64) for _ in regions]

        def work(number: int) -> np.ndarray | None:
            if stoppable and self._is_late():
                return None
            records = regions[number]
            local = sums.number_by_first_record(labels[records])
            region = self._schedule.region(
                self._problem, self._points, records, local, self._spread
            )
            region.run(self._trials(steps, records), warmest, coldest, seeds[number])
            return region.labels()

        done = 0
        for first in range(0, len(regions), TOGETHER):
            numbers = range(first, min(first + TOGETHER, len(regions)))
            results = [result for result in self._pool.map(work, numbers) if result is not None]
            if len(results) < len(numbers):
                return
            labels = labels.copy()
            unused = int(labels.max()) + 1
            for number, result in zip(numbers, results, strict=True):
                labels[regions[number]] = result + unused
                unused += int(result.max()) + 1
                done += len(result)
            labels = sums.number_by_first_record(labels)
            yield done / len(labels), labels

    def _is_late(self) -> bool:
        """Return whether no time is left."""
        return self._watch.stopped is not None or self._watch.seconds_left() == 0.0

    def _trials(self, steps: int, records: np.ndarray) -> int:
        """Return the trials of a region: its share of these steps."""
        if self._spread is None:
            return steps * TRIALS * len(records) // len(self._points)
        entries = self._spread.entries
        return round(steps * TRIALS * (int(entries[records].sum()) / int(entries.sum())))
