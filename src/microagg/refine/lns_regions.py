"""Regions of an annealing: the records of neighbouring complete groups, and one region's tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from microagg.guarantees.promise import tables_for
from microagg.kernels import annealing_by_means as by_means
from microagg.kernels import sums
from microagg.kernels.annealing import (
    distances_of_pairs,
    fill_tables,
    near_lists,
    run_trials,
    waiting_times,
)
from microagg.kernels.blocks import kd_order
from microagg.problem.problem import Problem

REGION = 1536  # records at most, where there are several regions
LEAF = 8  # records that may lie in any order in memory
REACH = 20  # how many near records a trial may look at; half of k, where that is more
CUTS = (0.5, 0.36, 0.64, 0.43, 0.57)  # where regions are halved, from sweep to sweep
GOLDEN = 0.6180339887498949  # its multiples, whole numbers left out, are spread evenly
UNEVEN = 8  # entries of an average record in the table to draw records from


class Region(ABC):
    """Some records in complete groups, ready for trials. Points are those of the whole, centred.

    What the two kinds of regions share: the tables of groups, and those of near records.
    """

    _near: np.ndarray
    _reach: int
    _picks: np.ndarray
    _warmth: np.ndarray

    def __init__(self, problem: Problem, records: np.ndarray, labels: np.ndarray) -> None:
        n, self._k = len(records), problem.k
        groups, capacity = n // self._k, 2 * self._k - 1
        if problem.accept is not None:
            capacity = max(capacity, int(np.bincount(labels).max()))
        self._tables = tables_for(problem.accept, records)
        self._label, self._slot = np.empty(n, np.int32), np.zeros(n, np.int32)
        self._members = np.zeros((groups, capacity), np.int32)
        self._sizes = np.zeros(groups, np.int64)
        self._free, self._counts = np.zeros(groups, np.int64), np.zeros(3, np.int64)
        rows = min(capacity, groups) + 2
        self._old = (
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros((rows, capacity), np.int32),
        )

    @abstractmethod
    def restart(self, labels: np.ndarray) -> None:
        """Go on from this partition."""

    @abstractmethod
    def labels(self) -> np.ndarray:
        """Return the partition of the region's records, numbered by first record."""

    @abstractmethod
    def run(self, trials: int, warmest: float, coldest: float, rng: np.ndarray) -> None:
        """Make so many trials while the temperature falls; a partition that is not accepted is
        never entered.
        """


class RegionByDistances(Region):
    """A region whose trials look up distances of pairs in a table.

    >>> problem = Problem.of([[0.0], [5.0], [0.1], [5.1]], k=2)
    >>> start = np.array([0, 0, 1, 1], np.int32)
    >>> region = RegionByDistances(problem, problem.points, np.arange(4), start)
    >>> region.run(1000, 0.0, 0.0, np.array([1], np.uint64))
    >>> region.labels().tolist()
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        problem: Problem,
        points: np.ndarray,
        records: np.ndarray,
        labels: np.ndarray,
        spread: Spread | None = None,
    ) -> None:
        # records that are near get numbers that are near: then so are their distances in memory
        order = kd_order(points[records], LEAF)[0]
        super().__init__(problem, records[order], labels[order])
        n = len(records)
        self._order, self._number = order, np.empty(n, np.int32)
        self._number[order] = np.arange(n, dtype=np.int32)
        self._apart = distances_between(points[records[order]])
        length = min(n - 1, max(REACH, 4 * self._k))
        self._near, around = near_lists(self._apart, self._number, length, self._k)
        # most of those nearest to a record are in its group: with a large k, few others are
        self._reach = min(max(REACH, self._k // 2), length)
        self._masses = None if problem.weights is None else problem.weights[records[order]]
        if spread is None:
            spread = Spread.of(
                (around if self._masses is None else around * self._masses)[self._number]
            )
        else:
            spread = spread.part(records)
        self._warmth = spread.warmth[order]
        self._picks = np.repeat(self._number, spread.entries)
        self._totals = np.zeros((len(self._sizes), 2))
        self._old = (*self._old, np.zeros((len(self._old[0]), 2)))
        self._seen = np.full(len(self._sizes), -1, np.int64)
        self.restart(labels)

    def restart(self, labels: np.ndarray) -> None:
        """Go on from this partition."""
        self._label = labels.astype(np.int32)[self._order]
        fill_tables(
            self._label, self._masses, self._apart, self._slot, self._members, self._sizes,
            self._totals, self._free, self._counts, self._number,
        )  # fmt: skip

    def labels(self) -> np.ndarray:
        """Return the partition of the region's records, numbered by first record."""
        return sums.number_by_first_record(self._label[self._number])

    def run(self, trials: int, warmest: float, coldest: float, rng: np.ndarray) -> None:
        """Make so many trials while the temperature falls; a partition that is not accepted is
        never entered.
        """
        run_trials(
            trials, warmest, coldest, self._k, self._reach, rng, waiting_times(), self._picks,
            self._warmth, self._near, self._apart, self._masses, self._label, self._slot,
            self._members, self._sizes, self._totals, self._free, self._counts, *self._old,
            self._seen, *self._tables,
        )  # fmt: skip


