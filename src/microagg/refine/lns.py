"""Annealing by small ruins: a partition is taken apart and put together again in a few places at
a time.

A step is 128 trials, each on a few neighbouring groups (`lns_moves.py`): exchanges, shifts, now and
then a group dissolved or founded. Trials that cost something are accepted by a temperature which
falls to 0 over the steps. The search keeps the best partition: at each checkpoint the one it is at
is blended in, part by part, wherever it is better. Many records are worked on in regions
(`lns_regions.py`), each alone, whose borders move from sweep to sweep. Everything depends on the
seed and on the number of steps; nothing on the clock or on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from microagg.kernels import sums
from microagg.kernels.random import next_integer
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.blend import blend, costs_by_label
from microagg.refine.lns_regions import Region, regions_of

TRIALS = 128  # a step
BATCH = 2048  # steps between checkpoints, at most
BATCHES = 64  # checkpoints in a short search
ONE_REGION = 8192  # records; more are worked on in several regions
# the first temperature of a long annealing, in units of the squared distances around a record
HEAT = 0.5
SLOW = 100  # steps for each record that make an annealing a long one
COLD = 0.9  # the share of the steps after which the temperature is 0
TOGETHER = 16  # regions between two checkpoints
# a squared error, as a share of that of one group, which may be rounding and nothing else
PERFECT = 1e-12


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
        """Whether every group holds equal records, so that nothing is left to gain."""
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
) -> np.ndarray:
    """The best partition found in so many steps, from one with groups of k to 2k - 1; never a
    worse one.

    About 10 microseconds a step (13 columns, k = 3 to 5). If `watch` ends the search early, the
    partition it is at is still cooled down.

    >>> from microagg.kernels.random import seeded
    >>> problem = Problem.of([[0.0], [5.0], [0.1], [5.1]], k=2)
    >>> anneal(problem, np.array([0, 0, 1, 1], np.int32), steps=10, rng=seeded(1)).tolist()
    [0, 1, 0, 1]
    """
    best = Best(problem, labels)
    n = len(labels)
    if n >= 2 * problem.k and steps > 0 and not best.is_perfect():
        each = steps / n
        # a short annealing must not melt what it has no time to freeze again
        heat = HEAT * math.sqrt(each / (each + SLOW))
        search = _anneal_whole if n <= ONE_REGION else _anneal_regions
        search(problem, best, steps, rng, watch or Watch(), heat)
    return best.outcome()


def _temperature(done: int, steps: int, heat: float) -> float:
    return heat * max(0.0, 1.0 - done / (COLD * steps))


def _anneal_whole(
    problem: Problem,
    best: Best,
    steps: int,
    rng: np.ndarray,
    watch: Watch,
    heat: float,
) -> None:
    n = len(best.labels)
    region = Region(problem, best.points, np.arange(n), best.labels)
    done, cold, stopped = 0, False, False
    for todo in _batches(steps):
        warmest, coldest = _temperature(done, steps, heat), _temperature(done + todo, steps, heat)
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
    heat: float,
) -> None:
    labels, n = best.labels, len(best.labels)
    sweeps = min(max(steps // (8 * n), 5), 100)
    with ThreadPoolExecutor(problem.threads) as pool:
        for sweep in range(sweeps):
            first, last = steps * sweep // sweeps, steps * (sweep + 1) // sweeps
            span = (
                heat * (1.0 - sweep / (sweeps - 1)),
                heat * max(0.0, 1.0 - (sweep + 1) / (sweeps - 1)),
            )
            if sweep == sweeps - 1:  # without temperature, from the best
                labels = best.labels
            stopped = False
            for done, found in _sweep(problem, best, labels, sweep, last - first, span, rng, pool):
                labels = found
                at = first + int((last - first) * done)
                stopped = watch.checkpoint(at, steps, best.telling())
                if stopped:
                    break
            best.take(labels)
            if best.is_perfect():
                return
            if stopped:
                for _, found in _sweep(
                    problem, best, labels, sweep, _quench(steps, n), (0.0, 0.0), rng, pool
                ):
                    labels = found
                best.take(labels)
                return


def _sweep(
    problem: Problem,
    best: Best,
    labels: np.ndarray,
    sweep: int,
    steps: int,
    span: tuple[float, float],
    rng: np.ndarray,
    pool: ThreadPoolExecutor,
) -> Iterator[tuple[float, np.ndarray]]:
    """Work on all regions, some at once; after each lot the share that is done, and the
    partition.
    """
    n = len(labels)
    regions = regions_of(best.points, labels, sweep)
    seeds = [np.array([next_integer(rng)], np.uint64) for _ in regions]

    def work(number: int) -> np.ndarray:
        records = regions[number]
        local = sums.number_by_first_record(labels[records])
        region = Region(problem, best.points, records, local)
        region.run(steps * TRIALS * len(records) // n, span[0], span[1], seeds[number])
        return region.labels()

    done = 0
    for first in range(0, len(regions), TOGETHER):
        numbers = range(first, min(first + TOGETHER, len(regions)))
        results = list(pool.map(work, numbers))
        labels = labels.copy()
        unused = int(labels.max()) + 1
        for number, result in zip(numbers, results, strict=True):
            labels[regions[number]] = result + unused
            unused += int(result.max()) + 1
            done += len(result)
        labels = sums.number_by_first_record(labels)
        yield done / n, labels
