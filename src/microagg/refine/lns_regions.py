"""Regions of an annealing: the records of neighbouring complete groups, and one region's tables."""

from __future__ import annotations

import numpy as np

from microagg.guarantees.promise import standard_for
from microagg.kernels import sums
from microagg.problem.problem import Problem
from microagg.refine.lns_moves import WAITING, fill_tables, near_lists, run_trials

REGION = 1536  # records at most, where there are several regions
REACH = 20  # how many near records a trial may look at
CUTS = (0.5, 0.36, 0.64, 0.43, 0.57)  # where regions are halved, from sweep to sweep
UNEVEN = 8  # entries of an average record in the table to draw records from


class Region:
    """Some records in complete groups, ready for trials. Points are those of the whole, centred.

    >>> problem = Problem.of([[0.0], [5.0], [0.1], [5.1]], k=2)
    >>> region = Region(problem, problem.points, np.arange(4), np.array([0, 0, 1, 1], np.int32))
    >>> region.run(1000, 0.0, 0.0, np.array([1], np.uint64))
    >>> region.labels().tolist()
    [0, 1, 0, 1]
    """

    def __init__(
        self, problem: Problem, points: np.ndarray, records: np.ndarray, labels: np.ndarray
    ) -> None:
        self._k = problem.k
        n, d = len(records), points.shape[1]
        self._points = np.zeros((n, -(-d // 4) * 4))
        self._points[:, :d] = points[records]
        self._masses = (
            np.ones(n)
            if problem.weights is None
            else np.ascontiguousarray(problem.weights[records])
        )
        length = min(n - 1, max(REACH, 4 * self._k))
        columns = np.ascontiguousarray(self._points[:, :d].T)
        self._near, spread = near_lists(columns, length, self._k)
        self._reach = min(REACH, length)
        self._warmth, self._picks = _warmth_and_picks(spread * self._masses)
        groups, capacity = n // self._k, 2 * self._k - 1
        if problem.accept is not None:
            capacity = max(capacity, int(np.bincount(labels).max()))
        self._standard = standard_for(problem.accept, records)
        self._label, self._place = labels.astype(np.int32), np.zeros(n, np.int32)
        self._members = np.zeros((groups, capacity), np.int32)
        self._sizes, self._means, self._weights = (
            np.zeros(groups, np.int64),
            np.zeros((groups, self._points.shape[1])),
            np.zeros(groups),
        )
        self._free, self._counts = np.zeros(groups, np.int64), np.zeros(3, np.int64)
        rows = min(capacity, groups) + 2
        self._old = (
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros((rows, capacity), np.int32),
        )
        self._write()

    def _write(self) -> None:
        fill_tables(
            self._label,
            self._masses,
            self._points,
            self._place,
            self._members,
            self._sizes,
            self._means,
            self._weights,
            self._free,
            self._counts,
        )

    def restart(self, labels: np.ndarray) -> None:
        """Go on from this partition."""
        self._label = labels.astype(np.int32)
        self._write()

    def labels(self) -> np.ndarray:
        """The partition of the region's records, numbered by first record."""
        return sums.number_by_first_record(self._label)

    def run(self, trials: int, warmest: float, coldest: float, rng: np.ndarray) -> None:
        """Make so many trials while the temperature falls; a partition that is not accepted is
        never entered.
        """
        run_trials(
            trials,
            warmest,
            coldest,
            self._k,
            self._reach,
            rng,
            WAITING,
            self._picks,
            self._warmth,
            self._near,
            self._points,
            self._masses,
            self._label,
            self._place,
            self._members,
            self._sizes,
            self._means,
            self._weights,
            self._free,
            self._counts,
            *self._old,
            *self._standard,
        )


def _warmth_and_picks(spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the unit of temperature at each record, a table to draw records from).

    The unit is the geometric mean of the record's own spread and the mean one, so that the dense
    middle and the far tail freeze at about the same time. Records of large spread are drawn more
    often, since they decide the loss.
    """
    typical = float(sums.column_moments(spread.reshape(-1, 1))[0, 0])
    warmth = np.sqrt(spread) * np.sqrt(typical)
    mean = float(sums.column_moments(warmth.reshape(-1, 1))[0, 0])
    share = warmth / mean if mean > 0.0 else warmth
    entries = np.minimum(UNEVEN // 2 + np.floor(share * (UNEVEN // 2)), 64.0 * UNEVEN).astype(
        np.int64
    )
    return warmth, np.repeat(np.arange(len(spread), dtype=np.int32), entries)


def regions_of(points: np.ndarray, labels: np.ndarray, sweep: int) -> list[np.ndarray]:
    """The records of each region in ascending order: groups are halved along their means until
    few enough are left.

    The cuts move from sweep to sweep, so that a border is a border once.
    """
    groups = int(labels.max()) + 1
    means = sums.group_means(points, labels, groups)
    sizes = sums.group_sizes(labels, groups)
    region_of_group = np.empty(groups, np.int64)
    waiting, found = [np.arange(groups)], 0
    while waiting:
        chosen = waiting.pop()
        if len(chosen) < 2 or sizes[chosen].sum() <= REGION:
            region_of_group[chosen] = found
            found += 1
            continue
        column = _widest(means[chosen])
        order = chosen[np.argsort(means[chosen, column], kind="stable")]
        middle = min(max(int(len(order) * CUTS[sweep % len(CUTS)]), 1), len(order) - 1)
        waiting += [order[middle:], order[:middle]]
    region_of_record = region_of_group[labels]
    order = np.argsort(region_of_record, kind="stable")
    starts = np.searchsorted(region_of_record[order], np.arange(1, found))
    return np.split(order, starts)


def _widest(means: np.ndarray) -> int:
    """The column in which the middle eight tenths of the groups lie farthest apart."""
    tenth = len(means) // 10
    ranks = [tenth, len(means) - 1 - tenth]
    inner = np.partition(means, ranks, axis=0)[ranks]
    return int(np.argmax(inner[1] - inner[0]))