class RegionByMeans(Region):
    """A region whose trials compare records with the means of groups in dense coordinates."""

    def __init__(
        self, problem: Problem, points: np.ndarray, records: np.ndarray, labels: np.ndarray
    ) -> None:
        super().__init__(problem, records, labels)
        n, d = len(records), points.shape[1]
        self._points = np.zeros((n, -(-d // 4) * 4))  # sums are made four columns at a time
        self._points[:, :d] = points[records]
        weights = np.ones(n) if problem.weights is None else problem.weights[records]
        self._masses = np.ascontiguousarray(weights)
        length = min(n - 1, max(REACH, 4 * self._k))
        columns = np.ascontiguousarray(self._points[:, :d].T)
        self._near, around = by_means.near_lists_of_points(columns, length, self._k)
        self._reach = min(REACH, length)
        spread = Spread.of(around * self._masses)
        self._warmth = spread.warmth
        self._picks = np.repeat(np.arange(n, dtype=np.int32), spread.entries)
        groups = len(self._sizes)
        self._means, self._weights = np.zeros((groups, self._points.shape[1])), np.zeros(groups)
        self.restart(labels)

    def restart(self, labels: np.ndarray) -> None:
        """Go on from this partition."""
        self._label = labels.astype(np.int32)
        by_means.fill_tables(
            self._label, self._masses, self._points, self._slot, self._members, self._sizes,
            self._means, self._weights, self._free, self._counts,
        )  # fmt: skip

    def labels(self) -> np.ndarray:
        """Return the partition of the region's records, numbered by first record."""
        return sums.number_by_first_record(self._label)

    def run(self, trials: int, warmest: float, coldest: float, rng: np.ndarray) -> None:
        """Make so many trials while the temperature falls; a partition that is not accepted is
        never entered.
        """
        by_means.run_trials(
            trials, warmest, coldest, self._k, self._reach, rng, waiting_times(), self._picks,
            self._warmth, self._near, self._points, self._masses, self._label, self._slot,
            self._members, self._sizes, self._means, self._weights, self._free, self._counts,
            *self._old, *self._tables,
        )  # fmt: skip


def distances_between(points: np.ndarray) -> np.ndarray:
    """Return the squared distances of all pairs of points.

    >>> distances_between(np.array([[0.0], [3.0]])).tolist()
    [[0.0, 9.0], [9.0, 0.0]]
    """
    apart = np.zeros((len(points), len(points)))
    distances_of_pairs(np.ascontiguousarray(points.T), apart)
    return apart


@dataclass(frozen=True)
class Spread:
    """Distances around each record, and what follows from them for trials."""

    warmth: np.ndarray
    """The unit of temperature at each record: the geometric mean of its own spread and the mean
    one, so that the dense middle and the far tail freeze at about the same time.
    """
    entries: np.ndarray
    """Number of entries of each record in the table that trials draw records from: the more,
    the larger its spread, since these decide the loss.
    """

    @staticmethod
    def of(around: np.ndarray) -> Spread:
        """Weigh records by the squared distances around each."""
        typical = float(sums.column_moments(around.reshape(-1, 1))[0, 0])
        warmth = np.sqrt(around) * np.sqrt(typical)
        mean = float(sums.column_moments(warmth.reshape(-1, 1))[0, 0])
        share = warmth / mean if mean > 0.0 else warmth
        entries = np.minimum(UNEVEN // 2 + np.floor(share * (UNEVEN // 2)), 64.0 * UNEVEN).astype(
            np.int64
        )
        return Spread(warmth, entries)

    def part(self, records: np.ndarray) -> Spread:
        """Return what belongs to these records."""
        return Spread(self.warmth[records], self.entries[records])


def spread_of_regions(
    problem: Problem, points: np.ndarray, regions: list[np.ndarray], pool: ThreadPoolExecutor
) -> Spread:
    """Weigh all records by the squared distances around each within its region."""

    def measure(records: np.ndarray) -> np.ndarray:
        order = np.arange(len(records), dtype=np.int32)
        length = min(len(records) - 1, problem.k)
        return near_lists(distances_between(points[records]), order, length, problem.k)[1]

    around = np.empty(len(points))
    for records, values in zip(regions, pool.map(measure, regions), strict=True):
        around[records] = values
    return Spread.of(around if problem.weights is None else around * problem.weights)


def regions_of(
    points: np.ndarray, labels: np.ndarray, sweep: int, *, turning: bool = True
) -> list[np.ndarray]:
    """Return the records of each region in ascending order: groups are halved along their means
    until few enough are left.

    The cuts move from sweep to sweep, so that a border is a border once; `turning` cuts along
    another column in each sweep, else always along the widest.
    """
    groups = int(labels.max()) + 1
    means = sums.group_means(points, labels, groups)
    sizes = sums.group_sizes(labels, groups)
    region_of_group = np.empty(groups, np.int64)
    waiting, regions = [np.arange(groups)], 0
    while waiting:
        chosen = waiting.pop()
        if len(chosen) < 2 or sizes[chosen].sum() <= REGION:
            region_of_group[chosen] = regions
            regions += 1
            continue
        column = _wide_column(means[chosen], sweep if turning else 0)
        order = chosen[np.argsort(means[chosen, column], kind="stable")]
        middle = min(max(int(len(order) * CUTS[sweep % len(CUTS)]), 1), len(order) - 1)
        waiting += [order[middle:], order[:middle]]
    region_of_record = region_of_group[labels]
    order = np.argsort(region_of_record, kind="stable")
    starts = np.searchsorted(region_of_record[order], np.arange(1, regions))
    return np.split(order, starts)


def _wide_column(means: np.ndarray, sweep: int) -> int:
    """Choose a column in which the middle eight tenths of the groups lie far apart, another one
    in each sweep.

    Were it always the widest one, outlying groups at its two ends would never be in one region.
    """
    tenth = len(means) // 10
    ranks = [tenth, len(means) - 1 - tenth]
    inner = np.partition(means, ranks, axis=0)[ranks]
    turn = np.modf(GOLDEN * sweep * np.arange(1, means.shape[1] + 1))[0] if sweep else 0.0
    return int(np.argmax((inner[1] - inner[0]) * (1.0 - turn)))
