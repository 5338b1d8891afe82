"""What the classes of a release come to that is never in memory as a whole: from facts of its
groups, by the hash of their class.

Groups of several blocks may be of one class; those of one hash are put together bucket by bucket.
Of a class that gives how many records and weights it has, how much of a column's total its two
largest records make up, and how far its values reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import partial_sums, sums
from microagg.measures.risk.dominance import DOMINANT, THRESHOLD, P
from microagg.measures.risk.reidentification import chances_of
from microagg.pipeline.block_plan import Holding
from microagg.pipeline.verification import pairs_in, runs_of, table_in

_NO_VALUE = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class ClassStatsSpec:
    """What is to be known of the classes."""

    amounts: tuple[str, ...] = ()
    """Columns whose totals a record can make up a part of."""
    ranges: tuple[tuple[str, float], ...] = ()
    """Columns of numbers, and half of what the whole column covers."""
    weighted: bool = False
    confidential: tuple[str, ...] = ()
    """Columns of which it is asked in how many classes all records share one value."""


@dataclass
class ClassStats:
    """What the classes of some buckets come to."""

    classes: int = 0
    chance: float = 0.0
    """The highest chance of a record among the people that the weights tell of, and how many
    records have it.
    """
    at_chance: int = 0
    expected: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """The records found by drawing one of the population of its class for each."""
    shares: dict[str, float] = field(default_factory=dict)
    """Of each column the largest part of a class's total that one record makes up, in percent."""
    exceeding: int = 0
    failing: int = 0
    heavy: int = 0
    """Classes in which a record makes up too much of some total, in which the second can work out
    the first, in which one has over half of the weight.
    """
    dominated: dict[str, int] = field(default_factory=dict)
    averaged: dict[str, int] = field(default_factory=dict)
    """Of each column the classes that one record dominates, and those in which it has a value."""
    sharing: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each confidential column the classes in which all known values are one, and their records.
    """
    covered: dict[str, np.ndarray] = field(default_factory=dict)
    """Of each column the part of the whole that a record's class covers, summed over records by
    their weights.
    """

    def combine(self, more: ClassStats) -> None:
        """Take in other buckets."""
        self.classes += more.classes
        if more.chance > self.chance:
            self.chance, self.at_chance = more.chance, 0
        if more.chance == self.chance:
            self.at_chance += more.at_chance
        partial_sums.add_sums(self.expected, more.expected)
        for name, share in more.shares.items():
            self.shares[name] = max(share, self.shares.get(name, 0.0))
        self.exceeding += more.exceeding
        self.failing += more.failing
        self.heavy += more.heavy
        for own, other in ((self.dominated, more.dominated), (self.averaged, more.averaged)):
            for name, count in other.items():
                own[name] = own.get(name, 0) + count
        for name, (classes, records) in more.sharing.items():
            own = self.sharing.get(name, (0, 0))
            self.sharing[name] = own[0] + classes, own[1] + records
        for name, part in more.covered.items():
            partial_sums.add_sums(self.covered.setdefault(name, np.zeros((3, 1))), part)


def group_stats(
    labels: np.ndarray,
    hashes: np.ndarray,
    amounts: dict[str, tuple[np.ndarray, np.ndarray | None]],
    numbers: dict[str, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray] | None,
    shared: dict[str, tuple[np.ndarray, np.ndarray]] | None = None,
) -> pa.Table:
    """What the groups of a block tell, one row each: by the hash of their class, (groups, 2).

    Of `amounts` the parts that records make up, and which of them count (None: all); of `numbers`
    the values; `weights` before and as released; of confidential columns (`shared`) a hash of each
    value, and which records have one.
    """
    groups = len(hashes)
    order = np.argsort(labels, kind="stable")
    begins = np.searchsorted(labels[order], np.arange(groups))
    found: dict[str, Any] = {
        "h0": hashes[:, 0],
        "h1": hashes[:, 1],
        "n": np.bincount(labels, minlength=groups),
    }
    if weights is not None:
        before, released = weights
        found["w"] = np.bincount(labels, before, groups)
        found["wm"] = np.maximum.reduceat(before[order], begins)
        found["wr"] = np.bincount(labels, released, groups)
    for place, (parts, counted) in enumerate(amounts.values()):
        largest, second = _two_largest(parts[order], begins, labels[order])
        found |= {
            f"t{place}": np.bincount(labels, parts, groups),
            f"a{place}": largest,
            f"b{place}": second,
        }
        if counted is not None:
            found[f"c{place}"] = np.bincount(labels[counted], minlength=groups)
    for place, values in enumerate(numbers.values()):
        found[f"l{place}"] = np.minimum.reduceat(values[order], begins)
        found[f"h_{place}"] = np.maximum.reduceat(values[order], begins)
    for place, (values, known) in enumerate((shared or {}).values()):
        found[f"x{place}"] = np.minimum.reduceat(np.where(known, values, _NO_VALUE)[order], begins)
        found[f"y{place}"] = np.maximum.reduceat(
            np.where(known, values, np.uint64(0))[order], begins
        )
    return pa.table({name: pa.array(column) for name, column in found.items()})


def class_stats_in_bucket(groups: Holding, asked: ClassStatsSpec) -> ClassStats:
    """A task: what the classes of one bucket come to."""
    table, found = table_in(groups), ClassStats()
    if table is None:
        return found
    pairs = pairs_in(table, "h0", "h1")
    order, starts = runs_of(pairs)
    of_class = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))

    def column(name: str) -> np.ndarray:
        return table.column(name).to_numpy()[order]

    def summed(name: str) -> np.ndarray:
        return np.bincount(of_class, column(name), len(starts))

    found.classes = len(starts)
    sizes = summed("n").astype(np.int64)
    weights = sizes.astype(np.float64)
    if asked.weighted:
        weights = summed("w")
        found.heavy = int((2 * np.maximum.reduceat(column("wm"), starts) > weights).sum())
        chances = chances_of(sizes, summed("wr"))
        found.chance = float(chances.max())
        found.at_chance = int(sizes[chances == found.chance].sum())
        found.expected = sums.column_sums((sizes * chances).reshape(-1, 1))
    _dominance(found, table, asked.amounts, sizes, starts, of_class, column, summed)
    for place, name in enumerate(asked.confidential):
        one = np.minimum.reduceat(column(f"x{place}"), starts) == np.maximum.reduceat(
            column(f"y{place}"), starts
        )
        found.sharing[name] = int(one.sum()), int(sizes[one].sum())
    for place, (name, whole) in enumerate(asked.ranges):
        low = np.minimum.reduceat(column(f"l{place}"), starts)
        high = np.maximum.reduceat(column(f"h_{place}"), starts)
        charge = (high / 2.0 - low / 2.0) / whole if whole > 0.0 else np.zeros(len(starts))
        found.covered[name] = sums.column_sums((weights * charge).reshape(-1, 1))
    return found


@dataclass
class KeptColumnStats:
    """What the classes of some buckets come to where kept columns are known, too."""

    sizes: dict[int, int] = field(default_factory=dict)
    """How many classes have so many records."""
    alone: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """The released weights of records alone, and of all records."""
    weights: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))

    def combine(self, more: KeptColumnStats) -> None:
        """Take in other buckets."""
        for size, count in more.sizes.items():
            self.sizes[size] = self.sizes.get(size, 0) + count
        partial_sums.add_sums(self.alone, more.alone)
        partial_sums.add_sums(self.weights, more.weights)


def kept_in_bucket(records: Holding) -> KeptColumnStats:
    """A task: the classes of one bucket of records, by the hash of what is released of them and
    their released weights.
    """
    table, found = table_in(records), KeptColumnStats()
    if table is None:
        return found
    pairs = pairs_in(table, "h0", "h1")
    order, starts = runs_of(pairs)
    sizes = np.diff(np.append(starts, len(pairs)))
    found.sizes = dict(
        zip(*(each.tolist() for each in np.unique(sizes, return_counts=True)), strict=True)
    )
    if "w" in table.column_names:
        weights = table.column("w").to_numpy()
        found.alone = sums.column_sums(weights[order[starts[sizes == 1]]].reshape(-1, 1))
        found.weights = sums.column_sums(np.ascontiguousarray(weights).reshape(-1, 1))
    return found


def _dominance(
    found: ClassStats,
    table: pa.Table,
    names: Sequence[str],
    sizes: np.ndarray,
    starts: np.ndarray,
    of_class: np.ndarray,
    column: Any,
    summed: Any,
) -> None:
    """As `measures/risk/dominance.py` counts classes, and as its note does."""
    exceeding, failing = np.zeros(len(starts), bool), np.zeros(len(starts), bool)
    for place, name in enumerate(names):
        both = np.column_stack([column(f"a{place}"), column(f"b{place}")]).reshape(-1)
        largest, second = _two_largest(both, 2 * starts, np.repeat(of_class, 2))
        total = summed(f"t{place}")
        share = 100.0 * np.divide(largest, total, out=np.zeros(len(total)), where=total > 0.0)
        exceeding |= share > THRESHOLD
        close = total - largest - second < largest * (P / 100.0)
        failing |= close
        found.shares[name] = float(share.max(initial=0.0))
        counted = summed(f"c{place}") if f"c{place}" in table.column_names else sizes
        told = (largest > total * (DOMINANT / 100.0)) | ((counted > 2) & close)
        found.dominated[name] = int((told & (counted > 0)).sum())
        found.averaged[name] = int((counted > 0).sum())
    found.exceeding, found.failing = int(exceeding.sum()), int(failing.sum())


def _two_largest(
    ordered: np.ndarray, begins: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest and the second largest of each run that begins there; 0 where there is no
    second.
    """
    largest = np.maximum.reduceat(ordered, begins)
    places = np.flatnonzero(ordered == largest[labels])
    rest = ordered.copy()
    rest[places[np.flatnonzero(np.diff(labels[places], prepend=-1))]] = 0.0
    return largest, np.maximum.reduceat(rest, begins)
